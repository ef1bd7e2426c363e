// Tests the reader of recordings, also with files that were cut off, damaged or made up.
#include "trace/trace_file.h"

#include "support/threads.h"
#include "trace/written_recording.h"
#include "weft/trace/marks.h"
#include "weft/trace/recorder.h"

#include <cstring>
#include <limits>
#include <memory>

#include <catch2/catch.hpp>

using trace::Recording;
using weft::TraceKind;

namespace {

// A recording with all that a file may have.
test::WrittenRecording Example() {
    test::WrittenRecording file(2, 1);
    file.Submit(0, 1, 3, 4, 10, "think", 0x99);
    file.Begin(0, 2, 3, 10, "think");
    file.Begin(1, 2.5, 4, 11, "think", 0);
    file.End(0, 3, 3, 10, "think");
    file.Wait(0, 4, 3, 0x99);
    file.Switch(0, 4.5, 3, 5);
    file.End(1, 5, 4, 11, "think");
    file.Ready(1, 5.5, 4, 3, 0x99);
    file.Add(file.External(), 6, TraceKind::CallBegin, 77, 0, 0x1234);
    file.Frame(file.External(), 7, 77, 42);
    return file;
}

void CheckOrder(const Recording &recording) {
    for (size_t i = 1; i < recording.events.size(); ++i)
        REQUIRE(recording.events[i - 1].ns <= recording.events[i].ns);
}

// Bytes that the recording takes.
size_t SizeOf(const Recording &recording) {
    size_t bytes = recording.events.capacity() * sizeof(trace::Event) +
                   recording.rings.capacity() * sizeof(trace::Ring);
    for (const std::string &name : recording.names) bytes += sizeof name + name.capacity();
    for (const std::string &remark : recording.remarks) bytes += sizeof remark + remark.capacity();
    return bytes;
}

// Reads what may be no recording.
Recording Try(const std::string &file) {
    Recording recording;
    const trace::Problem problem = trace::Read(file.data(), file.size(), &recording);
    if (!problem.empty()) CHECK(recording.events.empty());
    CheckOrder(recording);
    for (const trace::Event &event : recording.events) {
        REQUIRE(event.ring < recording.rings.size());
        REQUIRE(event.name < recording.names.size());
        REQUIRE(static_cast<uint32_t>(event.kind) < weft::kTraceKinds);
    }
    CHECK(recording.from <= recording.until);
    CHECK(SizeOf(recording) <= trace::kMaxRings * sizeof(trace::Ring) + 4 * file.size());
    return recording;
}

bool Remarks(const Recording &recording, const char *text) {
    for (const std::string &remark : recording.remarks) {
        if (remark.find(text) != std::string::npos) return true;
    }
    return false;
}

std::string With(std::string text, size_t at, uint64_t number, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; ++i) text[at + i] = static_cast<char>(number >> (8 * i));
    return text;
}

}  // namespace

TEST_CASE("a recording is read: all fields, ordered by time", "[trace_file]") {
    const Recording recording = Example().Read();
    CHECK(recording.workers == 2);
    CHECK(recording.Slots() == 3);
    CHECK(recording.OwnStacks() == test::WrittenRecording::kFibers + 3);
    CHECK(recording.stackBytes == 64 << 10);
    CHECK(recording.nanosecondsAtStart == 5000000000);
    CHECK(recording.isComplete);
    CHECK(recording.from == 0);
    CHECK(recording.until == 7000);
    REQUIRE(recording.events.size() == 10);
    const trace::Event &submit = recording.events[0];
    CHECK(submit.kind == TraceKind::Submit);
    CHECK(submit.ns == 1000);
    CHECK(submit.id == 10);
    CHECK(submit.other == 4);
    CHECK(submit.counter == 0x99);
    CHECK(submit.priority == weft::Priority::Normal);
    CHECK(recording.names[submit.name] == "think");
    CHECK(submit.fiber == 3);
    const trace::Event &stolen = recording.events[2];
    CHECK(stolen.kind == TraceKind::TaskBegin);
    CHECK(stolen.ring == 1);
    CHECK(stolen.id == 11);
    CHECK(stolen.other == 0);
    CHECK(stolen.ns == 2500);
    CHECK(stolen.name == submit.name);
    CHECK(recording.events[8].id == 0x1234);
    CHECK(recording.events[9].other == 42);
    CHECK(recording.events[9].ring == 3);
    CheckOrder(recording);
}

TEST_CASE("records of a ring keep their order, even if their times do not", "[trace_file]") {
    test::WrittenRecording file(1);
    file.End(0, 10, 1, 1, "a");
    file.Ready(0, 12, 1, 2, 0x99);
    file.Begin(0, 10, 1, 2, "b");  // follows at once: it has the time of the end
    file.End(0, 13, 1, 2, "b");
    const Recording recording = file.Read();
    REQUIRE(recording.events.size() == 4);
    CHECK(recording.events[1].kind == TraceKind::Ready);
    CHECK(recording.events[2].kind == TraceKind::TaskBegin);
    CHECK(recording.events[2].ns == 12000);
}

TEST_CASE("names: one for each text, addresses for the rest, nothing that confuses a terminal",
          "[trace_file]") {
    test::WrittenRecording file(1);
    file.AddText(0x500, "twice");
    file.AddText(0x600, "twice");
    file.AddText(0x700, "a\x1b[2Jb\xff\xc3\xa4\xe2\x82");
    file.AddText(0x800, std::string(300, 'x'));
    const auto begin = [&](uint64_t kind, uint64_t address) {
        file.AddWords(0, {file.kStart, kind | 1 << 8, 1, address});
    };
    begin(0, 0x500);
    begin(0, 0x600);
    begin(0, 0x700);
    begin(0, 0x800);
    begin(0, 0x900);
    begin(128, 0x900);
    begin(0, 0);
    const Recording recording = file.Read();
    REQUIRE(recording.events.size() == 7);
    const auto name = [&](size_t i) { return recording.names[recording.events[i].name]; };
    CHECK(name(0) == "twice");
    CHECK(recording.events[0].name == recording.events[1].name);
    CHECK(name(2) == "a?[2Jb\\xff\xc3\xa4\\xe2\\x82");
    CHECK(name(3) == std::string(255, 'x'));
    CHECK(name(4) == "name at 0x900");
    CHECK(name(5) == "function 0x900");
    CHECK(recording.events[6].name == 0);
}

TEST_CASE("a file that was cut off anywhere is read up to there", "[trace_file]") {
    const std::string file = Example().Bytes();
    size_t events = 0;
    for (size_t bytes = 0; bytes < file.size(); ++bytes) {
        INFO(bytes);
        const Recording recording = Try(file.substr(0, bytes));
        CHECK(recording.events.size() >= events);
        events = recording.events.size();
        CHECK(!recording.isComplete);
        if (bytes >= 64) CHECK(Remarks(recording, "cut off"));
    }
    CHECK(events == 10);
    Recording recording;
    CHECK(trace::Read(file.data(), 63, &recording) == "the recording was cut off in its header");
    CHECK(trace::Read(file.data(), 7, &recording) == "this is no recording");
}

TEST_CASE("a file with any damaged byte is read", "[trace_file]") {
    const std::string file = Example().Bytes();
    for (size_t at = 0; at < file.size(); ++at) {
        for (const unsigned flip : {0x01u, 0x10u, 0x80u, 0xffu}) {
            INFO(at << ' ' << flip);
            std::string damaged = file;
            damaged[at] = static_cast<char>(damaged[at] ^ flip);
            Try(damaged);
        }
    }
}

TEST_CASE("numbers that no recorder writes are refused or left out", "[trace_file]") {
    const test::WrittenRecording example = Example();
    const std::string file = example.Bytes();
    Recording recording;
    const auto problem = [&](const std::string &bytes) {
        return trace::Read(bytes.data(), bytes.size(), &recording);
    };
    CHECK(problem(With(file, 8, 1, 4)) ==
          "the file has format 1, and this program reads format 2: record it again with weft 0.7 "
          "or later");
    CHECK(problem(With(file, 8, 3, 4)) == "the file has format 3, and this program reads format 2");
    const char *const kDamaged = "the header of the recording is damaged";
    CHECK(problem(With(file, 12, 1u << 31, 4)) == kDamaged);
    CHECK(problem(With(file, 12, 0, 4)) == kDamaged);
    CHECK(problem(With(file, 16, 33, 4)) == kDamaged);
    CHECK(problem(With(file, 20, ~0u, 4)) == kDamaged);
    CHECK(problem(With(file, 24, ~0u, 4)).empty());
    CHECK(recording.workers == recording.Slots());
    CHECK(problem(With(file, 20, 0, 4)).empty());
    CHECK(recording.events.empty());
    CHECK(Remarks(recording, "No scheduler"));
    CHECK(Remarks(recording, "because they are damaged"));

    for (const double rate : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity(), 1e300, 1e-300}) {
        INFO(rate);
        uint64_t bits = 0;
        std::memcpy(&bits, &rate, sizeof bits);
        CHECK(Remarks(Try(With(file, 48, bits, 8)), "clock rate"));
    }

    test::WrittenRecording odd(1);
    odd.AddWords(0, {odd.kStart + 1000, 30, 0, 0});             // a kind that is not known
    odd.AddWords(0, {0, 0, 0, 0});                              // long before the start
    odd.AddWords(0, {uint64_t{1} << 63, 0, 0, 0});              // the same, signed
    odd.AddWords(0, {odd.kStart + 2000, 64, 0, 0});             // belongs to no submission
    odd.AddWords(0, {odd.kStart + 3000, 0x40 | 0x3f, ~0u, 0});  // also a kind that is not known
    odd.Begin(0, 5, 1, 1, "a");
    const Recording left = Try(odd.Bytes());
    CHECK(left.events.size() == 1);
    CHECK(Remarks(left, "kind is unknown: 2."));
}

TEST_CASE("a section that is longer than the file ends it", "[trace_file]") {
    const test::WrittenRecording example = Example();
    std::string file = example.Bytes();
    file = With(file, file.size() - 8, 2, 4);  // the end becomes records
    const Recording recording = Try(With(file, file.size() - 4, ~0u, 4));
    CHECK(recording.events.size() == 10);
    CHECK(Remarks(recording, "cut off"));
}

TEST_CASE("one damaged time of a worker does not move the others", "[trace_file]") {
    test::WrittenRecording file(1);
    for (uint32_t i = 0; i < 6; ++i) {
        const double us = i == 3 ? 1e12 : i;
        file.Begin(0, us, 1, i + 1, "a");
    }
    file.AddRing(0, 0, 6);
    for (uint32_t i = 0; i < 6; ++i) file.Begin(0, i == 3 ? 1e12 : i, 1, i + 1, "a");
    const Recording recording = Try(file.Bytes());
    CHECK(Remarks(recording, "because they are damaged: 2."));
    REQUIRE(recording.events.size() == 5);
    CHECK(recording.events.back().ns == 5000);
}

TEST_CASE("a time long after the ring was read is damaged", "[trace_file]") {
    test::WrittenRecording file(1);
    file.AddRing(0, 0, 100);
    file.Begin(0, 1, 1, 1, "a");
    file.End(0, 1e7, 1, 1, "a");
    const Recording recording = Try(file.Bytes());
    CHECK(recording.events.size() == 1);
    CHECK(Remarks(recording, "because they are damaged: 1."));
}

TEST_CASE("the reader says what was overwritten, and from when on all events are there",
          "[trace_file]") {
    test::WrittenRecording file(2);
    file.AddRing(0, 0, 100);
    file.Begin(0, 1, 1, 1, "a");
    file.AddRing(1, 500, 100);
    file.Begin(1, 10, 2, 2, "a");
    file.End(1, 11, 2, 2, "a");
    file.AddRing(2, 7, 100);
    file.Frame(2, 50, 77, 1);
    const Recording recording = file.Read();
    CHECK(recording.rings[0].lost == 0);
    CHECK(recording.rings[1].lost == 500);
    CHECK(recording.rings[2].lost == 7);
    CHECK(recording.from == 10000);
    CHECK(recording.rings[2].from == 50000);
    CHECK(Remarks(recording, "of 2 of 3 rings were overwritten"));
    CHECK(Remarks(recording, "0.010 ms"));
}

TEST_CASE("the reader says if there is no time of which all events are there", "[trace_file]") {
    test::WrittenRecording file(2);
    file.AddRing(0, 1, 30);
    file.Begin(0, 20, 1, 1, "a");
    file.AddRing(1, 1, 90);
    file.Begin(1, 50, 2, 2, "a");
    file.AddRing(2, 0, 91);
    const Recording recording = Try(file.Bytes());
    CHECK(Remarks(recording, "no time of which"));
    CHECK(recording.until == recording.from);
}

TEST_CASE("what lies before a gap is not used", "[trace_file]") {
    test::WrittenRecording file(1);
    file.AddRing(0, 5, 100);
    file.Begin(0, 1, 1, 1, "before");
    file.AddRing(0, 80, 100);
    file.Begin(0, 20, 1, 2, "after");
    file.End(0, 21, 1, 2, "after");
    const Recording recording = file.Read();
    REQUIRE(recording.events.size() == 2);
    CHECK(recording.names[recording.events[0].name] == "after");
    CHECK(recording.rings[0].lost == 80);
    CHECK(recording.from == 20000);
}

TEST_CASE("a run that goes on while it is written: the window ends when the first ring was read",
          "[trace_file]") {
    test::WrittenRecording file(2);
    file.AddRing(0, 0, 30);
    file.Begin(0, 1, 1, 1, "a");
    file.AddRing(1, 0, 90);
    file.Begin(1, 50, 2, 2, "a");
    file.AddRing(2, 0, 91);
    const Recording recording = file.Read();
    CHECK(recording.until == 30000);
}

TEST_CASE("a file that is not there is a problem, and so is a folder", "[trace_file]") {
    Recording recording;
    CHECK(trace::ReadFile("tests/no such file", &recording) ==
          "tests/no such file: cannot be opened");
    CHECK(!trace::ReadFile(".", &recording).empty());
    CHECK(trace::ReadFile("README.md", &recording) == "README.md: this is no recording");
}

TEST_CASE("a recorder that no scheduler has used writes a recording", "[trace_file]") {
    alignas(64) unsigned char memory[8192];
    weft::Recorder recorder(memory, sizeof memory);
    CHECK(Remarks(Try(test::FileOf(recorder)), "No scheduler"));
}

TEST_CASE("a recorded run is read, with all that its tasks did", "[trace_file]") {
    const std::string file = test::Record(test::Options(2), 1 << 20, [](weft::TaskScheduler &it) {
        test::Marks marks(300);
        weft::Counter counter;
        weft::NameCounter(it, &counter, "marks");
        it.AddTasks(300, marks.Tasks(), &counter, test::kHigh);
        it.WaitForCounter(&counter);
        weft::MarkFrame(it, 7);
    });
    const Recording recording = test::ReadBytes(file);
    CHECK(recording.workers == 2);
    CHECK(recording.isComplete);
    uint32_t begun = 0, ended = 0, submitted = 0;
    for (const trace::Event &event : recording.events) {
        const bool isHigh = recording.names[event.name] == "high";
        begun += isHigh && event.kind == TraceKind::TaskBegin;
        ended += isHigh && event.kind == TraceKind::TaskEnd;
        if (isHigh && event.kind == TraceKind::Submit) {
            submitted += event.other;
            CHECK(event.priority == weft::Priority::High);
            CHECK(event.counter != 0);
        }
        if (event.kind == TraceKind::CounterName) CHECK(recording.names[event.name] == "marks");
        if (event.kind == TraceKind::Frame) CHECK(event.other == 7);
    }
    CHECK(begun == 300);
    CHECK(ended == 300);
    CHECK(submitted == 300);
    for (const trace::Ring &ring : recording.rings) {
        CHECK(ring.isThere);
        CHECK(ring.lost == 0);
    }
}

TEST_CASE("a full recorder: the file says how many records were overwritten", "[trace_file]") {
    constexpr uint32_t kMarks = 5000;
    const std::string file = test::Record(test::Options(1), 1 << 16, [](weft::TaskScheduler &it) {
        for (uint32_t i = 0; i < kMarks; ++i) weft::MarkFrame(it, i);
    });
    const Recording recording = test::ReadBytes(file);
    const trace::Ring &ring = recording.rings[0];
    CHECK(ring.lost != 0);
    CHECK(ring.lost + ring.records >= kMarks);
    CHECK(ring.lost + ring.records <= kMarks + 20);
    CHECK(Remarks(recording, "overwritten"));
}

TEST_CASE("records that are overwritten while they are written leave a gap that the file shows",
          "[trace_file]") {
    struct State {
        weft::TaskScheduler *scheduler;
        std::string file;
        uint32_t marks, next;
    };
    const std::unique_ptr<unsigned char[]> memory(new unsigned char[1 << 18]);
    for (const uint32_t marks : {0u, 100u, 300u, 10000u}) {
        INFO(marks);
        weft::Recorder recorder(memory.get(), 1 << 18);
        weft::SchedulerOptions options = test::Options(1);
        options.maxAttached = 1;
        options.recorder = &recorder;
        weft::TaskScheduler scheduler(options);
        REQUIRE(scheduler.Start() == weft::Status::Ok);
        State state{&scheduler, "", marks, 0};
        for (; state.next < 10000; ++state.next) weft::MarkFrame(scheduler, state.next);
        // Each call marks more frames, so the ring of external threads goes round while it is read.
        recorder.Write(
            [](const void *data, size_t bytes, void *user) {
                State &it = *static_cast<State *>(user);
                it.file.append(static_cast<const char *>(data), bytes);
                for (uint32_t i = 0; i < it.marks; ++i) weft::MarkFrame(*it.scheduler, it.next++);
                return true;
            },
            &state);
        scheduler.Stop();
        const Recording recording = test::ReadBytes(state.file);
        const trace::Ring &ring = recording.rings.back();
        uint32_t frames = 0, last = 0;
        bool inOrder = true;
        for (const trace::Event &event : recording.events) {
            if (event.kind != TraceKind::Frame) continue;
            inOrder = inOrder && (frames == 0 || event.other == last + 1);
            last = event.other;
            ++frames;
        }
        CHECK(inOrder);  // nothing is missing in between
        CHECK(ring.records == frames);
        CHECK(ring.lost + frames == 10000);
        if (marks == 0) CHECK(frames > 2000);
        if (marks == 100) CHECK(frames > 2000);
        if (marks == 300) CHECK((frames > 0 && frames < 1000));  // there were gaps
        if (marks == 10000) CHECK(frames == 0);
    }
}
