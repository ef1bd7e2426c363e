// Writes JSON for speedscope. Its schema is https://www.speedscope.app/file-format-schema.json.
#include "trace/export.h"
#include "trace/output.h"

#include <map>

namespace trace {

namespace {

class SpeedscopeWriter {
public:
    SpeedscopeWriter(const Timeline &timeline, std::ostream &out)
        : m_timeline(timeline), m_out(out) {}

    void Write() {
        const std::vector<std::vector<Slice>> slices = SlicesByActor(m_timeline);
        m_out << "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                 "\"exporter\":\"weft_trace\",\"name\":\"weft\",\"activeProfileIndex\":0,"
                 "\"profiles\":[";
        bool isFirst = true;
        for (uint32_t actor = 0; actor < m_timeline.actors; ++actor) {
            if (slices[actor].empty()) continue;
            m_out << (isFirst ? "\n" : ",\n");
            isFirst = false;
            WriteProfile(actor, slices[actor]);
        }
        m_out << "],\n\"shared\":{\"frames\":[";
        std::vector<const std::string *> names(m_frames.size());
        for (const auto &[name, frame] : m_frames) names[frame] = &name;
        for (size_t i = 0; i < names.size(); ++i)
            m_out << (i == 0 ? "" : ",") << "{\"name\":" << Quoted(*names[i]) << "}";
        m_out << "]}}\n";
    }

private:
    size_t FrameOf(const Slice &slice) {
        const std::string name =
            slice.task != kNone ? m_timeline.NameOfTask(slice.task) : "(asleep)";
        return m_frames.emplace(name, m_frames.size()).first->second;
    }

    void WriteProfile(uint32_t actor, const std::vector<Slice> &slices) {
        Print(m_out,
              "{\"type\":\"evented\",\"name\":%s,\"unit\":\"nanoseconds\",\"startValue\":%lld,"
              "\"endValue\":%lld,\"events\":[",
              Quoted(m_timeline.NameOfActor(actor)).c_str(),
              static_cast<long long>(m_timeline.from), static_cast<long long>(m_timeline.until));
        bool isFirst = true;
        const auto put = [&](char type, size_t i, int64_t ns) {
            Print(m_out, "%s{\"type\":\"%c\",\"frame\":%llu,\"at\":%lld}", isFirst ? "" : ",", type,
                  static_cast<unsigned long long>(FrameOf(slices[i])), static_cast<long long>(ns));
            isFirst = false;
        };
        ForEachEdge(
            slices, [](const Slice &slice) { return slice.depth; },
            [&](size_t i, int64_t ns) { put('O', i, ns); },
            [&](size_t i, int64_t ns) { put('C', i, ns); });
        m_out << "]}";
    }

    const Timeline &m_timeline;
    std::ostream &m_out;
    std::map<std::string, size_t> m_frames;
};

}  // namespace

void WriteSpeedscope(const Recording &, const Timeline &timeline, std::ostream &out) {
    SpeedscopeWriter(timeline, out).Write();
}

}  // namespace trace
