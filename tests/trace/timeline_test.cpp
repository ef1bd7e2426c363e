// Tests the timeline: made-up recordings with a known result, recorded runs, and the same with
// their beginnings taken away.
#include "trace/timeline.h"

#include "trace/checked_timeline.h"
#include "trace/written_recording.h"

#include <map>
#include <tuple>

#include <catch2/catch.hpp>

using namespace trace;
using weft::TraceKind;

namespace {

Timeline Build(const Recording &recording) {
    Timeline timeline = BuildTimeline(recording);
    CHECK(test::WrongIn(timeline) == "");
    return timeline;
}

Timeline Build(const test::WrittenRecording &file) { return Build(file.Read()); }

uint32_t Find(const Timeline &timeline, const std::string &name) {
    for (uint32_t i = 0; i < timeline.tasks.size(); ++i) {
        if (timeline.names[timeline.tasks[i].name] == name) return i;
    }
    FAIL("no task " << name);
    return kNone;
}

// Begin and end of the slices of a task, in microseconds, and the workers.
using Piece = std::tuple<uint32_t, double, double>;
std::vector<Piece> PiecesOf(const Timeline &timeline, uint32_t task) {
    std::vector<Piece> pieces;
    for (const Slice &slice : timeline.slices) {
        if (slice.task == task)
            pieces.emplace_back(slice.actor, slice.begin / 1000.0, slice.end / 1000.0);
    }
    return pieces;
}

using Steps = std::vector<std::pair<int64_t, int64_t>>;  // time and value
Steps StepsOf(const std::vector<Step> &steps) {
    Steps result;
    for (const Step &step : steps) result.emplace_back(step.ns, step.value);
    return result;
}

}  // namespace

TEST_CASE("slices end where a fiber is left, and begin again where it continues", "[timeline]") {
    test::WrittenRecording file(2);
    file.Submit(0, 1, 5, 1, 10, "a", 0x90);
    file.Begin(0, 2, 5, 10, "a");
    file.Submit(0, 3, 5, 1, 11, "b", 0x91);
    file.Wait(0, 4, 5, 0x91);
    file.Switch(0, 5, 5, 6);
    file.Begin(1, 6, 7, 11, "b", 0);
    file.End(1, 9, 7, 11, "b");
    file.Ready(1, 9.5, 7, 5, 0x91);
    file.Switch(1, 10, 7, 5);
    file.Resume(1, 10.5, 5, 0x91);
    file.End(1, 12, 5, 10, "a");
    file.Frame(1, 13, 5, 0);
    const Timeline timeline = Build(file);
    CHECK(test::MissingIn(timeline) == "");
    const uint32_t a = Find(timeline, "a"), b = Find(timeline, "b");
    CHECK(PiecesOf(timeline, a) == std::vector<Piece>{{0, 2, 5}, {1, 10, 12}});
    CHECK(PiecesOf(timeline, b) == std::vector<Piece>{{1, 6, 9}});
    CHECK(timeline.tasks[a].run == 4000);  // until it waits, and from where it continues
    CHECK(timeline.tasks[a].waited == 6000);
    CHECK(timeline.tasks[a].longestWait == 6000);
    CHECK(timeline.tasks[b].stolenFrom == 0);
    REQUIRE(timeline.waits.size() == 1);
    const Wait &wait = timeline.waits[0];
    CHECK(wait.task == a);
    CHECK(wait.ready == 9500);
    CHECK(wait.readyActor == 1);
    CHECK(wait.endActor == 1);
    CHECK(!wait.byDeadline);
    CHECK(wait.isOver);
    REQUIRE(timeline.segments[1].size() == 2);
    CHECK(timeline.segments[1][1].edge == Edge::Release);
    CHECK(timeline.segments[1][1].edgeNs == 9500);
    CHECK(timeline.segments[1][0].edge == Edge::Submit);
    CHECK(timeline.segments[1][0].edgeActor == 0);
    uint32_t continued = 0;
    for (const Slice &slice : timeline.slices) {
        CHECK(slice.isFirst == (slice.begin != 10000));
        continued += slice.wait == 0;
    }
    CHECK(continued == 1);
}

TEST_CASE("a task that runs on the stack of another one lies inside of it", "[timeline]") {
    test::WrittenRecording file(1);
    file.Begin(0, 1, 5, 10, "outer");
    file.Begin(0, 2, 5, 11, "inner");
    file.Begin(0, 3, 5, 12, "innermost");
    file.End(0, 4, 5, 12, "innermost");
    file.End(0, 6, 5, 11, "inner");
    file.Switch(0, 7, 5, 6);
    file.Switch(0, 8, 6, 5);
    file.End(0, 10, 5, 10, "outer");
    const Timeline timeline = Build(file);
    const Task &outer = timeline.tasks[Find(timeline, "outer")];
    const Task &inner = timeline.tasks[Find(timeline, "inner")];
    CHECK(outer.depth == 0);
    CHECK(inner.depth == 1);
    CHECK(inner.parent == Find(timeline, "outer"));
    CHECK(timeline.tasks[Find(timeline, "innermost")].depth == 2);
    CHECK(outer.run == 1000 + 1000 + 2000);
    CHECK(inner.run == 3000);
    CHECK(PiecesOf(timeline, Find(timeline, "outer")) == std::vector<Piece>{{0, 1, 7}, {0, 8, 10}});
    CHECK(StepsOf(timeline.running) == Steps{{1000, 1}, {7000, 0}, {8000, 1}, {10000, 0}});
}

TEST_CASE("tasks are matched with their submission by their number", "[timeline]") {
    test::WrittenRecording file(2);
    file.Submit(0, 1, 5, 3, 100, "a");
    file.Submit(1, 2, 6, 2, 103, "a");
    file.Submit(file.External(), 3, 77, 1, 50, "a");
    for (const uint64_t task : {102, 104, 50, 101, 103, 100, 999}) {
        file.Begin(0, 4, 5, task, "a");
        file.End(0, 5, 5, task, "a");
    }
    const Timeline timeline = Build(file);
    std::map<uint64_t, int64_t> submitted;
    for (const Task &task : timeline.tasks) {
        if (task.kind != Task::Kind::Task) continue;
        submitted[task.id] =
            task.submission != kNone ? timeline.submissions[task.submission].ns : 0;
    }
    CHECK(
        submitted ==
        std::map<uint64_t, int64_t>{
            {50, 3000}, {100, 1000}, {101, 1000}, {102, 1000}, {103, 2000}, {104, 2000}, {999, 0}});
    CHECK(timeline.submissions[0].begun == 3);
    CHECK(timeline.submissions[2].actor == 2);
}

TEST_CASE("a wait that keeps its worker, and sleeps of the worker in it", "[timeline]") {
    test::WrittenRecording file(2);
    file.Begin(0, 1, 5, 10, "a");
    file.Wait(0, 3, 5, 0x91);
    file.Add(0, 4, TraceKind::Park, 5);
    file.Ready(1, 6, 7, 5, 0x91);
    file.Add(1, 7, TraceKind::Wake, 7, 0);
    file.Add(0, 8, TraceKind::Unpark, 5);
    file.Resume(0, 9, 5, 0x91);
    file.End(0, 12, 5, 10, "a");
    const Timeline timeline = Build(file);
    const uint32_t a = Find(timeline, "a");
    CHECK(PiecesOf(timeline, a) == std::vector<Piece>{{0, 1, 12}});
    CHECK(PiecesOf(timeline, kNone) == std::vector<Piece>{{0, 4, 8}});
    CHECK(timeline.tasks[a].run == 2000 + 3000);
    REQUIRE(timeline.parks[0].size() == 1);
    CHECK(timeline.parks[0][0].woken == 7000);
    CHECK(timeline.parks[0][0].wokenBy == 1);
    REQUIRE(timeline.segments[0].size() == 2);
    CHECK(timeline.segments[0][1].edge == Edge::Release);
    CHECK(timeline.segments[0][1].edgeActor == 1);
    CHECK(StepsOf(timeline.ready) == Steps{{6000, 1}, {9000, 0}});
    CHECK(timeline.TimeWithWork(0, 7000) == 1000);
    CHECK(timeline.TimeWithWork(7000, 8000) == 1000);
    CHECK(timeline.TimeWithWork(8000, 20000) == 1000);
    CHECK(timeline.TimeWithWork(9000, 12000) == 0);
    CHECK(timeline.TimeWithWork(0, 1000) == 0);
}

TEST_CASE(
    "a worker that is woken just before it sleeps; one that wakes up by itself; one that was "
    "not asleep",
    "[timeline]") {
    test::WrittenRecording file(2);
    file.Add(1, 1, TraceKind::Wake, 7, 0);
    file.Add(0, 2, TraceKind::OffCpu, kThreadStack, 500);
    file.Add(0, 2, TraceKind::Park, kThreadStack);
    file.Add(0, 3, TraceKind::Unpark, kThreadStack);
    file.Add(0, 4, TraceKind::Park, kThreadStack);
    file.Add(0, 5, TraceKind::Unpark, kThreadStack);
    file.Add(1, 6, TraceKind::Wake, 7, 0);
    file.Begin(0, 7, 5, 10, "a");
    file.End(0, 8, 5, 10, "a");
    file.Add(0, 9, TraceKind::Park, kThreadStack);
    file.Add(0, 10, TraceKind::Unpark, kThreadStack);
    const Timeline timeline = Build(file);
    REQUIRE(timeline.parks[0].size() == 3);
    CHECK(timeline.parks[0][0].woken == 2000);
    CHECK(timeline.parks[0][1].woken == kUnknown);
    CHECK(timeline.parks[0][2].woken == kUnknown);  // the wake-up at 6 was for the task at 7
    CHECK(timeline.parks[1].empty());
}

TEST_CASE("waits that end by their deadline", "[timeline]") {
    test::WrittenRecording file(1);
    file.Begin(0, 1, 5, 10, "a");
    file.Wait(0, 2, 5, 0x91);
    file.Switch(0, 2, 5, 6);
    file.Add(0, 8, TraceKind::Deadline, 6);
    file.Add(0, 9, TraceKind::OffCpu, 6, 500);
    file.Ready(0, 9, 6, 5, 0x91);
    file.Switch(0, 10, 6, 5);
    file.Resume(0, 11, 5, 0x91);
    file.Wait(0, 12, 5, 0x91);
    file.Switch(0, 12, 5, 6);
    file.Add(0, 18, TraceKind::Deadline, 6);
    file.Begin(0, 18.5, 6, 11, "b");
    file.End(0, 18.6, 6, 11, "b");
    file.Ready(0, 19, 6, 5, 0x91);  // not by the deadline
    file.Switch(0, 20, 6, 5);
    file.Resume(0, 21, 5, 0x91);
    file.End(0, 22, 5, 10, "a");
    const Timeline timeline = Build(file);
    REQUIRE(timeline.waits.size() == 2);
    CHECK(timeline.waits[0].byDeadline);
    CHECK(!timeline.waits[1].byDeadline);
    CHECK(timeline.segments[0][1].edge == Edge::Deadline);
}

TEST_CASE("attached threads, other threads and blocking calls", "[timeline]") {
    test::WrittenRecording file(1, 1);
    const uint32_t own = file.OwnStack(), external = file.External();
    file.Add(1, 1, TraceKind::Attach, own);
    file.Submit(1, 2, own, 1, 10, "a", 0x91);
    file.Wait(1, 3, own, 0x91);
    file.Switch(1, 3, own, 5);
    file.Begin(0, 4, 6, 10, "a");
    file.End(0, 5, 6, 10, "a");
    file.Ready(0, 6, 6, own, 0x91);
    file.Switch(1, 7, 5, own);
    file.Resume(1, 7, own, 0x91);
    file.Add(1, 9, TraceKind::Detach, own);
    file.Wait(external, 10, 77, 0x92);
    file.Add(external, 11, TraceKind::CallBegin, 88, 0, 0x1234);
    file.Add(external, 15, TraceKind::CallEnd, 88, 0, 0x1234);
    file.Ready(external, 16, 88, kNone, 0x92);
    file.Resume(external, 18, 77, 0x92);
    file.Frame(external, 19, 77, 3);
    file.Frame(external, 20, 77, 4);
    const Timeline timeline = Build(file);
    CHECK(test::MissingIn(timeline) == "");
    CHECK(timeline.NameOfActor(0) == "worker 0");
    CHECK(timeline.NameOfActor(1) == "attached thread 0");
    CHECK(timeline.NameOfActor(2) == "thread 0");
    CHECK(timeline.actors == 4);
    const uint32_t code = Find(timeline, "(attached thread's own code)");
    CHECK(timeline.tasks[code].kind == Task::Kind::OwnCode);
    CHECK(timeline.tasks[code].isBeginKnown);
    CHECK(PiecesOf(timeline, code) == std::vector<Piece>{{1, 1, 3}, {1, 7, 9}});
    CHECK(timeline.tasks[code].run == 4000);
    REQUIRE(timeline.waits.size() == 2);
    CHECK(timeline.waits[1].ready == 16000);
    CHECK(timeline.waits[1].readyActor == 3);
    CHECK(timeline.waits[1].end == 18000);
    REQUIRE(timeline.frames.size() == 1);
    CHECK(timeline.frames[0].number == 4);
    CHECK(timeline.frames[0].actor == 2);
    CHECK(timeline.frames[0].Length() == 1000);
    uint32_t calls = 0;
    for (const Task &task : timeline.tasks) {
        if (task.kind != Task::Kind::Call) continue;
        ++calls;
        CHECK(task.run == 4000);
        CHECK(task.beginActor == 3);
    }
    CHECK(calls == 1);
}

TEST_CASE("an event that ends a wait may have the time at which the wait begins", "[timeline]") {
    test::WrittenRecording file(2, 0);
    file.Submit(1, 1, 5, 1, 10, "a");
    file.Begin(1, 2, 6, 10, "a");
    file.Wait(1, 3, 6, 0x91);
    file.Ready(0, 3, 5, 6, 0x91);
    file.Switch(1, 4, 6, 7);
    file.Switch(1, 5, 7, 6);
    file.Resume(1, 5, 6, 0x91);
    file.End(1, 6, 6, 10, "a");
    const Timeline timeline = Build(file);
    CHECK(test::MissingIn(timeline) == "");
    REQUIRE(timeline.waits.size() == 1);
    CHECK(timeline.waits[0].ready == 3000);
    CHECK(timeline.waits[0].readyActor == 0);
}

TEST_CASE("what began before the recording is clipped or left out", "[timeline]") {
    test::WrittenRecording file(2, 1);
    file.AddRing(0, 100, 100);
    file.Begin(0, 5, 5, 10, "dropped");  // worker 1 is known from 10 on only
    file.End(0, 12, 5, 10, "dropped");
    file.Switch(0, 13, 5, 6);
    file.Resume(0, 13, 6, 0x91);
    file.End(0, 15, 6, 20, "inner");
    file.Begin(0, 16, 6, 22, "new");
    file.End(0, 17, 6, 22, "new");
    file.End(0, 18, 6, 21, "outer");
    file.AddRing(1, 50, 100);
    file.Add(1, 10, TraceKind::Unpark, kThreadStack);
    file.Begin(1, 20, 7, 30, "goes on");
    file.AddRing(2, 50, 100);
    file.Wait(2, 11, file.OwnStack(), 0x92);
    file.AddRing(3, 0, 100);
    file.Submit(3, 1, 77, 1, 22, "new");
    file.Frame(3, 2, 77, 1);
    file.Frame(3, 14, 77, 2);
    file.Frame(3, 22, 77, 3);
    const Timeline timeline = Build(file);
    CHECK(timeline.from == 11000);
    const Task &dropped = timeline.tasks[Find(timeline, "dropped")];
    CHECK(!dropped.isBeginKnown);
    CHECK(dropped.begin == 11000);
    CHECK(dropped.end == 12000);
    CHECK(PiecesOf(timeline, Find(timeline, "inner")) == std::vector<Piece>{{0, 13, 15}});
    CHECK(PiecesOf(timeline, Find(timeline, "outer")) == std::vector<Piece>{{0, 13, 18}});
    CHECK(timeline.tasks[Find(timeline, "inner")].parent == Find(timeline, "outer"));
    CHECK(timeline.tasks[Find(timeline, "new")].isBeginKnown);
    CHECK(timeline.submissions[timeline.tasks[Find(timeline, "new")].submission].ns == 1000);
    const Task &goesOn = timeline.tasks[Find(timeline, "goes on")];
    CHECK(!goesOn.isEndKnown);
    CHECK(goesOn.end == 22000);
    CHECK(timeline.waits.size() == 1);
    CHECK(!timeline.waits[0].isOver);
    REQUIRE(timeline.frames.size() == 1);
    CHECK(timeline.frames[0].number == 3);
    CHECK(timeline.frames[0].begin == 14000);
    CHECK(!timeline.tasks[Find(timeline, "(attached thread's own code)")].isBeginKnown);
}

TEST_CASE("frames whose marks may be missing are left out", "[timeline]") {
    for (const uint64_t lost : {0, 5}) {
        test::WrittenRecording file(1);
        file.AddRing(0, lost, 100);
        file.Frame(0, 1, 5, 1);
        file.Frame(0, 2, 5, 2);
        file.Frame(0, 9, 5, 7);
        file.Frame(0, 10, 5, 8);
        CHECK(Build(file).frames.size() == (lost == 0 ? 3 : 2));
    }
}

TEST_CASE("a worker whose events were cut off: nothing goes on where they end", "[timeline]") {
    test::WrittenRecording file(3);
    file.Begin(0, 1, 5, 10, "a");
    file.Wait(0, 2, 5, 0x91);
    file.Switch(0, 3, 5, 6);
    file.Begin(0, 20, 5, 11, "b");  // `a` has ended on a worker whose events are missing
    file.End(0, 21, 5, 11, "b");
    file.Begin(1, 4, 7, 12, "c");
    file.Begin(1, 6, 7, 13, "d");
    file.End(1, 30, 7, 13, "d");
    std::string bytes = file.Bytes();
    bytes.resize(bytes.size() - 2 * (8 + 24) - 8 - 10);  // two rings, the end, and half a record
    Recording recording;
    REQUIRE(Read(bytes.data(), bytes.size(), &recording).empty());
    const Timeline timeline = Build(recording);
    CHECK(PiecesOf(timeline, Find(timeline, "a")) == std::vector<Piece>{{0, 1, 3}});
    CHECK(timeline.tasks[Find(timeline, "b")].parent == kNone);
    CHECK(PiecesOf(timeline, Find(timeline, "d")) == std::vector<Piece>{{1, 6, 6}});
    CHECK(timeline.until == 21000);
}

TEST_CASE("a fiber that runs another task, although the events do not end its wait", "[timeline]") {
    test::WrittenRecording file(1);
    file.Begin(0, 1, 5, 10, "a");
    file.Wait(0, 2, 5, 0x91);
    file.Switch(0, 3, 5, 6);
    file.Switch(0, 8, 6, 5);
    file.Begin(0, 9, 5, 11, "b");
    file.End(0, 10, 5, 11, "b");
    const Timeline timeline = Build(file);
    CHECK(!timeline.tasks[Find(timeline, "a")].isEndKnown);
    CHECK(timeline.tasks[Find(timeline, "b")].parent == kNone);
    CHECK(!timeline.waits[0].isOver);
}

TEST_CASE("tasks that are nested too deeply do not take too much memory", "[timeline]") {
    constexpr uint32_t kTasks = 3000;
    test::WrittenRecording file(1);
    for (uint32_t i = 1; i <= kTasks; ++i) file.Begin(0, i, 5, i, "a");
    for (uint32_t i = 0; i < kTasks; ++i) {
        file.Switch(0, kTasks + 1 + 2 * i, 5, 6);
        file.Switch(0, kTasks + 2 + 2 * i, 6, 5);
    }
    const Timeline timeline = Build(file);
    CHECK(timeline.isCoarse);
    CHECK(timeline.slices.size() < 9 * 3 * kTasks);
    CHECK(timeline.tasks.size() == kTasks);
}

TEST_CASE("edges for viewers are balanced and ordered, also for items that overlap", "[timeline]") {
    struct Item {
        int64_t begin, end;
        uint32_t depth;
    };
    const std::vector<Item> items = {{0, 10, 0}, {2, 20, 1}, {3, 4, 2}, {5, 6, 2},
                                     {8, 9, 0},  {8, 8, 1},  {9, 12, 5}};
    std::string text;
    int64_t last = 0;
    ForEachEdge(
        items, [](const Item &item) { return item.depth; },
        [&](size_t i, int64_t ns) {
            text += '(' + std::to_string(i);
            CHECK(ns >= last);
            last = ns;
        },
        [&](size_t i, int64_t ns) {
            text += std::to_string(i) + ')';
            CHECK(ns >= last);
            last = ns;
        });
    CHECK(text == "(0(1(22)(33)1)0)(4(5(66)5)4)");
}
