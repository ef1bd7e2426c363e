// Tests the timeline of recorded runs, and of the same recordings with their oldest events taken
// away.
#include "trace/timeline.h"

#include "platform/sanitizers.h"
#include "support/spin.h"
#include "support/threads.h"
#include "support/trace_log.h"
#include "trace/checked_timeline.h"
#include "trace/written_recording.h"
#include "weft/blocking/blocking_calls.h"
#include "weft/deferred.h"
#include "weft/frame/frame_pipeline.h"
#include "weft/sync/mutex.h"
#include "weft/time.h"
#include "weft/trace/marks.h"
#include "weft/trace/recorder.h"
#include "weft/trace/stack_meter.h"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <catch2/catch.hpp>

using namespace trace;
using namespace std::chrono_literals;

namespace {

constexpr size_t kRoom = 64 << 20;  // nothing is overwritten

// Calls what leaves events, so that every kind occurs.
void UseEverything(weft::TaskScheduler &it) {
    test::Marks leaves(200), pinned(20), later(3);
    weft::Mutex mutex(it);
    uint32_t sum = 0;
    test::Batch parents(16, [&](weft::TaskScheduler &inside, uint32_t i) {
        test::Marks own(8);
        inside.AddTasksAndWait(8, own.Tasks(), test::Named("child"));
        if (i % 4 == 0) inside.Yield();
        if (i % 4 == 1) weft::SleepFor(inside, 200us);
        const std::lock_guard<weft::Mutex> held(mutex);
        sum += own.Wrong();
    });
    weft::Counter all, hand(1);
    weft::NameCounter(it, &all, "all");
    it.AddTasks(200, leaves.Tasks(), &all, test::Named("leaf"));
    it.AddTasks(16, parents.Tasks(), &all, {weft::Priority::Normal, weft::kAnyWorker, "parent"});
    weft::TaskOptions here = test::Named("pinned");
    here.worker = 0;
    it.AddTasks(20, pinned.Tasks(), &all, here);
    weft::AddTaskAfter(it, &hand, 0, later[0], &all, test::Named("after"));
    weft::AddTaskAt(it, weft::Now() + 1ms, later[1], &all, test::Named("at"));
    weft::BlockingCalls calls(it);
    for (int i = 0; i < 3; ++i) calls.Run([] { std::this_thread::sleep_for(100us); });
    it.DecrementCounter(&hand);
    std::thread guest([&] {
        test::Marks marks(30);
        if (it.AttachThread() != weft::Status::Ok) return;
        it.AddTasksAndWait(30, marks.Tasks(), test::Named("guest"));
        weft::MarkFrame(it, 1);
        it.DetachThread();
    });
    std::thread outside([&] {
        weft::Counter counter;
        test::Marks marks(30);
        it.AddTasks(30, marks.Tasks(), &counter, test::Named("outside"));
        it.WaitForCounter(&counter);
        weft::MarkFrame(it, 2);
    });
    {
        const weft::ExternalWork work(it);
        weft::Counter joined(1);
        std::thread joiner([&] { guest.join(), outside.join(), it.DecrementCounter(&joined); });
        it.WaitForCounter(&joined);
        joiner.join();
    }
    it.WaitForCounter(&all);
    weft::FrameStage stage;
    stage.function = [](weft::TaskScheduler *scheduler, const weft::FrameParams &, void *) {
        test::Marks marks(4);
        scheduler->AddTasksAndWait(4, marks.Tasks(), test::Named("in a frame"));
    };
    weft::FramePipeline pipeline({}, 1, &stage, 1);
    pipeline.Run(&it, 10);
    weft::MarkFrame(it, 99);
}

uint32_t CountOf(const Timeline &timeline, const std::string &name) {
    uint32_t count = 0;
    for (const Task &task : timeline.tasks) count += timeline.names[task.name] == name;
    return count;
}

// What is left of a task's slices within a window, by its number and its worker.
using Pieces = std::map<std::pair<uint64_t, uint32_t>, std::vector<std::pair<int64_t, int64_t>>>;
Pieces PiecesIn(const Timeline &timeline, int64_t from, int64_t until) {
    Pieces pieces;
    for (const Slice &slice : timeline.slices) {
        if (slice.actor >= timeline.slots || slice.task == kNone) continue;
        const Task &task = timeline.tasks[slice.task];
        const int64_t begin = std::max(slice.begin, from), end = std::min(slice.end, until);
        if (task.kind == Task::Kind::Task && begin < end)
            pieces[{task.id, slice.actor}].emplace_back(begin, end);
    }
    return pieces;
}

}  // namespace

TEST_CASE("the timeline of a recorded run has every task, with its submission, and every wait",
          "[timeline]") {
    for (const uint32_t workers : {1u, 2u, 3u, 8u}) {
        for (const weft::IdlePolicy idle :
             {weft::IdlePolicy::Balanced, weft::IdlePolicy::Spin, weft::IdlePolicy::Sleep}) {
            INFO(workers << " workers, idle policy " << static_cast<int>(idle));
            weft::SchedulerOptions options = test::Options(workers, 160, idle);
            options.lockHolders = true;
            const Recording recording =
                test::ReadBytes(test::Record(options, kRoom, UseEverything));
            const Timeline timeline = BuildTimeline(recording);
            CHECK(test::WrongIn(timeline) == "");
            CHECK(test::MissingIn(timeline) == "");
            CHECK(CountOf(timeline, "leaf") == 200);
            CHECK(CountOf(timeline, "parent") == 16);
            CHECK(CountOf(timeline, "child") == 16 * 8);
            CHECK(CountOf(timeline, "pinned") == 20);
            CHECK(CountOf(timeline, "after") == 1);
            CHECK(CountOf(timeline, "at") == 1);
            CHECK(CountOf(timeline, "guest") == 30);
            CHECK(CountOf(timeline, "outside") == 30);
            CHECK(CountOf(timeline, "in a frame") == 40);
            CHECK(CountOf(timeline, "(attached thread's own code)") == 1);
            CHECK(timeline.frames.size() == 12);
            CHECK(timeline.counterNames.size() == 1);
            CHECK(!timeline.isCoarse);
            bool byDeadline = false;
            for (const Wait &wait : timeline.waits) byDeadline = byDeadline || wait.byDeadline;
            CHECK(byDeadline);
            REQUIRE(!timeline.ready.empty());
            CHECK(timeline.ready.back().value == 0);
            CHECK(timeline.running.back().value == 0);
            std::set<uint32_t> kinds;
            for (const Event &event : recording.events)
                kinds.insert(static_cast<uint32_t>(event.kind));
            // without StackUse and OffCpu; a Spin worker does not park
            CHECK(kinds.size() + 4 >= weft::kTraceKinds);
        }
    }
}

TEST_CASE("a timeline without the beginning of the recording is the end of the whole one",
          "[timeline]") {
    const std::string whole = test::Record(test::Options(3), kRoom, UseEverything);
    const Timeline all = BuildTimeline(test::ReadBytes(whole));
    uint32_t cuts = 0;  // some cut nothing, if a ring has few records before their time
    for (uint32_t tenths = 1; tenths < 10; ++tenths) {
        for (const bool onlyOne : {false, true}) {
            INFO(tenths << ' ' << onlyOne);
            const Timeline timeline =
                BuildTimeline(test::ReadBytes(test::WithoutOldest(whole, tenths, onlyOne)));
            CHECK(test::WrongIn(timeline) == "");
            CHECK(timeline.from >= all.from);
            cuts += timeline.from > all.from;
            CHECK(timeline.until == all.until);
            const Pieces expected = PiecesIn(all, timeline.from, timeline.until);
            const Pieces found = PiecesIn(timeline, timeline.from, timeline.until);
            // A task that did not end in the window, but began before it, may be missing.
            for (const auto &[key, pieces] : found) {
                INFO(key.first << " on " << key.second);
                const auto at = expected.find(key);
                REQUIRE(at != expected.end());
                CHECK(at->second == pieces);
            }
            uint32_t missing = 0;
            for (const auto &[key, pieces] : expected) missing += found.count(key) == 0;
            CHECK(missing == 0);
        }
    }
    CHECK(cuts >= 5);
}

TEST_CASE("a recorder that is far too small for a run: what is left is sound", "[timeline]") {
    for (const size_t room : {size_t{1} << 16, size_t{1} << 17, size_t{1} << 18}) {
        INFO(room);
        const Recording recording =
            test::ReadBytes(test::Record(test::Options(3), room, UseEverything));
        const Timeline timeline = BuildTimeline(recording);
        CHECK(test::WrongIn(timeline) == "");
    }
}

TEST_CASE("a recording that is written in the middle of a run is sound up to there", "[timeline]") {
    weft::SchedulerOptions options = test::Options(3);
    std::vector<unsigned char> memory(16 << 20);
    weft::Recorder recorder(memory.data(), memory.size());
    options.recorder = &recorder;
    test::Runner runner(options);
    // While one file is written, at most kBatchesPerFile batches run, which the rings can hold.
    constexpr uint32_t kFiles = 8, kBatchesPerFile = 12;
    std::vector<std::string> files;
    std::atomic<uint32_t> batches{0}, written{0};
    std::thread writer([&] {
        for (uint32_t i = 0; i < kFiles; ++i) {
            // The file is written while a batch runs that no earlier file saw.
            test::SpinUntil([&] { return batches.load() > i * kBatchesPerFile + 5; });
            files.push_back(test::FileOf(recorder));
            written.store(i + 1);
        }
    });
    CHECK(runner.Run([&](weft::TaskScheduler &it) {
        while (written.load() < kFiles) {
            test::SpinUntil(
                [&] { return batches.load() < (written.load() + 1) * kBatchesPerFile; });
            ++batches;
            test::Batch batch(50, [](weft::TaskScheduler &inside, uint32_t) {
                test::Marks marks(5);
                inside.AddTasksAndWait(5, marks.Tasks(), test::Named("child"));
                inside.Yield();
            });
            it.AddTasksAndWait(50, batch.Tasks(), test::Named("parent"));
        }
    }) == weft::Status::Ok);
    writer.join();
    for (const std::string &file : files) {
        const Timeline timeline = BuildTimeline(test::ReadBytes(file));
        CHECK(test::WrongIn(timeline) == "");
        CHECK(timeline.tasks.size() > 100);
        // Tasks nest three deep. If an event were missed, others would pile up on their fibers.
        uint32_t depth = 0;
        for (const Task &task : timeline.tasks) depth = std::max(depth, task.depth);
        CHECK(depth <= 2);
    }
}

TEST_CASE("StackMeter: each measurement is an event before the end of its task",
          "[stack_meter][timeline]") {
    const bool hasHook = GENERATE(true, false);
    weft::StackMeter meter(1);
    weft::SchedulerOptions options = test::Options(2);
    options.stackMeter = &meter;
    test::TraceLog log;
    if (hasHook) log.AttachTo(options, ~0u);
    test::Batch tasks(50, [](weft::TaskScheduler &, uint32_t) {
        volatile char room[9000];
        const volatile size_t first = 0;  // or the compiler leaves out the rest
        room[first] = 1;
        (void)room[first];
    });
    const Recording recording =
        test::ReadBytes(test::Record(options, 1 << 20, [&](weft::TaskScheduler &scheduler) {
            scheduler.AddTasksAndWait(50, tasks.Tasks(), test::Named("nine"));
        }));
    CHECK(recording.stackBytes == options.stackBytes);
    const Timeline timeline = BuildTimeline(recording);
    CHECK(test::WrongIn(timeline) == "");
#if defined(WEFT_ASAN)
    constexpr uint32_t kLeast = weft::StackMeter::kLeastBytes;  // it may keep variables elsewhere
#else
    constexpr uint32_t kLeast = 9000;
#endif
    uint32_t measured = 0;
    for (const Task &task : timeline.tasks) {
        if (timeline.names[task.name] != "nine") continue;
        ++measured;
        CHECK((task.stackBytes >= kLeast && task.stackBytes < 14000));
    }
    CHECK(measured == 50);
    uint32_t told = 0;
    for (const test::LoggedEvent &logged : log.Events(weft::TraceKind::StackUse)) {
        if (logged.task != "nine") continue;
        ++told;
        CHECK((logged.event.count >= kLeast && logged.event.count < 14000));
        CHECK(logged.event.taskId != 0);
    }
    CHECK(told == (hasHook ? 50 : 0));
}

TEST_CASE("tasks that end on another worker than they began on, followed by others at once",
          "[timeline]") {
    weft::SchedulerOptions options = test::Options(2);
    options.migrateAfterWait = true;
    constexpr uint32_t kTasks = 200;
    test::Batch tasks(kTasks, [](weft::TaskScheduler &inside, uint32_t) {
        weft::Counter gate(1);
        test::Batch open(1, [&](weft::TaskScheduler &on, uint32_t) { on.DecrementCounter(&gate); });
        inside.AddTask(open[0]);
        inside.WaitForCounter(&gate);
    });
    const Timeline timeline = BuildTimeline(
        test::ReadBytes(test::Record(options, kRoom, [&](weft::TaskScheduler &scheduler) {
            scheduler.AddTasksAndWait(kTasks, tasks.Tasks(), test::Named("moves"));
        })));
    CHECK(test::WrongIn(timeline) == "");
    CHECK(test::MissingIn(timeline) == "");
    uint32_t moved = 0, ended = 0;
    for (const Task &task : timeline.tasks) {
        if (timeline.names[task.name] != "moves") continue;
        ended += task.isEndKnown;
        moved += task.beginActor != task.endActor;
    }
    CHECK(ended == kTasks);
    CHECK(moved > 0);
}
