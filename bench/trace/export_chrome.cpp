// Writes the JSON format of chrome://tracing.
#include "trace/export.h"
#include "trace/output.h"

namespace trace {

namespace {

// Tracks that are no actor.
constexpr const char *kFrames = "frames";

class ChromeWriter {
public:
    ChromeWriter(const Timeline &timeline, std::ostream &out) : m_timeline(timeline), m_out(out) {}

    void Write() {
        m_out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                 "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"weft\"}}";
        WriteNames();
        for (const Frame &frame : m_timeline.frames) {
            Begin("X", FrameTid(), frame.begin, "frame " + std::to_string(frame.number));
            m_out << ",\"dur\":" << Microseconds(frame.Length()) << "}";
        }
        for (const std::vector<Slice> &slices : SlicesByActor(m_timeline)) WriteSlices(slices);
        WriteArrows();
        WriteSteps("ready", m_timeline.ready);
        WriteSteps("running", m_timeline.running);
        m_out << "\n]}\n";
    }

private:
    uint32_t FrameTid() const { return m_timeline.actors; }

    // Writes an event up to its name. The caller ends it.
    void Begin(const char *phase, uint32_t tid, int64_t ns, const std::string &name) {
        Print(m_out, ",\n{\"ph\":\"%s\",\"pid\":1,\"tid\":%u,\"ts\":%s,\"name\":", phase, tid,
              Microseconds(ns).c_str());
        m_out << Quoted(name);
    }

    void WriteName(uint32_t tid, const std::string &name) {
        Print(m_out,
              ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"name\":\"thread_name\","
              "\"args\":{\"name\":%s}}",
              tid, Quoted(name).c_str());
        Print(m_out,
              ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"name\":\"thread_sort_index\","
              "\"args\":{\"sort_index\":%u}}",
              tid, tid == FrameTid() ? 0 : tid + 1);
    }
    void WriteNames() {
        std::vector<bool> isUsed(m_timeline.actors);
        for (const Slice &slice : m_timeline.slices) isUsed[slice.actor] = true;
        for (const Submission &submission : m_timeline.submissions) isUsed[submission.actor] = true;
        for (uint32_t actor = 0; actor < m_timeline.actors; ++actor) {
            if (isUsed[actor]) WriteName(actor, m_timeline.NameOfActor(actor));
        }
        if (!m_timeline.frames.empty()) WriteName(FrameTid(), kFrames);
    }

    // Complete events: a viewer nests them by their times.
    void WriteSlices(const std::vector<Slice> &slices) {
        std::vector<int64_t> begins(slices.size());
        const auto close = [&](size_t i, int64_t ns) {
            const Slice &slice = slices[i];
            const bool isTask = slice.task != kNone;
            Begin("X", slice.actor, begins[i],
                  isTask ? m_timeline.NameOfTask(slice.task) : "(asleep)");
            m_out << ",\"dur\":" << Microseconds(ns - begins[i]);
            if (isTask) {
                const Task &task = m_timeline.tasks[slice.task];
                Print(m_out, ",\"args\":{\"fiber\":%u,\"task\":\"%llu\",\"continued\":%s}",
                      task.fiber, static_cast<unsigned long long>(task.id),
                      slice.isFirst ? "false" : "true");
            }
            m_out << "}";
        };
        ForEachEdge(
            slices, [](const Slice &slice) { return slice.depth; },
            [&](size_t i, int64_t ns) { begins[i] = ns; }, close);
    }

    void WriteArrows() {
        uint32_t id = 0;
        for (const Arrow &arrow : Arrows(m_timeline)) {
            const Slice &slice = m_timeline.slices[arrow.slice];
            ++id;
            Begin("s", arrow.fromActor, arrow.fromNs, arrow.what);
            Print(m_out, ",\"cat\":\"%s\",\"id\":%u}", arrow.what, id);
            Begin("f", slice.actor, slice.begin, arrow.what);
            Print(m_out, ",\"cat\":\"%s\",\"id\":%u,\"bp\":\"e\"}", arrow.what, id);
        }
    }

    void WriteSteps(const char *name, const std::vector<Step> &steps) {
        for (const Step &step : steps) {
            Begin("C", 0, step.ns, name);
            Print(m_out, ",\"args\":{\"%s\":%lld}}", name, static_cast<long long>(step.value));
        }
    }

    const Timeline &m_timeline;
    std::ostream &m_out;
};

}  // namespace

void WriteChrome(const Recording &, const Timeline &timeline, std::ostream &out) {
    ChromeWriter(timeline, out).Write();
}

}  // namespace trace
