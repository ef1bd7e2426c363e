// Writes what the rings of a Recorder hold. bench/trace/FORMAT.md describes the file.
#include "weft/trace/recorder.h"

#include "core/trace_records.h"
#include "platform/file_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft {

using namespace internal;

namespace {

// Collects small pieces, so that `write` is called for a few kilobytes at a time.
class Output {
public:
    using Function = bool (*)(const void *data, size_t bytes, void *user);
    Output(Function function, void *user) noexcept : m_function(function), m_user(user) {}

    void Put(const void *data, size_t bytes) noexcept {
        const char *next = static_cast<const char *>(data);
        while (bytes != 0) {
            const size_t part = std::min(bytes, sizeof m_room - m_used);
            std::memcpy(m_room + m_used, next, part);
            m_used += part;
            next += part;
            bytes -= part;
            if (m_used == sizeof m_room) Flush();
        }
    }
    template <class T>
    void Put(const T &value) noexcept {
        Put(&value, sizeof value);
    }
    /// Returns false if a call of `write` has returned false.
    bool Flush() noexcept {
        if (m_used != 0 && m_good) m_good = m_function(m_room, m_used, m_user);
        m_used = 0;
        return m_good;
    }
    bool IsGood() const noexcept { return m_good; }

private:
    Function m_function;
    void *m_user;
    size_t m_used = 0;
    bool m_good = true;
    char m_room[4096];
};

// Calls visit(number, record) for the records of a ring before number `end` that are not
// overwritten meanwhile, oldest first.
template <class Visit>
void ForEachRecord(const TraceRing &ring, uint64_t end, Visit visit) noexcept {
    TraceRecord record;
    for (uint64_t i = end > ring.Capacity() ? end - ring.Capacity() : 0; i != end; ++i) {
        if (ring.Read(i, record)) visit(i, record);
    }
}

// Remembers the last texts that were written, so that few of them are written twice.
class Seen {
public:
    /// Returns true if the address is new, as far as is remembered.
    bool Add(uint64_t address) noexcept {
        uint64_t &place = m_addresses[(address * 0x9e3779b97f4a7c15u) >> (64 - kBits)];
        return std::exchange(place, address) != address;
    }

private:
    static constexpr uint32_t kBits = 9;
    uint64_t m_addresses[1u << kBits] = {};
};

void WriteText(Output &output, uint64_t address) noexcept {
    constexpr size_t kMaxText = 255;
    const char *text = reinterpret_cast<const char *>(address);
    size_t length = 0;
    while (length != kMaxText && text[length] != 0) ++length;
    output.Put(TraceSection{TraceSection::kText, static_cast<uint32_t>(sizeof address + length)});
    output.Put(address);
    output.Put(text, length);
}

// Writes the records of one ring.
class RingOutput {
public:
    RingOutput(Output &output, uint32_t ring) noexcept
        : m_output(output), m_ring(ring), m_ticks(env::Ticks()) {}

    /// `number`: of the record in this run.
    void Put(uint64_t number, const TraceRecord &record) noexcept {
        if (number != m_next || m_isFirst) PutBegin(number);
        m_next = number + 1;
        m_part[m_count++] = record;
        if (m_count == kPart) Send();
    }
    /// Call it at the end. `written`: how many records the ring had.
    void End(uint64_t written) noexcept {
        if (written != m_next || m_isFirst) PutBegin(written);
        Send();
    }

private:
    // Records are missing before this one: they have been overwritten.
    void PutBegin(uint64_t number) noexcept {
        Send();
        m_isFirst = false;
        m_output.Put(TraceSection{TraceSection::kRing, sizeof(TraceRingSection)});
        m_output.Put(TraceRingSection{m_ring, 0, number, m_ticks});
    }
    // The number of records in a section must be known before them. So they go out in parts.
    void Send() noexcept {
        if (m_count == 0) return;
        m_output.Put(TraceSection{TraceSection::kRecords,
                                  static_cast<uint32_t>(sizeof m_ring + m_count * sizeof *m_part)});
        m_output.Put(m_ring);
        m_output.Put(m_part, m_count * sizeof *m_part);
        m_count = 0;
    }

    static constexpr uint32_t kPart = 64;
    Output &m_output;
    const uint32_t m_ring;
    const uint64_t m_ticks;  // before the records are counted
    uint64_t m_next = 0;
    bool m_isFirst = true;
    uint32_t m_count = 0;
    TraceRecord m_part[kPart];
};

}  // namespace

Recorder::Recorder(void *memory, size_t bytes, const RecorderOptions &options) noexcept
    : m_memory(static_cast<unsigned char *>(memory)), m_bytes(bytes), m_options(options) {}

// Texts come before the records that need them: so a file that was cut off has the names of the
// records that it has.
bool Recorder::Write(bool (*write)(const void *data, size_t bytes, void *user),
                     void *user) noexcept {
    Output output(write, user);
    const TraceRings *rings = m_rings;
    output.Put(rings != nullptr ? rings->header : TraceFileHeader());
    if (rings == nullptr) return output.Flush();
    Seen seen;
    for (uint32_t i = 0; i < rings->header.rings; ++i) {
        const TraceRing &ring = rings->rings[i];
        ForEachRecord(ring, ring.Written(), [&](uint64_t, const TraceRecord &record) {
            const bool hasText = (record.words[1] & 0xff) < TraceRecords::kMoreOfSubmit;
            const uint64_t text = hasText ? record.words[3] : 0;
            if (text != 0 && seen.Add(text)) WriteText(output, text);
        });
    }
    for (uint32_t i = 0; i < rings->header.rings && output.IsGood(); ++i) {
        const TraceRing &ring = rings->rings[i];
        RingOutput ringOutput(output, i);
        const uint64_t end = ring.Written();
        ForEachRecord(ring, end, [&](uint64_t number, const TraceRecord &record) {
            ringOutput.Put(number, record);
        });
        ringOutput.End(end);
    }
    output.Put(TraceSection{TraceSection::kEnd, 0});
    return output.Flush();
}

bool Recorder::WriteFile(const char *path) noexcept {
    FileWriter file(path);
    const auto write = [](const void *data, size_t bytes, void *user) {
        return static_cast<FileWriter *>(user)->Write(data, bytes);
    };
    return file.IsOpen() && Write(write, &file);
}

}  // namespace weft
