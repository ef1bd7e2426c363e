// Writes the protobuf format of Perfetto. The numbers of the fields are those of its public schema,
// protos/perfetto/trace/trace_packet.proto and track_event/*.proto.
#include "trace/export.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace trace {

namespace {

// A message of protobuf's wire format.
class Message {
public:
    Message &Number(uint32_t field, uint64_t value) {
        Varint(uint64_t{field} << 3);
        Varint(value);
        return *this;
    }
    Message &Fixed64(uint32_t field, uint64_t value) {
        Varint(uint64_t{field} << 3 | 1);
        for (int i = 0; i < 8; ++i) m_bytes += static_cast<char>(value >> (8 * i));
        return *this;
    }
    Message &Text(uint32_t field, const std::string &text) {
        Varint(uint64_t{field} << 3 | 2);
        Varint(text.size());
        m_bytes += text;
        return *this;
    }
    Message &Part(uint32_t field, const Message &message) { return Text(field, message.m_bytes); }
    const std::string &Bytes() const { return m_bytes; }

private:
    void Varint(uint64_t value) {
        for (; value >= 0x80; value >>= 7) m_bytes += static_cast<char>(value | 0x80);
        m_bytes += static_cast<char>(value);
    }
    std::string m_bytes;
};

// Numbers of fields.
struct Trace {
    static constexpr uint32_t kPacket = 1;
};
struct Packet {
    static constexpr uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInternedData = 12,
                              kSequenceFlags = 13, kTrackDescriptor = 60;
    static constexpr uint64_t kStateCleared = 1, kNeedsState = 2;  // flags
};
struct Descriptor {
    static constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5,
                              kCounter = 8;
};
struct ProcessDescriptor {
    static constexpr uint32_t kPid = 1, kName = 6;
};
struct ThreadDescriptor {
    static constexpr uint32_t kPid = 1, kTid = 2, kName = 5;
};
struct TrackEvent {
    static constexpr uint32_t kAnnotation = 4, kType = 9, kNameIid = 10, kTrack = 11,
                              kCounterValue = 30, kFlow = 47, kLastOfFlow = 48;
    static constexpr uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;  // types
};
struct Annotation {
    static constexpr uint32_t kUnsigned = 3, kName = 10;
};
struct Interned {
    static constexpr uint32_t kEventNames = 2, kIid = 1, kName = 2;
};

constexpr uint64_t kPid = 1, kSequence = 1;

// Numbers of tracks.
constexpr uint64_t kProcessTrack = 1, kFrameTrack = 2, kReadyTrack = 3, kRunningTrack = 4;
uint64_t TrackOfActor(uint32_t actor) { return (uint64_t{1} << 32) + actor; }
uint64_t TrackOfFiber(uint32_t fiber) { return (uint64_t{2} << 32) + fiber; }

class PerfettoWriter {
public:
    PerfettoWriter(const Recording &recording, const Timeline &timeline, std::ostream &out)
        : m_recording(recording), m_timeline(timeline), m_out(out) {}

    void Write() {
        Message process;
        process.Number(ProcessDescriptor::kPid, kPid).Text(ProcessDescriptor::kName, "weft");
        Message descriptor;
        descriptor.Number(Descriptor::kUuid, kProcessTrack).Part(Descriptor::kProcess, process);
        Put(Message()
                .Part(Packet::kTrackDescriptor, descriptor)
                .Number(Packet::kSequenceFlags, Packet::kStateCleared));
        WriteFrames();
        WriteSteps(kReadyTrack, "ready", m_timeline.ready);
        WriteSteps(kRunningTrack, "running", m_timeline.running);
        WriteActors();
        WriteFibers();
    }

private:
    void Put(Message packet) {
        packet.Number(Packet::kSequence, kSequence);
        const std::string bytes = Message().Part(Trace::kPacket, packet).Bytes();
        m_out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }

    void Put(int64_t ns, const Message &event, const Message &interned = {}) {
        Message packet;
        const auto time = static_cast<uint64_t>(ns) + m_recording.nanosecondsAtStart;
        packet.Number(Packet::kTimestamp, static_cast<int64_t>(time) < 0 ? 0 : time);
        packet.Number(Packet::kSequenceFlags, Packet::kNeedsState);
        if (!interned.Bytes().empty()) packet.Part(Packet::kInternedData, interned);
        Put(packet.Part(Packet::kTrackEvent, event));
    }

    // A text that occurs often is written once, with a number.
    uint64_t IidOf(const std::string &name, Message &interned) {
        const auto [at, isNew] = m_iids.emplace(name, m_iids.size() + 1);
        if (isNew) {
            interned.Part(Interned::kEventNames,
                          Message().Number(Interned::kIid, at->second).Text(Interned::kName, name));
        }
        return at->second;
    }

    void Begin(uint64_t track, int64_t ns, const std::string &name, Message more = {},
               uint64_t type = TrackEvent::kBegin) {
        Message interned;
        more.Number(TrackEvent::kType, type)
            .Number(TrackEvent::kTrack, track)
            .Number(TrackEvent::kNameIid, IidOf(name, interned));
        Put(ns, more, interned);
    }
    void End(uint64_t track, int64_t ns) {
        Put(ns, Message()
                    .Number(TrackEvent::kType, TrackEvent::kEnd)
                    .Number(TrackEvent::kTrack, track));
    }

    void AddTrack(uint64_t track, const std::string &name, bool isCounter = false) {
        Message descriptor;
        descriptor.Number(Descriptor::kUuid, track).Number(Descriptor::kParent, kProcessTrack);
        descriptor.Text(Descriptor::kName, name);
        if (isCounter) descriptor.Part(Descriptor::kCounter, Message());
        Put(Message().Part(Packet::kTrackDescriptor, descriptor));
    }
    void AddThread(uint32_t actor) {
        Message thread;
        thread.Number(ThreadDescriptor::kPid, kPid)
            .Number(ThreadDescriptor::kTid, uint64_t{actor} + 2)  // 1 is the process
            .Text(ThreadDescriptor::kName, m_timeline.NameOfActor(actor));
        Message descriptor;
        descriptor.Number(Descriptor::kUuid, TrackOfActor(actor))
            .Number(Descriptor::kParent, kProcessTrack)
            .Part(Descriptor::kThread, thread);
        Put(Message().Part(Packet::kTrackDescriptor, descriptor));
    }

    static Message Note(const char *name, uint64_t value) {
        return Message().Text(Annotation::kName, name).Number(Annotation::kUnsigned, value);
    }

    void WriteFrames() {
        if (m_timeline.frames.empty()) return;
        AddTrack(kFrameTrack, "frames");
        for (const Frame &frame : m_timeline.frames) {
            Begin(kFrameTrack, frame.begin, "frame",
                  Message().Part(TrackEvent::kAnnotation, Note("number", frame.number)));
            End(kFrameTrack, frame.end);
        }
    }

    void WriteSteps(uint64_t track, const char *name, const std::vector<Step> &steps) {
        AddTrack(track, name, true);
        for (const Step &step : steps) {
            Put(step.ns, Message()
                             .Number(TrackEvent::kType, TrackEvent::kCounter)
                             .Number(TrackEvent::kTrack, track)
                             .Number(TrackEvent::kCounterValue, static_cast<uint64_t>(step.value)));
        }
    }

    // A slice with the number of the arrow that ends there.
    struct Item {
        Slice slice;
        uint64_t flow;  // 0: none
        int64_t begin, end;
    };

    void WriteActors() {
        std::vector<std::vector<Item>> items(m_timeline.actors);
        std::vector<uint64_t> flowOf(m_timeline.slices.size(), 0);
        std::vector<Arrow> arrows = Arrows(m_timeline);
        std::vector<std::vector<std::pair<Arrow, uint64_t>>> beginnings(m_timeline.actors);
        for (const Arrow &arrow : arrows) {
            const uint64_t flow = ++m_flows;
            flowOf[arrow.slice] = flow;
            beginnings[arrow.fromActor].push_back({arrow, flow});
        }
        for (size_t i = 0; i < m_timeline.slices.size(); ++i) {
            const Slice &slice = m_timeline.slices[i];
            items[slice.actor].push_back({slice, flowOf[i], slice.begin, slice.end});
        }
        std::vector<std::vector<const Wait *>> waits(m_timeline.actors);
        for (const Wait &wait : m_timeline.waits) {
            if (wait.actor >= m_timeline.slots) waits[wait.actor].push_back(&wait);
        }
        for (uint32_t actor = 0; actor < m_timeline.actors; ++actor) {
            if (items[actor].empty() && beginnings[actor].empty() && waits[actor].empty()) continue;
            AddThread(actor);
            WriteSlices(actor, items[actor]);
            WriteBeginnings(actor, beginnings[actor]);
            for (const Wait *wait : waits[actor]) WriteOutsideWait(actor, *wait);
        }
    }

    void WriteSlices(uint32_t actor, const std::vector<Item> &items) {
        const uint64_t track = TrackOfActor(actor);
        const auto open = [&](size_t i, int64_t ns) {
            const Slice &slice = items[i].slice;
            if (slice.task == kNone) return Begin(track, ns, "(asleep)");
            const Task &task = m_timeline.tasks[slice.task];
            Message event;
            if (items[i].flow != 0) event.Fixed64(TrackEvent::kLastOfFlow, items[i].flow);
            event.Part(TrackEvent::kAnnotation, Note("fiber", task.fiber));
            if (task.kind == Task::Kind::Task)
                event.Part(TrackEvent::kAnnotation, Note("task", task.id));
            if (slice.isFirst && task.stolenFrom < m_timeline.slots)
                event.Part(TrackEvent::kAnnotation, Note("stolen from worker", task.stolenFrom));
            Begin(track, ns, m_timeline.NameOfTask(slice.task), event);
        };
        ForEachEdge(
            items, [](const Item &item) { return item.slice.depth; }, open,
            [&](size_t, int64_t ns) { End(track, ns); });
    }

    // The arrows that begin at the same time begin at one instant.
    void WriteBeginnings(uint32_t actor, std::vector<std::pair<Arrow, uint64_t>> &beginnings) {
        std::stable_sort(beginnings.begin(), beginnings.end(), [](const auto &a, const auto &b) {
            return a.first.fromNs < b.first.fromNs;
        });
        for (size_t i = 0; i < beginnings.size();) {
            const Arrow &first = beginnings[i].first;
            Message event;
            for (; i < beginnings.size() && beginnings[i].first.fromNs == first.fromNs &&
                   beginnings[i].first.what == first.what;
                 ++i)
                event.Fixed64(TrackEvent::kFlow, beginnings[i].second);
            Begin(TrackOfActor(actor), first.fromNs, first.what, event, TrackEvent::kInstant);
        }
    }

    std::string NameOfWait(const Wait &wait) const {
        return "wait: " + m_timeline.NameOfWait(wait);
    }

    // Waits of threads that share a number may overlap. So each has a track of its own.
    void WriteOutsideWait(uint32_t actor, const Wait &wait) {
        const uint64_t track = (uint64_t{3} << 32) + ++m_waitTracks;
        Message descriptor;
        descriptor.Number(Descriptor::kUuid, track)
            .Number(Descriptor::kParent, TrackOfActor(actor))
            .Text(Descriptor::kName, "waits");
        Put(Message().Part(Packet::kTrackDescriptor, descriptor));
        Begin(track, wait.begin, NameOfWait(wait));
        End(track, wait.end);
    }

    // A task or a wait on the stack of a fiber.
    struct OnFiber {
        int64_t begin, end;
        uint32_t depth;
        uint32_t task, wait;
    };

    void WriteFibers() {
        std::map<uint32_t, std::vector<OnFiber>> fibers;
        for (uint32_t i = 0; i < m_timeline.tasks.size(); ++i) {
            const Task &task = m_timeline.tasks[i];
            if (task.kind == Task::Kind::Task || task.kind == Task::Kind::OwnCode)
                fibers[task.fiber].push_back({task.begin, task.end, task.depth, i, kNone});
        }
        for (uint32_t i = 0; i < m_timeline.waits.size(); ++i) {
            const Wait &wait = m_timeline.waits[i];
            if (wait.task == kNone || wait.actor >= m_timeline.slots) continue;
            const uint32_t depth = m_timeline.tasks[wait.task].depth + 1;
            fibers[wait.fiber].push_back({wait.begin, wait.end, depth, kNone, i});
        }
        for (auto &[fiber, items] : fibers) {
            std::stable_sort(items.begin(), items.end(), [](const OnFiber &a, const OnFiber &b) {
                return a.begin != b.begin ? a.begin < b.begin : a.depth < b.depth;
            });
            WriteFiber(fiber, items);
        }
    }

    void WriteFiber(uint32_t fiber, const std::vector<OnFiber> &items) {
        const uint64_t track = TrackOfFiber(fiber);
        AddTrack(track, "fiber " + std::to_string(fiber));
        const auto open = [&](size_t i, int64_t ns) {
            const OnFiber &item = items[i];
            if (item.task != kNone) return Begin(track, ns, m_timeline.NameOfTask(item.task));
            Begin(track, ns, NameOfWait(m_timeline.waits[item.wait]));
        };
        ForEachEdge(
            items, [](const OnFiber &item) { return item.depth; }, open,
            [&](size_t, int64_t ns) { End(track, ns); });
    }

    const Recording &m_recording;
    const Timeline &m_timeline;
    std::ostream &m_out;
    std::map<std::string, uint64_t> m_iids;
    uint64_t m_flows = 0, m_waitTracks = 0;
};

}  // namespace

void WritePerfetto(const Recording &recording, const Timeline &timeline, std::ostream &out) {
    PerfettoWriter(recording, timeline, out).Write();
}

}  // namespace trace
