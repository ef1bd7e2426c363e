// Tests critical paths, summaries and comparisons with made-up frames whose causes are known.
#include "trace/summary.h"

#include "trace/checked_timeline.h"
#include "trace/written_recording.h"

#include <functional>
#include <random>
#include <sstream>

#include <catch2/catch.hpp>

using namespace trace;
using weft::TraceKind;

namespace {

struct Built {
    explicit Built(const test::WrittenRecording &file)
        : recording(file.Read()), timeline(BuildTimeline(recording)) {
        CHECK(test::WrongIn(timeline) == "");
    }
    std::vector<std::string> PathOf(size_t frame) const {
        std::vector<std::string> texts;
        int64_t at = timeline.frames[frame].begin;
        for (const PathPart &part : CriticalPath(timeline, timeline.frames[frame])) {
            CHECK(part.begin == at);  // no gaps
            CHECK(part.end > part.begin);
            at = part.end;
            std::ostringstream text;
            text << (part.idle == Idle::None ? timeline.NameOfTask(part.task) : NameOf(part.idle))
                 << " on " << part.actor << ": " << (part.end - part.begin) / 1000.0;
            texts.push_back(text.str());
        }
        CHECK(at == timeline.frames[frame].end);
        return texts;
    }
    Recording recording;
    Timeline timeline;
};

using Texts = std::vector<std::string>;

// Frames on two workers: the main task submits "left" and "right" and waits; "left" runs on its
// worker, "right" on worker 1. The frame ends when both have ended.
class Frames {
public:
    explicit Frames(test::WrittenRecording &file) : m_file(file) {
        file.Submit(file.External(), m_now, 77, 1, 1, "main");
        file.Begin(0, m_now, 1, 1, "main");
        file.Frame(0, m_now, 1, 0);
    }

    /// Durations in microseconds. `late`: how late the sleeping worker 1 is woken.
    /// `extra`: how long a task "extra" runs on worker 1 before "right". `off`: how long worker 1
    /// is off its processor during "right".
    void Add(double left, double right, double late = 1, const char *rightName = "right",
             double extra = 0, double off = 0) {
        const uint64_t id = 100 + 2 * m_number++;
        const double t = m_now;
        m_file.Submit(0, t + 1, 1, 1, id, "left", 0x90);
        m_file.Submit(0, t + 2, 1, 1, id + 1, rightName, 0x90);
        m_file.Add(m_file.External(), t + 2 + late, TraceKind::Wake, 77, 1);
        m_file.Wait(0, t + 3, 1, 0x90);
        m_file.Switch(0, t + 3, 1, 2);
        m_file.Begin(0, t + 4, 2, id, "left");
        m_file.End(0, t + 4 + left, 2, id, "left");
        m_file.Add(1, t + 3 + late, TraceKind::Unpark, 3);
        const double rightBegin = t + 4 + late + extra;
        if (extra != 0) {
            m_file.Begin(1, t + 4 + late, 3, id + 100000, "extra");
            m_file.End(1, rightBegin, 3, id + 100000, "extra");
        }
        m_file.Begin(1, rightBegin, 3, id + 1, rightName, 0);
        const double rightEnd = rightBegin + right, leftEnd = t + 4 + left;
        if (off != 0)
            m_file.Add(1, rightEnd, TraceKind::OffCpu, 3, static_cast<uint32_t>(off * 1000));
        m_file.End(1, rightEnd, 3, id + 1, rightName);
        const double end = std::max(leftEnd, rightEnd);
        m_file.Ready(rightEnd > leftEnd ? 1 : 0, end, rightEnd > leftEnd ? 3 : 2, 1, 0x90);
        m_file.Add(1, end + 1, TraceKind::Park, 3);
        m_file.Switch(0, end + 2, 2, 1);
        m_file.Resume(0, end + 2, 1, 0x90);
        m_now = end + 5;
        m_file.Frame(0, m_now, 1, m_number);
    }
    void End() { m_file.End(0, m_now + 1, 1, 1, "main"); }

private:
    test::WrittenRecording &m_file;
    double m_now = 10;
    uint32_t m_number = 0;
};

Built BuildFrames(const std::function<void(Frames &)> &add) {
    test::WrittenRecording file(2);
    Frames frames(file);
    add(frames);
    frames.End();
    return Built(file);
}

std::string CauseOf(const Built &built, const LateFrame &late) {
    return NameOf(built.timeline, late.cause);
}

std::string Printed(const Built &built, int64_t budget) {
    std::ostringstream out;
    PrintSummary(built.recording, built.timeline, budget, Summarize(built.timeline, budget), out);
    return out.str();
}

}  // namespace

TEST_CASE("the critical path goes through the task that ended last", "[summary]") {
    const Built built = BuildFrames([](Frames &frames) {
        frames.Add(20, 10);
        frames.Add(10, 30);
        frames.Add(10, 30, 8);
    });
    REQUIRE(built.timeline.frames.size() == 3);
    const std::string searching = NameOf(Idle::Searching), asleep = NameOf(Idle::Asleep),
                      waking = NameOf(Idle::Waking);
    // the worker was busy with `main` until the wait
    CHECK(built.PathOf(0) == Texts{"main on 0: 3", searching + " on 0: 1", "left on 0: 20",
                                   searching + " on 0: 2", "main on 0: 3"});
    CHECK(built.PathOf(1) == Texts{"main on 0: 2", asleep + " on 1: 1", waking + " on 1: 1",
                                   searching + " on 1: 1", "right on 1: 30", searching + " on 0: 2",
                                   "main on 0: 3"});
    CHECK(built.PathOf(2) == Texts{"main on 0: 2", asleep + " on 1: 8", waking + " on 1: 1",
                                   searching + " on 1: 1", "right on 1: 30", searching + " on 0: 2",
                                   "main on 0: 3"});
}

TEST_CASE("the critical path goes through deadlines, other threads and blocking calls",
          "[summary]") {
    test::WrittenRecording file(1);
    const uint32_t external = file.External();
    file.Frame(external, 10, 77, 0);
    file.Submit(external, 12, 77, 1, 1, "a", 0x90);
    file.Wait(external, 13, 77, 0x90);
    file.Begin(0, 14, 1, 1, "a");
    file.Wait(0, 20, 1, 0x91);  // a sleep
    file.Switch(0, 20, 1, 2);
    file.Add(0, 31, TraceKind::Deadline, 2);
    file.Ready(0, 31, 2, 1, 0x91);
    file.Switch(0, 32, 2, 1);
    file.Resume(0, 32, 1, 0x91);
    file.Wait(0, 36, 1, 0x92);  // for a blocking call
    file.Switch(0, 36, 1, 2);
    file.Add(external, 40, TraceKind::CallBegin, 88, 0, 0x1234);
    file.Add(external, 50, TraceKind::CallEnd, 88, 0, 0x1234);
    file.Ready(external, 50, 88, 1, 0x92);
    file.Switch(0, 53, 2, 1);
    file.Resume(0, 53, 1, 0x92);
    file.End(0, 60, 1, 1, "a");
    file.Ready(0, 60, 1, kNone, 0x90);
    file.Resume(external, 64, 77, 0x90);
    file.Frame(external, 70, 77, 1);
    file.Frame(external, 80, 77, 2);
    const Built built{file};
    CHECK(built.PathOf(0) == Texts{"(other thread) on 1: 2", "a worker searched for work on 0: 2",
                                   "a on 0: 6", "a deadline on 0: 11",
                                   "a worker searched for work on 0: 1", "a on 0: 4",
                                   "a blocking call had not begun on 2: 4", "(no name) on 2: 10",
                                   "a worker searched for work on 0: 3", "a on 0: 7",
                                   "a worker was being woken on 1: 4", "(other thread) on 1: 6"});
    CHECK(built.PathOf(1) == Texts{"(other thread) on 1: 10"});
}

TEST_CASE("a release that comes after the end of a task does not make the task longer",
          "[summary]") {
    test::WrittenRecording file(2);
    file.Frame(0, 10, 1, 0);
    file.Begin(0, 10, 1, 1, "a");
    file.Wait(0, 11, 1, 0x90);
    file.Switch(0, 11, 1, 2);
    file.Begin(1, 5, 3, 2, "b");
    file.End(1, 20, 3, 2, "b");
    file.Ready(1, 24, 3, 1, 0x90);
    file.Switch(0, 25, 2, 1);
    file.Resume(0, 25, 1, 0x90);
    file.Frame(0, 30, 1, 1);
    const Built built{file};
    CHECK(built.PathOf(0) == Texts{"b on 1: 10", "a worker searched for work on 1: 4",
                                   "a worker searched for work on 0: 1", "a on 0: 5"});
}

TEST_CASE("a frame of which the events tell nothing", "[summary]") {
    test::WrittenRecording file(1);
    file.Frame(0, 10, 1, 0);
    file.Frame(0, 20, 1, 1);
    const Built built{file};
    CHECK(built.PathOf(0) == Texts{"nothing of weft on 0: 10"});
}

TEST_CASE("a task that is delayed in one of many frames is named in all of them", "[summary]") {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> duration(2000, 3000);  // microseconds
    std::uniform_real_distribution<double> delay(1500, 3000);
    std::vector<bool> isDelayed;
    std::vector<bool> isLeft;
    const Built built = BuildFrames([&](Frames &frames) {
        for (uint32_t i = 0; i < 400; ++i) {
            const bool isLate = i % 4 == 3, left = random() % 2 == 0;
            double durations[2] = {duration(random), duration(random)};
            if (isLate) durations[left ? 0 : 1] += delay(random);
            frames.Add(durations[0], durations[1]);
            isDelayed.push_back(isLate);
            isLeft.push_back(left);
        }
    });
    const Summary summary = Summarize(built.timeline, 3400 * 1000);
    CHECK(summary.frames.size() == 400);
    CHECK(summary.over == summary.late.size());
    CHECK(summary.over >= 95);
    for (const LateFrame &late : summary.late) {
        const size_t index = late.frame.number - 1;
        CHECK(isDelayed[index]);
        CHECK(CauseOf(built, late) == (isLeft[index] ? "left" : "right"));
        CHECK(late.run.ns == late.longest);
        CHECK(late.onPath.ns == late.longest);
    }
    for (size_t i = 1; i < summary.late.size(); ++i)
        CHECK(summary.late[i - 1].frame.Length() >= summary.late[i].frame.Length());
}

TEST_CASE("a worker that is woken late is the cause of a late frame", "[summary]") {
    const Built built = BuildFrames([](Frames &frames) {
        for (uint32_t i = 0; i < 20; ++i) frames.Add(10, 50, i == 7 ? 90 : 2);
    });
    const Summary summary = Summarize(built.timeline, 100 * 1000);
    REQUIRE(summary.late.size() == 1);
    const LateFrame &late = summary.late[0];
    CHECK(late.frame.number == 8);
    CHECK(late.cause.idle == Idle::Asleep);
    CHECK(late.onPath.ns == 90000);
    CHECK(late.onPath.usual == 2000);
    CHECK(late.run.ns == 0);
    CHECK(Printed(built, 100 * 1000)
              .find("frame 8 took 0.149 ms: a worker slept although there was work, 0.090 ms "
                    "(usually 0.002) "
                    "on the critical path\n") != std::string::npos);
}

TEST_CASE("extra work that kept the workers from other tasks is a cause, too", "[summary]") {
    // In frame 8 another task runs before "right". So the path goes through "right", for longer
    // than through the other task, although "right" takes no longer than usual.
    const Built built = BuildFrames([](Frames &frames) {
        for (uint32_t i = 0; i < 20; ++i) frames.Add(50, 40, 1, "right", i == 7 ? 15 : 0);
    });
    const Summary summary = Summarize(built.timeline, 60 * 1000);
    REQUIRE(summary.late.size() == 1);
    CHECK(CauseOf(built, summary.late[0]) == "extra");
    CHECK(summary.late[0].onPath.ns == 15000);
    CHECK(summary.late[0].run.ns == 15000);
    CHECK(summary.late[0].run.usual == 0);
    CHECK(summary.late[0].longest == 15000);
}

TEST_CASE("with few frames the longest time is the cause", "[summary]") {
    const Built built = BuildFrames([](Frames &frames) {
        frames.Add(10, 50);
        frames.Add(60, 50);
    });
    const Summary summary = Summarize(built.timeline, 0);
    REQUIRE(summary.late.size() == 2);
    CHECK(CauseOf(built, summary.late[0]) == "left");
    CHECK(CauseOf(built, summary.late[1]) == "right");
    CHECK(summary.late[0].onPath.usual == kUnknown);
    CHECK(summary.over == 0);
}

TEST_CASE("tasks by name: durations, waits and times in queues", "[summary]") {
    const Built built = BuildFrames([](Frames &frames) {
        for (uint32_t i = 1; i <= 100; ++i) frames.Add(i, 10);
    });
    const Summary summary = Summarize(built.timeline, 0);
    REQUIRE(summary.tasks.size() == 3);
    const auto row = [&](const char *name) {
        for (const TaskRow &task : summary.tasks) {
            if (built.timeline.names[task.name] == name) return task;
        }
        FAIL(name);
        return TaskRow{};
    };
    const TaskRow left = row("left");
    CHECK(left.count == 100);
    CHECK(left.total == 5050 * 1000);
    CHECK(left.p50 == 50 * 1000);
    CHECK(left.p99 == 99 * 1000);
    CHECK(left.max == 100 * 1000);
    CHECK(left.longestWait == 0);
    CHECK(left.queued50 == 3000);
    CHECK(left.queued99 == 3000);
    CHECK(row("right").total == 1000 * 1000);
    CHECK(row("main").longestWait == 103 * 1000);
    CHECK(row("main").queued50 == 0);
    for (size_t i = 1; i < summary.tasks.size(); ++i)
        CHECK(summary.tasks[i - 1].total >= summary.tasks[i].total);
}

TEST_CASE("workers: busy, searching, asleep, and asleep although something could begin",
          "[summary]") {
    const Built built = BuildFrames([](Frames &frames) { frames.Add(40, 10, 20); });
    const Summary summary = Summarize(built.timeline, 0);
    REQUIRE(summary.workers.size() == 2);
    const WorkerRow &first = summary.workers[0], &second = summary.workers[1];
    // The window has 0 to 62: main begins at 10, and ends at 60.
    CHECK(built.timeline.until == 60000);
    CHECK(first.busy == (3 + 40 + 4) * 1000);
    CHECK(first.asleep == 0);
    CHECK(first.searching == 60000 - first.busy);
    CHECK(second.busy == 10 * 1000);
    CHECK(second.asleep == 33000 + 5000);  // until it is woken, and from 55 to the end
    CHECK(second.asleepWithWork == (33 - 11 + 1) * 1000);  // main is ready from 54 to 56
}

TEST_CASE("a summary says what is missing, and prints names that are not there", "[summary]") {
    test::WrittenRecording file(1);
    file.AddRing(0, 10, 100);
    file.Begin(0, 5, 1, 1, nullptr);
    file.End(0, 6, 1, 1, nullptr);
    const Built built{file};
    const std::string text = Printed(built, 0);
    CHECK(text.find("note: The oldest events of 1 of 2 rings") != std::string::npos);
    CHECK(text.find("no frames: mark them") != std::string::npos);
    CHECK(text.find("\n(no name) ") != std::string::npos);
}

TEST_CASE("a comparison names what makes the median frame longer", "[summary]") {
    const auto build = [](double left, double right, double late, const char *name) {
        return BuildFrames([&](Frames &frames) {
            for (uint32_t i = 0; i < 41; ++i) {
                // the longest and the shortest frames do not count
                const double change = i < 10 ? 500 : i < 20 ? -40 : 0;
                frames.Add(left + change, right + change, late, name);
            }
        });
    };
    const Built before = build(50, 60, 2, "right");
    const Built slower = build(50, 90, 2, "right");
    const Built later = build(50, 60, 22, "right");
    const Built renamed = build(50, 60, 2, "other");

    const Comparison bySlower = Compare(before.timeline, slower.timeline);
    CHECK(bySlower.after - bySlower.before == 30000);
    REQUIRE(!bySlower.differences.empty());
    CHECK(bySlower.differences[0].name == "right");
    CHECK(bySlower.differences[0].after - bySlower.differences[0].before == 30000);
    for (size_t i = 1; i < bySlower.differences.size(); ++i)
        CHECK(bySlower.differences[i].after == bySlower.differences[i].before);

    const Comparison byLater = Compare(before.timeline, later.timeline);
    CHECK(byLater.differences[0].name == NameOf(Idle::Asleep));
    CHECK(byLater.differences[0].after - byLater.differences[0].before == 20000);

    const Comparison byName = Compare(before.timeline, renamed.timeline);
    CHECK(byName.after == byName.before);
    CHECK(byName.differences[0].after - byName.differences[0].before == 60000);
    CHECK(byName.differences[1].after - byName.differences[1].before == -60000);

    int64_t sum = 0;
    for (const Difference &difference : byLater.differences) sum += difference.after;
    CHECK(sum == byLater.after);

    std::ostringstream out;
    PrintComparison(bySlower, out);
    CHECK(out.str().find("right                                             0.060      0.090     "
                         "+0.030\n") != std::string::npos);
}

TEST_CASE("recordings without frames can be compared", "[summary]") {
    test::WrittenRecording file(1);
    const Built built{file};
    const Comparison comparison = Compare(built.timeline, built.timeline);
    CHECK(comparison.differences.empty());
    std::ostringstream out;
    PrintComparison(comparison, out);
    CHECK(out.str().find("without frames") != std::string::npos);
}

TEST_CASE("percentiles", "[summary]") {
    CHECK(Percentile({}, 50) == 0);
    CHECK(Percentile({7}, 1) == 7);
    CHECK(Percentile({1, 2}, 50) == 1);
    CHECK(Percentile({1, 2}, 51) == 2);
    CHECK(Percentile({1, 2, 3}, 100) == 3);
    CHECK(Percentile({1, 2, 3}, 0) == 1);
}

TEST_CASE("stacks: the most that the tasks of a name used, and advice", "[summary]") {
    test::WrittenRecording file(1);
    const uint32_t external = file.External();
    uint64_t number = 1;
    double us = 10;
    const auto add = [&](const char *name, uint32_t bytes) {
        file.Submit(external, us, 9, 1, number, name);
        file.Begin(0, us + 1, 5, number, name);
        if (bytes != 0) file.Add(0, us + 2, TraceKind::StackUse, 5, bytes, number, name);
        file.End(0, us + 2, 5, number, name);
        ++number;
        us += 10;
    };
    add("shallow", 2048);
    add("shallow", 3072);
    add("shallow", 0);
    add("three quarters", 48 << 10);
    add("deep", 50 << 10);
    add("deep", 2048);
    add("unknown", 0);
    const Built built{file};
    CHECK(built.recording.remarks.empty());
    const Summary summary = Summarize(built.timeline, 0);
    const auto row = [&](const std::string &name) {
        for (const TaskRow &task : summary.tasks) {
            if (built.timeline.names[task.name] == name) return task;
        }
        FAIL("no row " << name);
        return TaskRow{};
    };
    CHECK(row("shallow").stackBytes == 3072);
    CHECK(row("deep").stackBytes == 50 << 10);
    CHECK(row("unknown").stackBytes == 0);
    const std::string printed = Printed(built, 0);
    const auto says = [&](const std::string &text) {
        return printed.find(text) != std::string::npos;
    };
    CHECK(says("stack (KiB)\n"));
    CHECK(says("   3.0 of 64\n"));
    CHECK(says(
        "advice: tasks `deep` use 50.0 of 64 KiB of stack: raise SchedulerOptions::stackBytes\n"));
    CHECK(!says("`shallow` use"));
    CHECK(!says("`three quarters` use"));
}

TEST_CASE("a thread that was preempted is the cause of a late frame, and not its task",
          "[summary]") {
    const Built built = BuildFrames([](Frames &frames) {
        for (uint32_t i = 0; i < 20; ++i)
            frames.Add(10, i == 7 ? 90 : 30, 2, "right", 0, i == 7 ? 60 : 0);
    });
    const Summary summary = Summarize(built.timeline, 60 * 1000);
    REQUIRE(summary.late.size() == 1);
    const LateFrame &late = summary.late[0];
    CHECK(late.frame.number == 8);
    CHECK(late.cause.idle == Idle::OffCpu);
    CHECK(late.onPath.ns == 60000);
    CHECK(late.onPath.usual == 0);
    const Texts path = built.PathOf(7);
    CHECK(std::find(path.begin(), path.end(), "right on 1: 30") != path.end());
    CHECK(std::find(path.begin(), path.end(),
                    "a thread was preempted, or blocked in the system on 1: 60") != path.end());
    for (const Task &task : built.timeline.tasks) {
        if (built.timeline.names[task.name] == "right") CHECK(task.run == 30000);
    }
    CHECK(summary.workers[1].offCpu == 60000);
    CHECK(Printed(built, 60 * 1000)
              .find("ms: a thread was preempted, or blocked in the system, 0.060 ms (usually "
                    "0.000) on the critical path\n") != std::string::npos);
}

TEST_CASE("time off the processor in several parts, without a task, and longer than known",
          "[summary]") {
    test::WrittenRecording file(1);
    const uint32_t external = file.External();
    file.Frame(external, 0, 9, 1);
    file.Submit(external, 1, 9, 1, 10, "a");
    file.Add(0, 2, TraceKind::Unpark, 5);
    file.Add(0, 12, TraceKind::OffCpu, 5, 4000);  // while it looked for work
    file.Begin(0, 12, 5, 10, "a");
    file.Add(0, 20, TraceKind::OffCpu, 5, 5000);
    file.Submit(0, 20, 5, 1, 11, "b");
    file.Add(0, 30, TraceKind::OffCpu, 5, 99000);  // at most since the event before
    file.End(0, 30, 5, 10, "a");
    file.Frame(0, 31, 5, 2);
    const Built built{file};
    const Summary summary = Summarize(built.timeline, 0);
    REQUIRE(summary.tasks.size() == 1);
    CHECK(summary.tasks[0].total == 3000);
    REQUIRE(built.timeline.offCpu[0].size() == 3);
    CHECK(built.timeline.offCpu[0][0].begin == 8000);
    CHECK(built.timeline.offCpu[0][2].begin == 20000);
    const std::string off = "a thread was preempted, or blocked in the system on 0: ";
    const Texts path = built.PathOf(0);
    const Texts tail(path.end() - 4, path.end());
    CHECK(tail == Texts{"a on 0: 3", off + "5", off + "10", "a worker searched for work on 0: 1"});
    CHECK(std::find(path.begin(), path.end(), off + "4") != path.end());
}

TEST_CASE("waits for locks, and the tasks that held them", "[summary]") {
    constexpr uint64_t kLock = 0x80, kOther = 0x88;
    test::WrittenRecording file(2);
    const uint32_t external = file.External();
    file.Submit(external, 1, 9, 1, 10, "holder");
    file.Submit(external, 1, 9, 2, 11, "waiter");
    file.Begin(0, 2, 5, 10, "holder");
    file.Add(0, 2, TraceKind::LockWait, 5, 0, kLock);
    file.Add(0, 3, TraceKind::Lock, 5, 0, kLock);
    file.Begin(1, 4, 6, 11, "waiter");
    file.Add(1, 4, TraceKind::LockWait, 6, 0, kOther);
    file.Add(1, 5, TraceKind::LockWait, 6, 0, 0);  // it has given up
    file.Wait(1, 6, 6, 0x90);
    file.Resume(1, 7, 6, 0x90);
    file.Add(1, 8, TraceKind::LockWait, 6, 0, kLock);
    file.Wait(1, 9, 6, 0x98);
    file.Switch(1, 9, 6, 7);
    file.Begin(1, 10, 7, 12, "waiter");
    file.Add(1, 10, TraceKind::LockWait, 7, 0, kLock);
    file.Wait(1, 10, 7, 0x99);
    file.Add(0, 20, TraceKind::Unlock, 5, 0, kLock);
    file.Ready(0, 20, 5, 6, 0x98);
    file.End(0, 21, 5, 10, "holder");
    file.Switch(1, 22, 7, 6);
    file.Resume(1, 22, 6, 0x98);
    file.Add(1, 22, TraceKind::Lock, 6, 0, kLock);
    file.Add(0, 25, TraceKind::Unlock, 8, 0, kLock);  // another task
    file.Ready(0, 26, 8, 7, 0x99);
    file.End(1, 26, 6, 11, "waiter");
    file.Switch(1, 27, 6, 7);
    file.Resume(1, 27, 7, 0x99);
    file.Add(1, 27, TraceKind::Lock, 7, 0, kLock);
    file.Add(1, 28, TraceKind::Unlock, 7, 0, kLock);
    file.End(1, 28, 7, 12, "waiter");
    const Built built{file};
    std::vector<std::string> names;
    for (const Wait &wait : built.timeline.waits) names.push_back(built.timeline.NameOfWait(wait));
    CHECK(names == Texts{"counter 0x90", "lock 0x80, held by holder", "lock 0x80, held by holder"});
    const Summary summary = Summarize(built.timeline, 0);
    REQUIRE(summary.locks.size() == 1);
    CHECK(summary.locks[0].lock == kLock);
    CHECK(summary.locks[0].count == 2);
    CHECK(summary.locks[0].total == 30000);
    CHECK(summary.locks[0].max == 17000);
    CHECK(built.timeline.names[summary.locks[0].holder] == "holder");
    CHECK(Printed(built, 0).find("lock 0x80") != std::string::npos);
}
