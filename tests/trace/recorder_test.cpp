// What a Recorder keeps, and the file that it writes.
#include "weft/trace/recorder.h"

#include "core/trace_records.h"
#include "support/off_cpu.h"
#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"
#include "support/trace_log.h"
#include "weft/trace/marks.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

using internal::TraceRecord;

// What a file says. `bad` names the first thing that is wrong with its form.
struct Parsed {
    internal::TraceFileHeader header;
    std::map<uint64_t, std::string> texts;
    std::map<uint32_t, std::vector<TraceRecord>> rings;
    bool complete = false;
    std::string bad;
};

template <class T>
T At(const std::string &file, size_t at) {
    T value;
    std::memcpy(&value, file.data() + at, sizeof value);
    return value;
}

Parsed Parse(const std::string &file) {
    Parsed parsed;
    if (file.size() < sizeof parsed.header) return parsed.bad = "no header", parsed;
    parsed.header = At<internal::TraceFileHeader>(file, 0);
    if (file.compare(0, 8, "WEFTRACE") != 0) parsed.bad = "magic";
    size_t at = parsed.header.headerBytes;
    while (at + 8 <= file.size() && !parsed.complete) {
        const uint32_t kind = At<uint32_t>(file, at), bytes = At<uint32_t>(file, at + 4);
        at += 8;
        if (at + bytes > file.size()) return parsed.bad = "cut", parsed;
        if (kind == internal::TraceSection::kText) {
            const std::string text = file.substr(at + 8, bytes - 8);
            const auto added = parsed.texts.emplace(At<uint64_t>(file, at), text);
            if (added.first->second != text) parsed.bad = "two texts at one address";
        } else if (kind == internal::TraceSection::kRecords) {
            std::vector<TraceRecord> &ring = parsed.rings[At<uint32_t>(file, at)];
            for (size_t i = 4; i < bytes; i += sizeof(TraceRecord))
                ring.push_back(At<TraceRecord>(file, at + i));
        } else if (kind == internal::TraceSection::kRing) {
            if (bytes != sizeof(internal::TraceRingSection)) parsed.bad = "a ring";
        } else if (kind == internal::TraceSection::kEnd) {
            parsed.complete = bytes == 0;
        } else {
            parsed.bad = "an unknown section";
        }
        at += bytes;
    }
    if (at != file.size()) parsed.bad = "more after the end";
    return parsed;
}

// Any thread may call it.
bool WriteTo(std::string &file, Recorder &recorder) {
    const auto append = [](const void *data, size_t bytes, void *user) {
        static_cast<std::string *>(user)->append(static_cast<const char *>(data), bytes);
        return true;
    };
    return recorder.Write(append, &file);
}

std::string Written(Recorder &recorder) {
    std::string file;
    CHECK(WriteTo(file, recorder));
    return file;
}

constexpr uint32_t kTaskNext = internal::TraceRecords::kTaskNext;

uint32_t KindOf(const TraceRecord &record) { return record.words[1] & 0x7f; }

// A run with tasks, waits, and a frame.
void RunSome(TaskScheduler &scheduler, uint32_t tasks) {
    Counter gate(1), counter;
    test::Batch batch(tasks, [&](TaskScheduler &inside, uint32_t i) {
        if (i % 10 == 0) inside.WaitForCounter(&gate);
    });
    scheduler.AddTasks(tasks, batch.Tasks(), &counter, test::Named("some task"));
    scheduler.DecrementCounter(&gate);
    scheduler.WaitForCounter(&counter);
    MarkFrame(scheduler, 42);
}

}  // namespace

TEST_CASE("Recorder: the rings hold the events that a hook sees", "[trace][recorder]") {
    std::vector<unsigned char> memory(4 << 20);
    Recorder recorder(memory.data(), memory.size());
    test::TraceLog trace;
    SchedulerOptions options = test::Options(2, 68);
    options.recorder = &recorder;
    trace.AttachTo(options, ~0u);
    test::Runner runner(options);
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    RunSome(scheduler, 300);
    REQUIRE(scheduler.AttachThread() == Status::Ok);
    RunSome(scheduler, 100);
    scheduler.DetachThread();
    scheduler.Stop();
    const Parsed parsed = Parse(Written(recorder));
    CHECK(parsed.bad == "");
    CHECK(parsed.complete);
    CHECK(parsed.header.workers == 2);
    CHECK(parsed.header.rings == 2 + options.maxAttached + 1);
    CHECK(parsed.header.fibers == 68);
    CHECK(parsed.header.stackBytes == options.stackBytes);
    CHECK(parsed.header.ticksPerMicrosecond > 0);

    std::map<uint32_t, std::vector<TraceRecord>> expected;
    for (const test::LoggedEvent &logged : trace.Events()) {
        const uint32_t ring =
            logged.event.worker != kAnyWorker ? logged.event.worker : parsed.header.rings - 1;
        expected[ring].push_back(internal::RecordOf(logged.event));
        if (logged.kind == TraceKind::Submit)
            expected[ring].push_back(internal::MoreOfSubmit(logged.event));
    }
    REQUIRE(parsed.rings.size() == expected.size());
    for (const auto &ring : expected) {
        INFO("ring " << ring.first);
        const std::vector<TraceRecord> &found = parsed.rings.at(ring.first);
        REQUIRE(found.size() == ring.second.size());
        CHECK(std::memcmp(found.data(), ring.second.data(), found.size() * sizeof(TraceRecord)) ==
              0);
    }
    bool isNamed = false;
    for (const auto &text : parsed.texts) isNamed = isNamed || text.second == "some task";
    CHECK(isNamed);
}

TEST_CASE("Recorder: without a hook it keeps the same kinds of events", "[trace][recorder]") {
    std::vector<unsigned char> memory(4 << 20);
    Recorder recorder(memory.data(), memory.size());
    SchedulerOptions options = test::Options(1, 68);
    options.recorder = &recorder;
    test::Runner runner(options);
    CHECK(runner.Run([](TaskScheduler &scheduler) { RunSome(scheduler, 300); }) == Status::Ok);
    const Parsed parsed = Parse(Written(recorder));
    CHECK(parsed.bad == "");
    std::map<uint32_t, uint32_t> counts;
    std::map<uint64_t, uint64_t> begins;  // number of the task, time
    uint64_t last = 0;
    for (const TraceRecord &record : parsed.rings.at(0)) {
        const uint32_t kind = KindOf(record);
        ++counts[kind];
        CHECK(record.words[0] >= last);
        last = record.words[0];
        if (kind == static_cast<uint32_t>(TraceKind::TaskBegin) || kind == kTaskNext)
            begins[record.words[2]] = record.words[0];
        if (kind == static_cast<uint32_t>(TraceKind::TaskEnd))
            CHECK(begins.count(record.words[2]) == 1);
    }
    const uint32_t next = counts[kTaskNext];  // depends on the time that tasks take
    // and the main task
    CHECK(counts[static_cast<uint32_t>(TraceKind::TaskBegin)] + next == 301);
    CHECK(counts[static_cast<uint32_t>(TraceKind::TaskEnd)] + next == 301);
    CHECK(begins.size() == 301);
    CHECK(counts[static_cast<uint32_t>(TraceKind::Submit)] == 1);
    CHECK(counts[static_cast<uint32_t>(TraceKind::Frame)] == 1);
    CHECK(counts[static_cast<uint32_t>(TraceKind::Satisfied)] >= 30);
}

TEST_CASE("Recorder: a task whose thread was off its processor", "[trace][recorder][off_cpu]") {
    std::vector<unsigned char> memory(1 << 20);
    Recorder recorder(memory.data(), memory.size());
    SchedulerOptions options = test::Options(1);
    options.recorder = &recorder;
    test::Batch block(3, [](TaskScheduler &, uint32_t) { test::BlockForOthers(); });
    test::Runner runner(options);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        scheduler.AddTasksAndWait(3, block.Tasks());
    }) == Status::Ok);
    const Parsed parsed = Parse(Written(recorder));
    CHECK(parsed.bad == "");
    uint64_t lost[4] = {};
    uint32_t begun = 0;
    for (const TraceRecord &record : parsed.rings.at(0)) {
        const uint32_t kind = KindOf(record);
        begun += kind == static_cast<uint32_t>(TraceKind::TaskBegin) || kind == kTaskNext;
        if (kind == static_cast<uint32_t>(TraceKind::OffCpu) && begun >= 2 && begun <= 4)
            lost[begun - 2] += record.words[1] >> 32;
    }
    REQUIRE(begun == 4);  // the main task, and those that block
    for (int i = 0; i < 3; ++i) CHECK((lost[i] >= 20000) == test::IsOffCpuTold());
}

TEST_CASE("Recorder: one record for the end of a task and the begin of the next one",
          "[trace][recorder]") {
    std::vector<unsigned char> memory(1 << 20);
    Recorder recorder(memory.data(), memory.size());
    SchedulerOptions options = test::Options(1);
    options.recorder = &recorder;
    test::Runner runner(options);
    constexpr uint32_t kTasks = 100;
    test::Marks marks(kTasks);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter counter;
        scheduler.AddTasks(kTasks, marks.Tasks(), &counter);
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    const Parsed parsed = Parse(Written(recorder));
    uint32_t next = 0, ends = 0, begins = 0;
    uint64_t inTask = 0, ticks = 0;
    for (const TraceRecord &record : parsed.rings.at(0)) {
        const uint32_t kind = KindOf(record);
        CHECK(record.words[0] >= ticks);
        ticks = record.words[0];
        next += kind == kTaskNext;
        begins += kind == static_cast<uint32_t>(TraceKind::TaskBegin);
        ends += kind == static_cast<uint32_t>(TraceKind::TaskEnd);
        if (kind == static_cast<uint32_t>(TraceKind::TaskEnd))
            CHECK((record.words[2] == inTask || record.words[2] == 0));  // or the main task
        if (kind == kTaskNext || kind == static_cast<uint32_t>(TraceKind::TaskBegin))
            inTask = record.words[2];
    }
    CHECK(next + ends == kTasks + 1);
    CHECK(begins == ends);  // `machine bounds` checks that most tasks share a record
}

// Returns true if the recording has the end of a task with this name.
bool HasEnd(Recorder &recorder, const std::string &name) {
    std::string file;
    if (!WriteTo(file, recorder)) return false;
    const Parsed parsed = Parse(file);
    for (const auto &ring : parsed.rings) {
        for (const TraceRecord &record : ring.second) {
            const auto text = parsed.texts.find(record.words[3]);
            if (KindOf(record) == static_cast<uint32_t>(TraceKind::TaskEnd) &&
                text != parsed.texts.end() && text->second == name)
                return true;
        }
    }
    return false;
}

TEST_CASE("Recorder: the end of a task is there when its worker goes on with something else",
          "[trace][recorder]") {
    std::vector<unsigned char> memory(1 << 20);
    Recorder recorder(memory.data(), memory.size());
    SchedulerOptions options = test::Options(1);
    options.recorder = &recorder;
    options.idle = IdlePolicy::Spin;
    test::Runner runner(options);
    test::Marks inner(1), single(1);
    bool isThere[2] = {};
    test::Batch outer(1, [&](TaskScheduler &scheduler, uint32_t) {
        scheduler.AddTasksAndWait(1, inner.Tasks(), test::Named("fused"));
        isThere[0] = HasEnd(recorder, "fused");
        Counter counter;
        scheduler.AddTask(single[0], &counter, test::Named("single"));
        scheduler.WaitForCounter(&counter);
        isThere[1] = HasEnd(recorder, "single");
    });
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    runner.scheduler.AddTasks(1, outer.Tasks(), nullptr, test::Named("outer"));
    // the worker looks for work, and nothing happens any more
    CHECK(test::SpinUntil([&] { return HasEnd(recorder, "outer"); }));
    CHECK(isThere[0]);
    CHECK(isThere[1]);
    runner.scheduler.Stop();
}

TEST_CASE("Recorder: the end of a task comes before what follows from it", "[trace][recorder]") {
    std::vector<unsigned char> memory(1 << 20);
    Recorder recorder(memory.data(), memory.size());
    SchedulerOptions options = test::Options(1);
    options.recorder = &recorder;
    test::Runner runner(options);
    test::Marks last(1);
    Counter counter;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        scheduler.IncrementCounter(&counter);
        Counter waiters;
        test::Batch waiter(
            1, [&](TaskScheduler &waiting, uint32_t) { waiting.WaitForCounter(&counter); });
        scheduler.AddTasks(1, waiter.Tasks(), &waiters);
        scheduler.Yield();  // it waits now, and will not run `last` on top of itself
        scheduler.AddTasks(1, last.Tasks(), &counter, test::Named("last"));
        scheduler.DecrementCounter(&counter);
        scheduler.WaitForCounter(&waiters);
    }) == Status::Ok);
    const Parsed parsed = Parse(Written(recorder));
    uint64_t ended = 0, ready = 0, at = 0;
    for (const TraceRecord &record : parsed.rings.at(0)) {
        ++at;
        const auto text = parsed.texts.find(record.words[3]);
        if (KindOf(record) == static_cast<uint32_t>(TraceKind::TaskEnd) &&
            text != parsed.texts.end() && text->second == "last")
            ended = at;
        if (KindOf(record) == static_cast<uint32_t>(TraceKind::Ready) &&
            record.words[2] == reinterpret_cast<uintptr_t>(&counter))
            ready = at;
    }
    CHECK(ended != 0);
    CHECK(ready > ended);
}

TEST_CASE("Recorder: a full ring keeps the newest records", "[trace][recorder]") {
    constexpr uint32_t kSlots = 1 + 8;
    std::vector<unsigned char> memory(Recorder::LeastBytes(kSlots));
    Recorder recorder(memory.data(), memory.size());
    SchedulerOptions options = test::Options(1);
    options.maxAttached = 8;
    options.recorder = &recorder;
    test::Runner runner(options);
    CHECK(runner.Run([](TaskScheduler &scheduler) { RunSome(scheduler, 3000); }) == Status::Ok);
    CHECK(runner.log.Text() == "");
    const Parsed parsed = Parse(Written(recorder));
    CHECK(parsed.bad == "");
    CHECK(parsed.complete);
    const std::vector<TraceRecord> &ring = parsed.rings.at(0);
    CHECK(ring.size() >= 64);
    CHECK(ring.size() * sizeof(TraceRecord) <= memory.size());
    // the end of the main task comes last, but for what the worker does until it ends
    bool ended = false;
    for (const TraceRecord &record : ring)
        ended = ended || KindOf(record) == static_cast<uint32_t>(TraceKind::Frame);
    CHECK(ended);
    for (size_t i = 1; i < ring.size(); ++i) CHECK(ring[i].words[0] >= ring[i - 1].words[0]);
}

TEST_CASE("report BadOption: the memory of a recorder is too small", "[trace][recorder]") {
    unsigned char memory[2000];
    Recorder recorder(memory, sizeof memory);
    SchedulerOptions options = test::Options(2);
    options.recorder = &recorder;
    test::Runner runner(options);
    CHECK(runner.Run([](TaskScheduler &scheduler) { RunSome(scheduler, 10); }) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 1);
    CHECK(runner.log.Count() == 1);
    const Parsed parsed = Parse(Written(recorder));
    CHECK(parsed.bad == "");
    CHECK(parsed.rings.empty());
}

TEST_CASE("Recorder: written while the scheduler runs, no record is torn",
          "[trace][recorder][threads]") {
    constexpr uint32_t kSlots = 2 + 8;
    std::vector<unsigned char> memory(Recorder::LeastBytes(kSlots));
    Recorder recorder(memory.data(), memory.size());
    SchedulerOptions options = test::Options(2);
    options.maxAttached = 8;
    options.recorder = &recorder;
    test::Runner runner(options);
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    std::atomic<bool> isOver{false};
    uint32_t files = 0, wrong = 0;
    std::thread writer([&] {
        do {
            const Parsed parsed = Parse(Written(recorder));
            ++files;
            wrong += parsed.bad != "" || !parsed.complete;
            for (const auto &ring : parsed.rings) {
                for (const TraceRecord &record : ring.second) {
                    const uint32_t kind = KindOf(record);
                    wrong += kind >= kTraceKinds && kind != kTaskNext &&
                             kind != internal::TraceRecords::kMoreOfSubmit;
                    const bool isTask = kind <= 1 || kind == kTaskNext;
                    // the test's own tasks have a name, the main task has none
                    wrong += isTask && record.words[3] == 0;
                }
            }
        } while (!isOver.load());
    });
    for (int i = 0; i < 20; ++i) {
        test::Marks marks(500);
        scheduler.AddTasksAndWait(500, marks.Tasks(), test::Named("torn?"));
    }
    isOver.store(true);
    writer.join();
    scheduler.Stop();
    CHECK(files >= 1);
    CHECK(wrong == 0);
}

TEST_CASE("Recorder: a late frame is told, with its time", "[trace][recorder]") {
    struct Late {
        std::vector<uint32_t> frames;
        uint64_t nanoseconds = 0;
    } late;
    std::vector<unsigned char> memory(1 << 20);
    RecorderOptions recording;
    recording.frameBudget = 1;  // each frame takes longer
    recording.user = &late;
    recording.onLateFrame = [](uint32_t frame, uint64_t nanoseconds, void *user) {
        static_cast<Late *>(user)->frames.push_back(frame);
        static_cast<Late *>(user)->nanoseconds += nanoseconds;
    };
    Recorder recorder(memory.data(), memory.size(), recording);
    SchedulerOptions options = test::Options(1);
    options.recorder = &recorder;
    test::Runner runner(options);
    CHECK(runner.Run([](TaskScheduler &scheduler) {
        for (uint32_t frame = 0; frame < 4; ++frame) {
            test::Marks marks(10);
            scheduler.AddTasksAndWait(10, marks.Tasks());
            MarkFrame(scheduler, frame);
        }
    }) == Status::Ok);
    // The first mark is the begin of the first frame whose length is known.
    CHECK(late.frames == std::vector<uint32_t>{1, 2, 3});
    CHECK(late.nanoseconds > 0);
}

TEST_CASE("Recorder: WriteFile makes the same file", "[trace][recorder]") {
    std::vector<unsigned char> memory(1 << 20);
    Recorder recorder(memory.data(), memory.size());
    SchedulerOptions options = test::Options(1);
    options.recorder = &recorder;
    test::Runner runner(options);
    CHECK(runner.Run([](TaskScheduler &scheduler) { RunSome(scheduler, 50); }) == Status::Ok);
    const std::string path = "recorder_test.weft";
    REQUIRE(recorder.WriteFile(path.c_str()));
    std::string found;
    FILE *file = std::fopen(path.c_str(), "rb");
    REQUIRE(file != nullptr);
    char part[4096];
    for (size_t bytes; (bytes = std::fread(part, 1, sizeof part, file)) != 0;)
        found.append(part, bytes);
    std::fclose(file);
    std::remove(path.c_str());
    const Parsed ofFile = Parse(found), expected = Parse(Written(recorder));
    CHECK(ofFile.bad == "");
    CHECK(ofFile.complete);
    CHECK(ofFile.texts == expected.texts);
    REQUIRE(ofFile.rings.size() == expected.rings.size());
    for (const auto &ring : expected.rings) {
        const std::vector<TraceRecord> &records = ofFile.rings.at(ring.first);
        REQUIRE(records.size() == ring.second.size());
        CHECK(std::memcmp(records.data(), ring.second.data(),
                          records.size() * sizeof(TraceRecord)) == 0);
    }
    CHECK(!recorder.WriteFile("no/such/folder/file"));
}
