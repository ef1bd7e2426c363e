// Tests the exporters: what they write is read again.
#include "trace/export.h"

#include "support/threads.h"
#include "trace/json.h"
#include "trace/output.h"
#include "trace/protobuf.h"
#include "trace/written_recording.h"
#include "weft/trace/marks.h"

#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

using namespace trace;
using weft::TraceKind;

namespace {

// Two workers, an attached thread and another one; a task that waits, one that is stolen, a frame.
test::WrittenRecording Example() {
    test::WrittenRecording file(2, 1);
    const uint32_t own = file.OwnStack(), external = file.External();
    file.Frame(external, 0, 77, 6);
    file.Add(external, 0, TraceKind::CounterName, 77, 0, 0x91, "children");
    file.Submit(external, 1, 77, 1, 10, "a \"quoted\" \\ name", 0x90);
    file.Begin(0, 2, 5, 10, "a \"quoted\" \\ name");
    file.Submit(0, 3, 5, 2, 11, "b", 0x91);
    file.Wait(0, 4, 5, 0x91);
    file.Switch(0, 5, 5, 6);
    file.Begin(1, 6, 7, 11, "b", 0);
    file.Begin(0, 6, 6, 12, "b");
    file.End(0, 8, 6, 12, "b");
    file.Add(0, 8.5, TraceKind::Park, 6);
    file.End(1, 9, 7, 11, "b");
    file.Ready(1, 9.5, 7, 5, 0x91);
    file.Switch(1, 10, 7, 5);
    file.Resume(1, 10.5, 5, 0x91);
    file.End(1, 12, 5, 10, "a \"quoted\" \\ name");
    file.Add(1, 12.5, TraceKind::Wake, 5, 0);
    file.Add(0, 13, TraceKind::Unpark, 6);
    file.Add(2, 13.5, TraceKind::Attach, own);
    file.Add(2, 14, TraceKind::Detach, own);
    file.Wait(external, 14, 77, 0x92);
    file.Resume(external, 15, 77, 0x92);
    file.Frame(external, 16, 77, 7);
    return file;
}

struct Exported {
    Recording recording;
    Timeline timeline;
    std::string bytes;
};

using Exporter = void (*)(const Recording &, const Timeline &, std::ostream &);

Exported Export(const Recording &recording, Exporter exporter) {
    Exported result{recording, BuildTimeline(recording), ""};
    std::ostringstream out;
    exporter(result.recording, result.timeline, out);
    result.bytes = out.str();
    return result;
}

Recording Recorded() {
    return test::ReadBytes(
        test::Record(test::Options(3), 16 << 20, [](weft::TaskScheduler &scheduler) {
            for (uint32_t frame = 0; frame < 20; ++frame) {
                test::Batch batch(20, [](weft::TaskScheduler &inside, uint32_t i) {
                    test::Marks marks(4);
                    inside.AddTasksAndWait(4, marks.Tasks(), test::Named("child"));
                    if (i % 4 == 0) inside.Yield();
                });
                weft::Counter counter;
                scheduler.AddTasks(20, batch.Tasks(), &counter, test::Named("parent"));
                scheduler.WaitForCounter(&counter);
                weft::MarkFrame(scheduler, frame);
            }
        }));
}

// --- Perfetto: the numbers of the fields are those of the public schema ---

struct PerfettoTrack {
    std::string name;
    uint64_t parent = 0, tid = 0;
    bool isProcess = false, isCounter = false;
    // what is written for the track
    std::vector<std::string> open, text;
    uint64_t last = 0;
};

struct PerfettoTrace {
    std::map<uint64_t, PerfettoTrack> tracks;
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> begins, ends;  // flow: time and track
    uint64_t slices = 0;

    const PerfettoTrack &Named(const std::string &name) const {
        for (const auto &[uuid, track] : tracks) {
            if (track.name == name) return track;
        }
        FAIL("no track " << name);
        return tracks.begin()->second;
    }
};

PerfettoTrack ReadDescriptor(const test::Protobuf &descriptor) {
    PerfettoTrack track;
    if (descriptor.Has(2)) track.name = descriptor.Text(2);
    if (descriptor.Has(5)) track.parent = descriptor.Varint(5);
    track.isCounter = descriptor.Has(8);
    if (descriptor.Has(3)) {
        track.isProcess = true;
        CHECK(descriptor.Part(3).Varint(1) == 1);  // pid
        track.name = descriptor.Part(3).Text(6);
    }
    if (descriptor.Has(4)) {
        CHECK(descriptor.Part(4).Varint(1) == 1);
        track.tid = descriptor.Part(4).Varint(2);
        track.name = descriptor.Part(4).Text(5);
    }
    return track;
}

PerfettoTrace ReadPerfetto(const std::string &bytes) {
    PerfettoTrace trace;
    std::map<uint64_t, std::string> names;
    const test::Protobuf file(bytes);
    REQUIRE(file.Count(1) == file.fields.size());  // packets only
    bool isFirst = true;
    for (const test::Protobuf::Field &field : file.fields) {
        const test::Protobuf packet(field.bytes);
        REQUIRE(packet.Varint(10) != 0);  // trusted_packet_sequence_id
        // the first packet clears the state of the sequence; the others need it
        if (std::exchange(isFirst, false)) CHECK(packet.Varint(13) == 1);
        if (packet.Has(12)) {  // interned_data
            for (const test::Protobuf &name : packet.Part(12).AllParts(2))
                REQUIRE(names.emplace(name.Varint(1), name.Text(2)).second);
        }
        if (packet.Has(60)) {  // track_descriptor
            REQUIRE(trace.tracks.emplace(packet.Part(60).Varint(1), ReadDescriptor(packet.Part(60)))
                        .second);
            continue;
        }
        REQUIRE(packet.Varint(13) == 2);
        const test::Protobuf event = packet.Part(11);
        const uint64_t time = packet.Varint(8), type = event.Varint(9), uuid = event.Varint(11);
        REQUIRE(trace.tracks.count(uuid) == 1);  // it was described before
        PerfettoTrack &track = trace.tracks[uuid];
        REQUIRE(track.isCounter == (type == 4));
        const std::string name = event.Has(10) ? names.at(event.Varint(10)) : "";
        const std::string at = ' ' + std::to_string(time % 1000000000);
        if (type == 1) {
            REQUIRE(time >= track.last);
            track.open.push_back(name);
            track.text.push_back('(' + name + at);
            ++trace.slices;
        } else if (type == 2) {
            REQUIRE(time >= track.last);
            REQUIRE(!track.open.empty());
            track.text.push_back(track.open.back() + at + ')');
            track.open.pop_back();
        } else if (type == 3) {
            track.text.push_back(name + at);
        } else {
            REQUIRE(type == 4);
            REQUIRE(time > track.last);
            track.text.push_back(std::to_string(event.Varint(30)) + at);
        }
        if (type != 3) track.last = time;
        for (const uint64_t flow : event.AllFixed64(47))
            REQUIRE(trace.begins.emplace(flow, std::pair(time, uuid)).second);
        for (const uint64_t flow : event.AllFixed64(48))
            REQUIRE(trace.ends.emplace(flow, std::pair(time, uuid)).second);
    }
    for (const auto &[uuid, track] : trace.tracks) {
        CHECK(track.open.empty());
        CHECK((track.parent == 0 || trace.tracks.count(track.parent) == 1));
    }
    CHECK(trace.begins.size() == trace.ends.size());
    for (const auto &[flow, end] : trace.ends) {
        REQUIRE(trace.begins.count(flow) == 1);
        CHECK(trace.begins[flow].first <= end.first);
    }
    return trace;
}

using Texts = std::vector<std::string>;

// --- Chrome ---

// Checks that the complete events of each thread nest, and returns them as text.
std::map<int, Texts> ChromeSlices(const test::Json &events) {
    struct Slice {
        double begin, end;
    };
    std::map<int, std::vector<const test::Json *>> byThread;
    std::map<int, Texts> texts;
    for (const test::Json &event : events.items) {
        if (event["ph"].text == "X")
            byThread[static_cast<int>(event["tid"].number)].push_back(&event);
    }
    for (auto &[thread, slices] : byThread) {
        std::stable_sort(slices.begin(), slices.end(), [](const auto *a, const auto *b) {
            const double first = (*a)["ts"].number, second = (*b)["ts"].number;
            return first != second ? first < second : (*a)["dur"].number > (*b)["dur"].number;
        });
        std::vector<Slice> open;
        for (const test::Json *slice : slices) {
            const double begin = (*slice)["ts"].number, end = begin + (*slice)["dur"].number;
            CHECK((*slice)["dur"].number >= 0);
            while (!open.empty() && open.back().end <= begin + 1e-6) open.pop_back();
            if (!open.empty()) CHECK(end <= open.back().end + 1e-6);
            open.push_back({begin, end});
            std::ostringstream text;
            text << (*slice)["name"].text << ' ' << begin << ' ' << end;
            texts[thread].push_back(text.str());
        }
    }
    return texts;
}

}  // namespace

TEST_CASE("Perfetto: tracks, slices, waits, arrows and counters of a known recording", "[export]") {
    const Exported exported = Export(Example().Read(), WritePerfetto);
    const PerfettoTrace trace = ReadPerfetto(exported.bytes);
    const std::string a = "a \"quoted\" \\ name";
    CHECK(trace.Named("weft").isProcess);
    CHECK(trace.Named("worker 0").text == Texts{"(" + a + " 2000", a + " 5000)", "(b 6000",
                                                "b 8000)", "((asleep) 8500", "(asleep) 13000)",
                                                "submit 3000"});
    CHECK(trace.Named("worker 1").text ==
          Texts{"(b 6000", "b 9000)", "(" + a + " 10000", a + " 12000)", "release 9500"});
    CHECK(trace.Named("attached thread 0").text ==
          Texts{"((attached thread's own code) 13500", "(attached thread's own code) 14000)"});
    CHECK(trace.Named("thread 0").text == Texts{"submit 1000"});
    CHECK(trace.Named("thread 0").tid != 0);
    CHECK(trace.Named("waits").text ==
          Texts{"(wait: counter 0x92 14000", "wait: counter 0x92 15000)"});
    CHECK(trace.Named("fiber 5").text ==
          Texts{"(" + a + " 2000", "(wait: children 4000", "wait: children 10000)", a + " 12000)"});
    CHECK(trace.Named("fiber 7").text == Texts{"(b 6000", "b 9000)"});
    CHECK(trace.Named("frames").text == Texts{"(frame 0", "frame 16000)"});
    CHECK(trace.Named("ready").text ==
          Texts{"1 1000", "0 2000", "2 3000", "0 6000", "1 9500", "0 10000"});
    CHECK(trace.Named("running").text == Texts{"1 2000", "0 4000", "2 6000", "1 8000", "0 9000",
                                               "1 10000", "0 12000", "1 13500", "0 14000"});
    CHECK(trace.begins.size() == 4);  // three tasks and a release
    // The steady clock at the start of the run is 5 s.
    CHECK(trace.Named("worker 0").last == 5000013000);
}

TEST_CASE("Perfetto: a recorded run", "[export]") {
    const Exported exported = Export(Recorded(), WritePerfetto);
    const PerfettoTrace trace = ReadPerfetto(exported.bytes);
    uint64_t tasks = 0;
    for (const Task &task : exported.timeline.tasks) tasks += task.submission != kNone;
    CHECK(tasks == 20 * (20 + 20 * 4));
    uint64_t released = 0;
    for (const Slice &slice : exported.timeline.slices)
        released += !slice.isFirst && slice.task != kNone && slice.wait != kNone;
    CHECK(trace.ends.size() == tasks + released);
    CHECK(trace.slices >= 2 * tasks);  // on the track of a worker, and on that of a fiber
    CHECK(trace.Named("frames").text.size() == 2 * 19);
}

TEST_CASE("Chrome: slices, arrows, names and counters of a known recording", "[export]") {
    const Exported exported = Export(Example().Read(), WriteChrome);
    const test::Json json = test::ParseJson(exported.bytes);
    const test::Json &events = json["traceEvents"];
    REQUIRE(events.kind == test::Json::Kind::Array);
    const std::map<int, Texts> slices = ChromeSlices(events);
    const std::string a = "a \"quoted\" \\ name";
    CHECK(slices.at(0) == Texts{a + " 2 5", "b 6 8", "(asleep) 8.5 13"});
    CHECK(slices.at(1) == Texts{"b 6 9", a + " 10 12"});
    std::map<std::string, int> names;
    std::map<double, Texts> arrows;
    Texts ready;
    for (const test::Json &event : events.items) {
        REQUIRE(event.Has("ph"));
        REQUIRE(event["pid"].number == 1);
        const std::string &phase = event["ph"].text;
        if (phase == "M" && event["name"].text == "thread_name")
            names[event["args"]["name"].text] = static_cast<int>(event["tid"].number);
        if (phase == "s" || phase == "f") {
            std::ostringstream text;
            text << event["name"].text << ' ' << event["tid"].number << ' ' << event["ts"].number;
            arrows[event["id"].number].push_back(phase + ' ' + text.str());
            if (phase == "f") CHECK(event["bp"].text == "e");
        }
        if (phase == "C" && event["name"].text == "ready") {
            std::ostringstream text;
            text << event["ts"].number << ' ' << event["args"]["ready"].number;
            ready.push_back(text.str());
        }
    }
    CHECK(names == std::map<std::string, int>{{"worker 0", 0},
                                              {"worker 1", 1},
                                              {"attached thread 0", 2},
                                              {"thread 0", 3},
                                              {"frames", 4}});
    std::set<Texts> pairs;
    for (const auto &[id, ends] : arrows) pairs.insert(ends);
    CHECK(pairs == std::set<Texts>{{"s submit 3 1", "f submit 0 2"},
                                   {"s submit 0 3", "f submit 0 6"},
                                   {"s submit 0 3", "f submit 1 6"},
                                   {"s release 1 9.5", "f release 1 10"}});
    CHECK(ready == Texts{"1 1", "2 0", "3 2", "6 0", "9.5 1", "10 0"});
}

TEST_CASE("Chrome: a recorded run", "[export]") {
    const Exported exported = Export(Recorded(), WriteChrome);
    const test::Json json = test::ParseJson(exported.bytes);
    size_t slices = 0;
    for (const auto &[thread, texts] : ChromeSlices(json["traceEvents"])) slices += texts.size();
    CHECK(slices == exported.timeline.slices.size() + exported.timeline.frames.size());
}

TEST_CASE("speedscope: profiles of a known and of a recorded run", "[export]") {
    for (const bool isKnown : {true, false}) {
        const Exported exported = Export(isKnown ? Example().Read() : Recorded(), WriteSpeedscope);
        const test::Json json = test::ParseJson(exported.bytes);
        CHECK(json["$schema"].text == "https://www.speedscope.app/file-format-schema.json");
        const std::vector<test::Json> &frames = json["shared"]["frames"].items;
        Texts first;
        size_t opened = 0;
        for (const test::Json &profile : json["profiles"].items) {
            CHECK(profile["type"].text == "evented");
            CHECK(profile["unit"].text == "nanoseconds");
            std::vector<double> stack;
            double last = profile["startValue"].number;
            for (const test::Json &event : profile["events"].items) {
                REQUIRE(event["at"].number >= last);
                last = event["at"].number;
                const double frame = event["frame"].number;
                REQUIRE(frame < static_cast<double>(frames.size()));
                if (event["type"].text == "O") {
                    stack.push_back(frame);
                    ++opened;
                } else {
                    REQUIRE(event["type"].text == "C");
                    REQUIRE(!stack.empty());
                    REQUIRE(stack.back() == frame);
                    stack.pop_back();
                }
                std::ostringstream text;
                text << event["type"].text << ' ' << frames[static_cast<size_t>(frame)]["name"].text
                     << ' ' << last;
                if (profile["name"].text == "worker 1") first.push_back(text.str());
            }
            CHECK(stack.empty());
            CHECK(profile["endValue"].number >= last);
        }
        CHECK(opened == exported.timeline.slices.size());
        const std::string a = "a \"quoted\" \\ name";
        if (isKnown)
            CHECK(first == Texts{"O b 6000", "C b 9000", "O " + a + " 10000", "C " + a + " 12000"});
    }
}

TEST_CASE("text: a line for each event", "[export]") {
    const Recording recording = Example().Read();
    std::ostringstream out;
    WriteText(recording, out);
    const std::string text = out.str();
    CHECK(std::count(text.begin(), text.end(), '\n') ==
          static_cast<ptrdiff_t>(recording.events.size()));
    CHECK(text.find("      0.003000 ms  worker     0  Submit       on fiber 5  task 11  "
                    "counter 0x91  count 2  b\n") != std::string::npos);
    CHECK(text.find("thread    77  Frame        frame 7\n") != std::string::npos);
    CHECK(text.find("TaskBegin    on fiber 7  task 11  stolen from worker 0  b\n") !=
          std::string::npos);
}

TEST_CASE("exports of a recording without events are valid", "[export]") {
    test::WrittenRecording file(2);
    const Recording recording = file.Read();
    ReadPerfetto(Export(recording, WritePerfetto).bytes);
    test::ParseJson(Export(recording, WriteChrome).bytes);
    test::ParseJson(Export(recording, WriteSpeedscope).bytes);
}

TEST_CASE("numbers and texts of exports", "[export]") {
    CHECK(Microseconds(0) == "0.000");
    CHECK(Microseconds(1234567) == "1234.567");
    CHECK(Microseconds(-1005) == "-1.005");
    CHECK(Quoted("a\"\\\n\x01") == "\"a\\\"\\\\\\u000a\\u0001\"");
    // in Latin-1; a byte that is alone, too long, a surrogate, too large, or cut off
    CHECK(Quoted("f\xfcr") == R"("f\\xfcr")");
    for (const char *text : {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
        const std::string parsed = test::ParseJson(Quoted(text)).text;
        CHECK(parsed.size() == 4 * std::strlen(text));
        CHECK(parsed.substr(0, 2) == "\\x");
    }
    CHECK(Quoted("\xc3\xbc\xe2\x82\xac\xf0\x9f\x8e\xae") ==
          "\"\xc3\xbc\xe2\x82\xac\xf0\x9f\x8e\xae\"");
    std::ostringstream out;
    Print(out, "%s|", std::string(2000, 'x').c_str());
    CHECK(out.str() == std::string(2000, 'x') + '|');
}
