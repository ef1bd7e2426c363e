#include "trace/checked_timeline.h"

#include <sstream>

namespace test {

using trace::kNone;
using trace::kUnknown;
using trace::Timeline;

namespace {

// Collects the first few complaints.
class Complaints {
public:
    template <class... Parts>
    void Unless(bool isGood, const Parts &...parts) {
        if (isGood || ++m_count > 5) return;
        (m_text << ... << parts) << '\n';
    }
    std::string Text() const { return m_text.str(); }

private:
    uint32_t m_count = 0;
    std::ostringstream m_text;
};

void CheckSlices(const Timeline &timeline, Complaints &complaints) {
    std::vector<std::vector<const trace::Slice *>> open(timeline.actors);
    for (const trace::Slice &slice : timeline.slices) {
        if (slice.actor >= timeline.actors) {
            complaints.Unless(false, "a slice of no actor");
            continue;
        }
        complaints.Unless(slice.begin <= slice.end, "a slice ends before it begins");
        complaints.Unless(slice.begin >= timeline.from && slice.end <= timeline.until,
                          "a slice is outside of the window");
        if (slice.actor >= timeline.slots) continue;  // blocking calls: threads may share a number
        std::vector<const trace::Slice *> &stack = open[slice.actor];
        while (stack.size() > slice.depth) {
            complaints.Unless(stack.back()->end <= slice.begin, "slices overlap");
            stack.pop_back();
        }
        complaints.Unless(stack.size() == slice.depth, "a slice has the wrong depth");
        if (!stack.empty())
            complaints.Unless(slice.end <= stack.back()->end, "a slice outlasts the one around it");
        if (slice.task != kNone) {
            const trace::Task &task = timeline.tasks[slice.task];
            complaints.Unless(slice.begin >= task.begin && slice.end <= task.end,
                              "a slice outlasts its task: ", slice.begin, ' ', slice.end, " of ",
                              task.begin, ' ', task.end);
            complaints.Unless(slice.isFirst == (slice.begin == task.begin && task.isBeginKnown) ||
                                  task.kind != trace::Task::Kind::Task || !slice.isFirst,
                              "a slice is the first one, but begins later");
        }
        stack.push_back(&slice);
    }
}

void CheckSegments(const Timeline &timeline, Complaints &complaints) {
    std::vector<int64_t> runs(timeline.tasks.size());
    for (const std::vector<trace::Segment> &segments : timeline.segments) {
        int64_t end = INT64_MIN;
        for (const trace::Segment &segment : segments) {
            complaints.Unless(segment.begin >= end && segment.begin < segment.end,
                              "segments overlap");
            end = segment.end;
            const trace::Task &task = timeline.tasks[segment.task];
            complaints.Unless(segment.begin >= task.begin && segment.end <= task.end,
                              "a segment outlasts its task");
            const bool hasEdge = segment.edge != trace::Edge::None;
            complaints.Unless(!hasEdge || (segment.edgeNs <= segment.begin &&
                                           segment.edgeActor < timeline.actors),
                              "an edge comes later than its segment");
            runs[segment.task] += segment.end - segment.begin;
        }
    }
    for (size_t i = 0; i < runs.size(); ++i)
        complaints.Unless(runs[i] == timeline.tasks[i].run, "the run time of a task is wrong");
}

}  // namespace

std::string WrongIn(const Timeline &timeline) {
    Complaints complaints;
    for (const trace::Task &task : timeline.tasks) {
        complaints.Unless(task.begin <= task.end, "a task ends before it begins");
        complaints.Unless(task.begin >= timeline.from && task.end <= timeline.until,
                          "a task is outside of the window: ", task.begin, ' ', task.end);
        complaints.Unless(task.run <= task.end - task.begin, "a task ran longer than it lived");
        complaints.Unless(task.parent == kNone || task.parent < timeline.tasks.size(),
                          "a wrong parent");
    }
    for (const trace::Wait &wait : timeline.waits) {
        complaints.Unless(wait.begin <= wait.end, "a wait ends before it begins");
        complaints.Unless(
            wait.ready == kUnknown || (wait.begin <= wait.ready && wait.ready <= wait.end),
            "a wait is ended at the wrong time");
    }
    for (const std::vector<trace::Park> &parks : timeline.parks) {
        int64_t last = INT64_MIN;
        for (const trace::Park &park : parks) {
            complaints.Unless(last <= park.begin && park.begin <= park.end, "sleeps overlap");
            last = park.end;
            complaints.Unless(
                park.woken == kUnknown || (park.begin <= park.woken && park.woken <= park.end),
                "a sleep is ended at the wrong time");
        }
    }
    for (const trace::Frame &frame : timeline.frames)
        complaints.Unless(frame.begin <= frame.end, "a frame ends before it begins");
    CheckSlices(timeline, complaints);
    CheckSegments(timeline, complaints);
    return complaints.Text();
}

std::string MissingIn(const Timeline &timeline) {
    Complaints complaints;
    for (const trace::Task &task : timeline.tasks) {
        if (task.kind == trace::Task::Kind::Thread) continue;
        const std::string &name = timeline.names[task.name];
        complaints.Unless(task.isBeginKnown, "no begin of ", name);
        complaints.Unless(task.isEndKnown, "no end of ", name);
        complaints.Unless(task.run + task.waited <= task.end - task.begin, name,
                          " ran and waited longer than it lived");
        if (task.kind != trace::Task::Kind::Task) continue;
        if (task.id == 0 && name == "main") continue;  // nobody has submitted it
        complaints.Unless(task.submission != kNone, "no submission of ", name);
        if (task.submission == kNone) continue;
        const trace::Submission &submission = timeline.submissions[task.submission];
        complaints.Unless(submission.name == task.name, "another name than submitted");
        complaints.Unless(submission.ns <= task.begin, name, " begins before it is submitted");
    }
    for (const trace::Submission &submission : timeline.submissions)
        complaints.Unless(submission.begun == submission.count, submission.begun, " of ",
                          submission.count, " tasks begin: ", timeline.names[submission.name]);
    for (const trace::Wait &wait : timeline.waits) {
        complaints.Unless(wait.isOver, "a wait does not end");
        complaints.Unless(wait.actor >= timeline.slots || wait.ready != kUnknown,
                          "nothing has ended a wait");
    }
    return complaints.Text();
}

}  // namespace test
