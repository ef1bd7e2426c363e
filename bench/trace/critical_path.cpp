// Implements critical_path.h.
#include "trace/critical_path.h"

#include <algorithm>
#include <map>

namespace trace {

namespace {

// Walks back from the end of a frame.
class Walk {
public:
    Walk(const Timeline &timeline, const Frame &frame)
        : m_timeline(timeline), m_from(frame.begin), m_actor(frame.actor), m_now(frame.end) {}

    std::vector<PathPart> Go() {
        while (m_now > m_from) Step();
        std::reverse(m_path.begin(), m_path.end());
        return std::move(m_path);
    }

private:
    // Goes back through one segment, and to what came before it.
    void Step() {
        const std::vector<Segment> &segments = m_timeline.segments[m_actor];
        const auto after =
            std::lower_bound(segments.begin(), segments.end(), m_now,
                             [](const Segment &segment, int64_t ns) { return segment.begin < ns; });
        if (after == segments.begin()) return Add(Idle::Unknown, kNone, m_from);
        const Segment &segment = *(after - 1);
        if (segment.end < m_now) AddGap(segment.end);
        if (m_now <= m_from) return;
        Add(Idle::None, segment.task, segment.begin);
        if (m_now <= m_from) return;
        const bool isFirst = after - 1 == segments.begin();
        const int64_t before = isFirst ? INT64_MIN : (after - 2)->end;
        if (segment.edge != Edge::None && segment.edgeNs > before) return Follow(segment);
        const Task &task = m_timeline.tasks[segment.task];
        if (task.kind == Task::Kind::Call && m_caller.actor != kNone && m_caller.ns < m_now &&
            m_caller.ns > before) {
            Add(Idle::Call, kNone, m_caller.ns);
            m_actor = m_caller.actor;
        } else if (isFirst) {
            Add(Idle::Unknown, kNone, m_from);
        } else {
            AddGap(before);
        }
    }

    // Goes on with the actor without which the segment could not have begun.
    void Follow(const Segment &segment) {
        AddGap(std::min(segment.edgeNs, m_now));
        m_caller = {};
        if (segment.wait != kNone) {
            const Wait &wait = m_timeline.waits[segment.wait];
            if (segment.edge == Edge::Deadline) {
                Add(Idle::Deadline, kNone, std::min(wait.begin, m_now));
                m_actor = wait.actor;
                return;
            }
            // If it waited for a blocking call, the call was submitted before the wait.
            m_caller = {wait.actor, wait.begin};
        }
        m_actor = segment.edgeActor;
    }

    // Nothing ran on the actor from `begin` to now.
    void AddGap(int64_t begin) {
        begin = std::max(begin, m_from);
        if (m_actor >= m_timeline.slots) return Add(Idle::Waking, kNone, begin);
        while (m_now > begin) {
            const Park *const park = LastBefore(m_timeline.parks[m_actor], begin);
            const OffCpu *const off = LastBefore(m_timeline.offCpu[m_actor], begin);
            if (park == nullptr && off == nullptr) return Add(Idle::Searching, kNone, begin);
            if (park == nullptr || (off != nullptr && off->end > park->end)) {
                Add(Idle::Searching, kNone, off->end);
                Add(Idle::OffCpu, kNone, std::max(off->begin, begin));
            } else {
                Add(Idle::Searching, kNone, park->end);
                const int64_t woken = park->woken != kUnknown ? park->woken : park->end;
                Add(Idle::Waking, kNone, std::max(woken, begin));
                Add(Idle::Asleep, kNone, std::max(park->begin, begin));
            }
        }
    }

    // Returns the last item that has begun before now and ends after `begin`, or null.
    template <class Item>
    const Item *LastBefore(const std::vector<Item> &items, int64_t begin) const {
        const auto after =
            std::lower_bound(items.begin(), items.end(), m_now,
                             [](const Item &item, int64_t ns) { return item.begin < ns; });
        return after != items.begin() && (after - 1)->end > begin ? &*(after - 1) : nullptr;
    }

    // Adds a part from `begin` to now, and goes back to `begin`.
    void Add(Idle idle, uint32_t task, int64_t begin) {
        begin = std::max(begin, m_from);
        if (begin >= m_now) return;
        m_path.push_back({idle, task, m_actor, begin, m_now});
        m_now = begin;
    }

    // Where a thread began to wait for a blocking call.
    struct Place {
        uint32_t actor = kNone;
        int64_t ns = 0;
    };

    const Timeline &m_timeline;
    const int64_t m_from;
    uint32_t m_actor;
    int64_t m_now;
    Place m_caller;
    std::vector<PathPart> m_path;  // the last part first
};

}  // namespace

const char *NameOf(Idle idle) {
    constexpr const char *kNames[] = {"",
                                      "a worker slept although there was work",
                                      "a worker was being woken",
                                      "a worker searched for work",
                                      "a thread was preempted, or blocked in the system",
                                      "a deadline",
                                      "a blocking call had not begun",
                                      "nothing of weft"};
    static_assert(sizeof kNames / sizeof *kNames == kIdles, "one for each");
    return kNames[static_cast<uint32_t>(idle)];
}

std::vector<PathPart> CriticalPath(const Timeline &timeline, const Frame &frame) {
    return Walk(timeline, frame).Go();
}

std::string NameOf(const Timeline &timeline, const Cause &cause) {
    if (cause.idle != Idle::None) return NameOf(cause.idle);
    const std::string &name = timeline.names[cause.name];
    return name.empty() ? "(no name)" : name;
}

namespace {

// Sums times by cause.
class Sums {
public:
    explicit Sums(const Timeline &timeline) : m_timeline(timeline) {}

    void Add(Idle idle, uint32_t task, int64_t ns) {
        const bool isTask = idle == Idle::None;
        const Cause cause{idle, isTask ? m_timeline.tasks[task].name : 0};
        CauseTime &time = m_byCause.emplace(cause, CauseTime{cause, 0, 0}).first->second;
        time.ns += ns;
        // a task may have several parts
        time.longest = std::max(time.longest, isTask ? m_byTask[task] += ns : ns);
    }
    std::vector<CauseTime> Sorted() const {
        std::vector<CauseTime> causes;
        for (const auto &[cause, time] : m_byCause) causes.push_back(time);
        std::stable_sort(causes.begin(), causes.end(),
                         [](const CauseTime &a, const CauseTime &b) { return a.ns > b.ns; });
        return causes;
    }

private:
    const Timeline &m_timeline;
    std::map<Cause, CauseTime> m_byCause;
    std::map<uint32_t, int64_t> m_byTask;
};

}  // namespace

std::vector<CauseTime> Causes(const Timeline &timeline, const std::vector<PathPart> &path) {
    Sums sums(timeline);
    for (const PathPart &part : path) sums.Add(part.idle, part.task, part.end - part.begin);
    return sums.Sorted();
}

std::vector<CauseTime> WorkIn(const Timeline &timeline, int64_t begin, int64_t end) {
    Sums sums(timeline);
    for (const std::vector<Segment> &segments : timeline.segments) {
        auto segment = std::lower_bound(segments.begin(), segments.end(), begin,
                                        [](const Segment &a, int64_t ns) { return a.end <= ns; });
        for (; segment != segments.end() && segment->begin < end; ++segment) {
            sums.Add(Idle::None, segment->task,
                     std::min(segment->end, end) - std::max(segment->begin, begin));
        }
    }
    return sums.Sorted();
}

}  // namespace trace
