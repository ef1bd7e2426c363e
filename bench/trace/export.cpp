// What several formats need, and the format that is only text.
#include "trace/export.h"

#include "trace/output.h"

namespace trace {

std::vector<std::vector<Slice>> SlicesByActor(const Timeline &timeline) {
    std::vector<std::vector<Slice>> slices(timeline.actors);
    for (const Slice &slice : timeline.slices) slices[slice.actor].push_back(slice);
    return slices;
}

std::vector<Arrow> Arrows(const Timeline &timeline) {
    std::vector<Arrow> arrows;
    for (size_t i = 0; i < timeline.slices.size(); ++i) {
        const Slice &slice = timeline.slices[i];
        if (slice.task == kNone) continue;
        const uint32_t submission = slice.isFirst ? timeline.tasks[slice.task].submission : kNone;
        if (submission != kNone) {
            const Submission &from = timeline.submissions[submission];
            arrows.push_back({from.ns, from.actor, "submit", i});
        } else if (slice.wait != kNone && timeline.waits[slice.wait].readyActor != kNone) {
            const Wait &wait = timeline.waits[slice.wait];
            arrows.push_back({wait.ready, wait.readyActor, "release", i});
        }
    }
    return arrows;
}

namespace {

// Returns what Event::other says, or null if it says nothing.
const char *OtherOf(const Event &event) {
    using weft::TraceKind;
    switch (event.kind) {
        case TraceKind::TaskBegin:
        case TraceKind::TaskEnd:
            return event.other != kNone ? "stolen from worker" : nullptr;
        case TraceKind::FiberSwitch:
            return "to fiber";
        case TraceKind::Ready:
            return event.other != kNone ? "fiber" : nullptr;
        case TraceKind::Submit:
            return "count";
        case TraceKind::Wait:
        case TraceKind::Resume:
        case TraceKind::Satisfied:
            return "value";
        case TraceKind::Increment:
        case TraceKind::Decrement:
            return "by";
        case TraceKind::Wake:
            return "worker";
        case TraceKind::TakeInbox:
            return "count";
        case TraceKind::Frame:
            return "frame";
        case TraceKind::StackUse:
            return "bytes";
        case TraceKind::OffCpu:
            return "ns";
        default:
            return nullptr;
    }
}

void WriteEvent(const Recording &recording, const Event &event, std::ostream &out) {
    const bool isOutside = event.ring == recording.Slots();
    const bool isTask =
        event.kind <= weft::TraceKind::TaskEnd || event.kind == weft::TraceKind::Submit;
    Print(out, "%14.6f ms  %-6s %5u  %-11s", static_cast<double>(event.ns) * 1e-6,
          isOutside ? "thread" : "worker", isOutside ? event.fiber : event.ring,
          NameOf(event.kind));
    if (!isOutside && event.fiber != kThreadStack) Print(out, "  on fiber %u", event.fiber);
    if (event.id != 0)
        Print(out, isTask ? "  task %llu" : "  argument 0x%llx",
              static_cast<unsigned long long>(event.id));
    const bool isLock = event.kind >= weft::TraceKind::LockWait;
    if (event.counter != 0)
        Print(out, "  %s 0x%llx", isLock ? "lock" : "counter",
              static_cast<unsigned long long>(event.counter));
    if (event.kind == weft::TraceKind::FiberSwitch && (event.other & 0xffffff) == kThreadStack)
        out << "  to its thread's stack";
    else if (const char *const other = OtherOf(event))
        Print(out, "  %s %u", other, event.other);
    if (event.name != 0) out << "  " << recording.names[event.name];
    out << '\n';
}

}  // namespace

void WriteText(const Recording &recording, std::ostream &out) {
    for (const std::string &remark : recording.remarks) out << "note: " << remark << '\n';
    for (const Event &event : recording.events) WriteEvent(recording, event, out);
}

}  // namespace trace
