// Implements summary.h.
#include "trace/summary.h"

#include "trace/output.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

namespace trace {

namespace {

// With fewer frames nothing is known of what is usual.
constexpr size_t kFewFrames = 8;

// The times of all causes, frame by frame.
class FrameTimes {
public:
    void Add(const std::vector<CauseTime> &times) {
        m_frames.emplace_back();
        for (const CauseTime &time : times) {
            m_frames.back().emplace(time.cause, time);
            m_all[time.cause].push_back(time.ns);
        }
    }
    /// Call it after the last Add. A frame without a cause counts as 0.
    void FindMedians() {
        for (auto &[cause, times] : m_all) {
            times.resize(m_frames.size(), 0);
            std::sort(times.begin(), times.end());
        }
    }
    const std::map<Cause, CauseTime> &Of(size_t frame) const { return m_frames[frame]; }

    Compared Compare(size_t frame, const Cause &cause) const {
        const auto here = m_frames[frame].find(cause);
        const auto all = m_all.find(cause);
        Compared compared{here != m_frames[frame].end() ? here->second.ns : 0, kUnknown};
        if (m_frames.size() >= kFewFrames)
            compared.usual = all != m_all.end() ? Percentile(all->second, 50) : 0;
        return compared;
    }
    int64_t Longest(size_t frame, const Cause &cause) const {
        const auto here = m_frames[frame].find(cause);
        return here != m_frames[frame].end() ? here->second.longest : 0;
    }

private:
    std::vector<std::map<Cause, CauseTime>> m_frames;
    std::map<Cause, std::vector<int64_t>> m_all;
};

// Why frames took so long.
class Explainer {
public:
    explicit Explainer(const Timeline &timeline) : m_timeline(timeline) {
        for (const Frame &frame : timeline.frames) {
            m_paths.Add(Causes(timeline, CriticalPath(timeline, frame)));
            m_work.Add(WorkIn(timeline, frame.begin, frame.end));
        }
        m_paths.FindMedians();
        m_work.FindMedians();
    }

    LateFrame Explain(size_t frame) const {
        std::set<Cause> causes;
        for (const auto &[cause, time] : m_paths.Of(frame)) causes.insert(cause);
        if (m_timeline.frames.size() >= kFewFrames)
            for (const auto &[cause, time] : m_work.Of(frame)) causes.insert(cause);
        Cause first{Idle::Unknown, 0};
        double most = -1e300;
        for (const Cause &cause : causes) {
            const double lengthened = Lengthened(frame, cause);
            if (lengthened <= most) continue;
            most = lengthened;
            first = cause;
        }
        const FrameTimes &times = first.idle == Idle::None ? m_work : m_paths;
        return {m_timeline.frames[frame], first, m_paths.Compare(frame, first),
                m_work.Compare(frame, first), times.Longest(frame, first)};
    }

private:
    // Returns by how much the cause has lengthened the frame: see LateFrame.
    double Lengthened(size_t frame, const Cause &cause) const {
        const Compared path = m_paths.Compare(frame, cause), work = m_work.Compare(frame, cause);
        if (path.usual == kUnknown) return static_cast<double>(path.ns);
        const auto onPath = static_cast<double>(path.ns - path.usual);
        if (cause.idle != Idle::None) return onPath;
        const auto longer = static_cast<double>(work.ns - work.usual);
        const double both = std::max(std::min(onPath, longer), 0.0);
        return both + (longer - both) / std::max(m_timeline.workers, 1u);
    }

    const Timeline &m_timeline;
    FrameTimes m_paths, m_work;
};

std::vector<TaskRow> TaskRows(const Timeline &timeline) {
    struct Times {
        std::vector<int64_t> runs, queued;
        int64_t longestWait = 0;
        uint32_t stackBytes = 0;
    };
    std::map<uint32_t, Times> byName;
    for (const Task &task : timeline.tasks) {
        const bool isShown = task.kind == Task::Kind::Task || task.kind == Task::Kind::Call;
        if (!isShown || !task.isBeginKnown || !task.isEndKnown) continue;
        Times &times = byName[task.name];
        times.runs.push_back(task.run);
        times.longestWait = std::max(times.longestWait, task.longestWait);
        times.stackBytes = std::max(times.stackBytes, task.stackBytes);
        if (task.submission == kNone) continue;
        const Submission &submission = timeline.submissions[task.submission];
        times.queued.push_back(std::max<int64_t>(task.begin - submission.ns, 0));
    }
    std::vector<TaskRow> rows;
    for (auto &[name, times] : byName) {
        std::sort(times.runs.begin(), times.runs.end());
        std::sort(times.queued.begin(), times.queued.end());
        TaskRow row{name, times.runs.size(), 0,        0,        0,
                    0,    times.longestWait, kUnknown, kUnknown, times.stackBytes};
        for (const int64_t run : times.runs) row.total += run;
        row.p50 = Percentile(times.runs, 50);
        row.p99 = Percentile(times.runs, 99);
        row.max = times.runs.back();
        if (!times.queued.empty()) {
            row.queued50 = Percentile(times.queued, 50);
            row.queued99 = Percentile(times.queued, 99);
        }
        rows.push_back(row);
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const TaskRow &a, const TaskRow &b) { return a.total > b.total; });
    return rows;
}

std::vector<LockRow> LockRows(const Timeline &timeline) {
    struct Waits {
        uint64_t count = 0;
        int64_t total = 0, max = 0;
        std::map<uint32_t, int64_t> byHolder;
    };
    std::map<uint64_t, Waits> byLock;
    for (const Wait &wait : timeline.waits) {
        if (wait.lock == 0 || wait.holder == kNone) continue;
        Waits &waits = byLock[wait.lock];
        const int64_t length = wait.end - wait.begin;
        ++waits.count;
        waits.total += length;
        waits.max = std::max(waits.max, length);
        waits.byHolder[timeline.tasks[wait.holder].name] += length;
    }
    std::vector<LockRow> rows;
    for (const auto &[lock, waits] : byLock) {
        const auto longest =
            std::max_element(waits.byHolder.begin(), waits.byHolder.end(),
                             [](const auto &a, const auto &b) { return a.second < b.second; });
        rows.push_back({lock, waits.count, waits.total, waits.max, longest->first});
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const LockRow &a, const LockRow &b) { return a.total > b.total; });
    return rows;
}

std::vector<WorkerRow> WorkerRows(const Timeline &timeline) {
    std::vector<WorkerRow> rows;
    for (uint32_t slot = 0; slot < timeline.slots; ++slot) {
        const std::vector<Segment> &segments = timeline.segments[slot];
        const std::vector<Park> &parks = timeline.parks[slot];
        if (slot >= timeline.workers && segments.empty() && parks.empty()) continue;
        WorkerRow row{slot, 0, timeline.until - timeline.from, 0, 0, 0};
        for (const Segment &segment : segments) row.busy += segment.end - segment.begin;
        for (const Park &park : parks) {
            row.asleep += park.end - park.begin;
            row.asleepWithWork += timeline.TimeWithWork(park.begin, park.end);
        }
        for (const OffCpu &off : timeline.offCpu[slot]) row.offCpu += off.end - off.begin;
        row.searching = std::max<int64_t>(row.searching - row.busy - row.asleep - row.offCpu, 0);
        rows.push_back(row);
    }
    return rows;
}

double Ms(int64_t ns) { return static_cast<double>(ns) * 1e-6; }
double Us(int64_t ns) { return static_cast<double>(ns) * 1e-3; }
double KiB(uint64_t bytes) { return static_cast<double>(bytes) / 1024; }

void PrintFrames(const Timeline &timeline, int64_t budget, const Summary &summary,
                 std::ostream &out) {
    if (summary.frames.empty()) {
        out << "\nno frames: mark them with weft::MarkFrame, or use a FramePipeline\n";
        return;
    }
    Print(out, "\n%llu frames: p50 %.3f, p95 %.3f, p99 %.3f, max %.3f ms\n",
          static_cast<unsigned long long>(summary.frames.size()),
          Ms(Percentile(summary.frames, 50)), Ms(Percentile(summary.frames, 95)),
          Ms(Percentile(summary.frames, 99)), Ms(summary.frames.back()));
    if (budget != 0) {
        Print(out, "%llu over the budget of %.3f ms\n",
              static_cast<unsigned long long>(summary.over), Ms(budget));
    }
    constexpr size_t kMost = 20;
    for (size_t i = 0; i < summary.late.size() && i < kMost; ++i) {
        const LateFrame &late = summary.late[i];
        const auto print = [&](const Compared &compared) {
            Print(out, "%.3f ms", Ms(compared.ns));
            if (compared.usual != kUnknown) Print(out, " (usually %.3f)", Ms(compared.usual));
        };
        Print(out, "  frame %u took %.3f ms: %s, ", late.frame.number, Ms(late.frame.Length()),
              NameOf(timeline, late.cause).c_str());
        print(late.onPath);
        out << " on the critical path";
        if (late.cause.idle == Idle::None) {
            out << ", ";
            print(late.run);
            Print(out, " in all, longest %.3f", Ms(late.longest));
        }
        out << '\n';
    }
    if (summary.late.size() > kMost)
        Print(out, "  and %llu more\n",
              static_cast<unsigned long long>(summary.late.size() - kMost));
}

// Says so if the tasks of a name use most of their stack.
void Advise(const Timeline &timeline, const TaskRow &row, std::ostream &out) {
    if (row.stackBytes <= timeline.stackBytes / 4 * 3) return;
    Print(out,
          "advice: tasks `%s` use %.1f of %.0f KiB of stack: raise SchedulerOptions::stackBytes\n",
          timeline.names[row.name].c_str(), KiB(row.stackBytes), KiB(timeline.stackBytes));
}

void PrintTasks(const Timeline &timeline, const Summary &summary, std::ostream &out) {
    if (summary.tasks.empty()) return;
    const bool hasStacks = std::any_of(summary.tasks.begin(), summary.tasks.end(),
                                       [](const TaskRow &row) { return row.stackBytes != 0; });
    Print(out, "\n%-28s %9s %11s %9s %9s %9s %9s %10s %10s%s\n", "tasks (us)", "count", "total",
          "p50", "p99", "max", "wait max", "queued p50", "queued p99",
          hasStacks ? "  stack (KiB)" : "");
    for (const TaskRow &row : summary.tasks) {
        const std::string &name = timeline.names[row.name];
        Print(out, "%-28s %9llu %11.1f %9.1f %9.1f %9.1f %9.1f",
              name.empty() ? "(no name)" : name.c_str(), static_cast<unsigned long long>(row.count),
              Us(row.total), Us(row.p50), Us(row.p99), Us(row.max), Us(row.longestWait));
        if (row.queued50 != kUnknown)
            Print(out, " %10.1f %10.1f", Us(row.queued50), Us(row.queued99));
        else
            Print(out, " %10s %10s", "?", "?");
        if (row.stackBytes != 0)
            Print(out, " %5.1f of %.0f", KiB(row.stackBytes), KiB(timeline.stackBytes));
        out << '\n';
    }
    for (const TaskRow &row : summary.tasks) Advise(timeline, row, out);
}

void PrintLocks(const Timeline &timeline, const Summary &summary, std::ostream &out) {
    if (summary.locks.empty()) return;
    constexpr size_t kMost = 20;
    Print(out, "\n%-28s %9s %11s %9s  %s\n", "waits for locks (us)", "count", "total", "max",
          "held the longest by");
    for (size_t i = 0; i < summary.locks.size() && i < kMost; ++i) {
        const LockRow &row = summary.locks[i];
        const std::string &holder = timeline.names[row.holder];
        Print(out, "%-28s %9llu %11.1f %9.1f  %s\n", Hexadecimal("lock", row.lock).c_str(),
              static_cast<unsigned long long>(row.count), Us(row.total), Us(row.max),
              holder.empty() ? "(no name)" : holder.c_str());
    }
    if (summary.locks.size() > kMost)
        Print(out, "and %llu more\n",
              static_cast<unsigned long long>(summary.locks.size() - kMost));
}

void PrintWorkers(const Timeline &timeline, const Summary &summary, std::ostream &out) {
    const double length = static_cast<double>(timeline.until - timeline.from);
    if (summary.workers.empty() || length <= 0) return;
    Print(out, "\n%-28s %9s %11s %9s %20s %9s\n", "workers", "busy", "searching", "asleep",
          "asleep despite work", "off CPU");
    for (const WorkerRow &row : summary.workers) {
        const auto share = [&](int64_t ns) { return 100 * static_cast<double>(ns) / length; };
        Print(out, "%-28s %8.1f%% %10.1f%% %8.1f%% %19.1f%% %8.1f%%\n",
              timeline.NameOfActor(row.slot).c_str(), share(row.busy), share(row.searching),
              share(row.asleep), share(row.asleepWithWork), share(row.offCpu));
    }
}

// The frames in the middle of all frames, by length.
std::vector<size_t> MiddleFrames(const Timeline &timeline) {
    std::vector<size_t> frames(timeline.frames.size());
    for (size_t i = 0; i < frames.size(); ++i) frames[i] = i;
    std::stable_sort(frames.begin(), frames.end(), [&](size_t a, size_t b) {
        return timeline.frames[a].Length() < timeline.frames[b].Length();
    });
    const size_t count = frames.size(), outside = (count - std::min<size_t>(count, 1)) * 2 / 5;
    return {frames.begin() + static_cast<ptrdiff_t>(outside),
            frames.end() - static_cast<ptrdiff_t>(outside)};
}

// Adds the mean time of each cause in the frames in the middle.
void AddMeans(const Timeline &timeline, int64_t Difference::*side,
              std::map<std::string, Difference> &differences) {
    const std::vector<size_t> frames = MiddleFrames(timeline);
    std::map<Cause, int64_t> sums;
    for (const size_t frame : frames) {
        for (const CauseTime &time :
             Causes(timeline, CriticalPath(timeline, timeline.frames[frame])))
            sums[time.cause] += time.ns;
    }
    for (const auto &[cause, sum] : sums) {
        const std::string name = NameOf(timeline, cause);
        Difference &difference = differences.emplace(name, Difference{name, 0, 0}).first->second;
        difference.*side += sum / static_cast<int64_t>(frames.size());
    }
}

int64_t MedianFrame(const Timeline &timeline) {
    std::vector<int64_t> lengths;
    for (const Frame &frame : timeline.frames) lengths.push_back(frame.Length());
    std::sort(lengths.begin(), lengths.end());
    return Percentile(lengths, 50);
}

}  // namespace

int64_t Percentile(const std::vector<int64_t> &sorted, uint32_t percent) {
    if (sorted.empty()) return 0;
    return sorted[std::max<size_t>((sorted.size() * percent + 99) / 100, 1) - 1];
}

Summary Summarize(const Timeline &timeline, int64_t budget) {
    Summary summary;
    const Explainer explainer(timeline);
    std::vector<size_t> longest(timeline.frames.size());
    for (size_t i = 0; i < timeline.frames.size(); ++i) {
        longest[i] = i;
        summary.frames.push_back(timeline.frames[i].Length());
    }
    std::sort(summary.frames.begin(), summary.frames.end());
    std::stable_sort(longest.begin(), longest.end(), [&](size_t a, size_t b) {
        return timeline.frames[a].Length() > timeline.frames[b].Length();
    });
    for (const size_t i : longest) {
        const Frame &frame = timeline.frames[i];
        const bool isOver = budget != 0 && frame.Length() > budget;
        summary.over += isOver;
        if (isOver || (budget == 0 && summary.late.size() < 3))
            summary.late.push_back(explainer.Explain(i));
    }
    summary.tasks = TaskRows(timeline);
    summary.locks = LockRows(timeline);
    summary.workers = WorkerRows(timeline);
    return summary;
}

void PrintSummary(const Recording &recording, const Timeline &timeline, int64_t budget,
                  const Summary &summary, std::ostream &out) {
    Print(out, "%llu events of %.3f ms, %u workers\n",
          static_cast<unsigned long long>(recording.events.size()),
          Ms(timeline.until - timeline.from), recording.workers);
    for (const std::string &remark : recording.remarks) out << "note: " << remark << '\n';
    if (timeline.isCoarse)
        out << "note: Tasks are nested very deeply. Not all slices of the outer ones are shown.\n";
    PrintFrames(timeline, budget, summary, out);
    PrintTasks(timeline, summary, out);
    PrintLocks(timeline, summary, out);
    PrintWorkers(timeline, summary, out);
}

Comparison Compare(const Timeline &before, const Timeline &after) {
    Comparison comparison;
    comparison.before = MedianFrame(before);
    comparison.after = MedianFrame(after);
    std::map<std::string, Difference> differences;
    AddMeans(before, &Difference::before, differences);
    AddMeans(after, &Difference::after, differences);
    for (const auto &[name, difference] : differences) comparison.differences.push_back(difference);
    std::stable_sort(comparison.differences.begin(), comparison.differences.end(),
                     [](const Difference &a, const Difference &b) {
                         return std::abs(a.after - a.before) > std::abs(b.after - b.before);
                     });
    return comparison;
}

void PrintComparison(const Comparison &comparison, std::ostream &out) {
    if (comparison.before == 0 || comparison.after == 0)
        out << "A recording without frames cannot be compared: mark them with weft::MarkFrame.\n";
    Print(out, "%-44s %10s %10s %10s\n", "ms a frame", "before", "after", "change");
    const auto row = [&](const std::string &name, int64_t before, int64_t after) {
        Print(out, "%-44s %10.3f %10.3f %+10.3f\n", name.c_str(), Ms(before), Ms(after),
              Ms(after - before));
    };
    row("median frame", comparison.before, comparison.after);
    constexpr size_t kMost = 20;
    int64_t before = 0, after = 0;
    for (size_t i = 0; i < comparison.differences.size(); ++i) {
        const Difference &difference = comparison.differences[i];
        if (i < kMost) {
            row(difference.name, difference.before, difference.after);
        } else {
            before += difference.before;
            after += difference.after;
        }
    }
    if (comparison.differences.size() > kMost) row("(others)", before, after);
}

}  // namespace trace
