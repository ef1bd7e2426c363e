// Implements trace_file.h.
#include "trace/trace_file.h"

#include "trace/utf8.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <new>
#include <string_view>
#include <unordered_map>

namespace trace {

namespace {

using weft::TraceKind;

constexpr uint32_t kHeaderBytes = 64, kRecordBytes = 32, kRingBytes = 24, kSectionBytes = 8;
constexpr uint32_t kVersion = 2;
constexpr uint32_t kTaskNext = 63;  // the end of a task and the begin of the next one
constexpr uint32_t kText = 1, kRecords = 2, kEnd = 3, kRing = 4;  // kinds of sections
constexpr uint32_t kMoreOfSubmit = 64, kIsFunction = 128;         // in the second word of a record
constexpr uint32_t kMaxText = 255;

static_assert(static_cast<uint32_t>(TraceKind::Unlock) == 26 && weft::kTraceKinds == 27,
              "FORMAT.md numbers the kinds as TraceKind does");

// Numbers are little-endian in the file.
uint64_t Number(const unsigned char *from, uint32_t bytes) {
    uint64_t number = 0;
    for (uint32_t i = 0; i < bytes; ++i) number |= uint64_t{from[i]} << (8 * i);
    return number;
}

// Returns true for the control characters of Unicode, of one byte or two.
bool IsControl(std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    return first < 0x20 || first == 0x7f ||
           (first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
}

// Returns the text with an escape for each byte that is not valid UTF-8, and a question mark for
// each control character.
std::string Printable(const unsigned char *text, size_t bytes) {
    const std::string valid = ValidUtf8({reinterpret_cast<const char *>(text), bytes});
    std::string result;
    for (std::string_view left = valid; !left.empty();) {
        const std::string_view character = left.substr(0, LengthOfCharacter(left));
        if (IsControl(character))
            result += '?';
        else
            result += character;
        left.remove_prefix(character.size());
    }
    return result;
}

// Gives each text an index, and finds it by its address.
class Names {
public:
    explicit Names(std::vector<std::string> &names) : m_names(names) { names.assign(1, ""); }

    void Add(uint64_t address, std::string text) {
        m_byAddress.emplace(address, IndexOf(std::move(text)));
    }
    /// Returns the index for the last word of a record.
    uint32_t Find(uint64_t address, bool isFunction) {
        if (address == 0) return 0;
        const auto &map = isFunction ? m_functions : m_byAddress;
        const auto found = map.find(address);
        if (found != map.end()) return found->second;
        const uint32_t index = IndexOf(Hexadecimal(isFunction ? "function" : "name at", address));
        (isFunction ? m_functions : m_byAddress).emplace(address, index);
        return index;
    }

private:
    uint32_t IndexOf(std::string text) {
        const auto [at, isNew] =
            m_byText.emplace(std::move(text), static_cast<uint32_t>(m_names.size()));
        if (isNew) m_names.push_back(at->first);
        return at->second;
    }

    std::vector<std::string> &m_names;
    std::map<uint64_t, uint32_t> m_byAddress, m_functions;
    std::unordered_map<std::string, uint32_t> m_byText;
};

constexpr int64_t kSecond = 1000000000;
constexpr double kLatest = 9e15;  // ns; a double still has the exact number

// What the reader knows of a ring while it reads.
struct RingState {
    size_t submit = SIZE_MAX;    // index of the last event, if that was a Submit
    size_t begins = 0;           // events before this one are not used
    size_t last = SIZE_MAX;      // index of the last event
    int64_t before = INT64_MIN;  // time of the event before that
    int64_t lastNs = kUnknown;   // time of the last event, after all were read
    bool isDescribed = false;    // there was a section of kind 4
    // The number and the name of each task that runs on a fiber, the outermost first.
    std::unordered_map<uint32_t, std::vector<std::pair<uint64_t, uint32_t>>> running;
};

class Reader {
public:
    Reader(const unsigned char *data, size_t bytes, Recording &recording)
        : m_at(data), m_left(bytes), m_recording(recording), m_names(recording.names) {}

    Problem Read() {
        if (const Problem problem = ReadHeader(); !problem.empty()) return problem;
        while (ReadSection()) {
        }
        Order();
        FindWindow();
        Remark();
        return "";
    }

private:
    uint64_t Take(uint32_t bytes) {
        const uint64_t number = Number(m_at, bytes);
        Skip(bytes);
        return number;
    }
    void Skip(size_t bytes) {
        m_at += bytes;
        m_left -= bytes;
    }

    Problem ReadHeader() {
        if (m_left < 8 || std::memcmp(m_at, "WEFTRACE", 8) != 0) return "this is no recording";
        if (m_left < kHeaderBytes) return "the recording was cut off in its header";
        const unsigned char *header = m_at;
        const auto field = [=](uint32_t offset) {
            return static_cast<uint32_t>(Number(header + offset, 4));
        };
        if (field(8) != kVersion)
            return "the file has format " + std::to_string(field(8)) +
                   ", and this program reads format " + std::to_string(kVersion) +
                   (field(8) < kVersion ? ": record it again with weft 0.7 or later" : "");
        const uint32_t headerBytes = field(12), rings = field(20);
        if (headerBytes < kHeaderBytes || headerBytes > m_left || field(16) != kRecordBytes ||
            rings > kMaxRings)
            return "the header of the recording is damaged";
        m_recording.rings.resize(rings);
        m_states.resize(rings);
        m_recording.workers = std::min(field(24), m_recording.Slots());
        m_recording.fibers = field(28);
        m_start = Number(header + 32, 8);
        m_recording.nanosecondsAtStart = Number(header + 40, 8);
        const uint64_t bits = Number(header + 48, 8);
        double ticksPerMicrosecond = 0;
        std::memcpy(&ticksPerMicrosecond, &bits, sizeof bits);
        const bool isGood = ticksPerMicrosecond > 1e-3 && ticksPerMicrosecond < 1e6;
        m_nsPerTick = isGood ? 1000 / ticksPerMicrosecond : 1;
        m_recording.stackBytes = Number(header + 56, 8);
        if (rings == 0)
            m_recording.remarks.push_back("No scheduler has used the recorder.");
        else if (!isGood)
            m_recording.remarks.push_back("The clock rate is damaged. A tick is shown as 1 ns.");
        Skip(headerBytes);
        return "";
    }

    // Returns false at the end of the file.
    bool ReadSection() {
        if (m_left < kSectionBytes) return false;
        const uint32_t kind = static_cast<uint32_t>(Take(4));
        const uint32_t bytes = static_cast<uint32_t>(Take(4));
        const size_t there = std::min<size_t>(bytes, m_left);
        const bool isWhole = there == bytes;
        if (kind == kEnd) m_recording.isComplete = true;
        if (kind == kText && isWhole && bytes >= 8)
            m_names.Add(Number(m_at, 8), Printable(m_at + 8, std::min(bytes - 8, kMaxText)));
        if (kind == kRecords && there >= 4) ReadRecords(m_at, there);
        if (kind == kRing && isWhole && bytes >= kRingBytes) ReadRing(m_at);
        Skip(there);
        return isWhole && kind != kEnd;
    }

    void ReadRing(const unsigned char *at) {
        const uint64_t number = Number(at, 4);
        if (number >= m_recording.rings.size()) return void(++m_damaged);
        Ring &ring = m_recording.rings[number];
        RingState &state = m_states[number];
        // If the file goes on after a gap, what comes before the gap is of no use.
        ring.lost = Number(at + 8, 8);
        ring.isThere = true;
        ring.records = 0;
        state.begins = m_recording.events.size();
        state.submit = state.last = SIZE_MAX;
        state.before = INT64_MIN;
        state.running.clear();
        const int64_t ticks = static_cast<int64_t>(Number(at + 16, 8) - m_start);
        if (!state.isDescribed) ring.until = Nanoseconds(ticks);
        state.isDescribed = true;
    }

    void ReadRecords(const unsigned char *at, size_t bytes) {
        const uint64_t number = Number(at, 4);
        const size_t count = (bytes - 4) / kRecordBytes;
        if (number >= m_recording.rings.size()) return void(m_damaged += count);
        m_recording.rings[number].isThere = true;
        for (size_t i = 0; i < count; ++i)
            ReadRecord(static_cast<uint32_t>(number), at + 4 + i * kRecordBytes);
    }

    void ReadRecord(uint32_t number, const unsigned char *at) {
        RingState &state = m_states[number];
        const uint64_t second = Number(at + 8, 8);
        const uint32_t kind = second & (kMoreOfSubmit | 0x3f);
        const uint64_t a = Number(at + 16, 8), b = Number(at + 24, 8);
        const uint32_t other = static_cast<uint32_t>(second >> 32);
        ++m_recording.rings[number].records;
        if (kind == kMoreOfSubmit && state.submit != SIZE_MAX) {
            Event &submit = m_recording.events[state.submit];
            submit.counter = a;
            submit.priority = static_cast<weft::Priority>(std::min(other, 2u));
        }
        state.submit = SIZE_MAX;
        if (kind == kMoreOfSubmit) return;
        if (kind != kTaskNext && kind >= weft::kTraceKinds) return void(++m_otherKinds);
        Event event{};
        event.kind = kind == kTaskNext ? TraceKind::TaskBegin : static_cast<TraceKind>(kind);
        event.ns = static_cast<int64_t>(Number(at, 8) - m_start);  // ticks, for now
        const int64_t latest = state.isDescribed ? m_recording.rings[number].until + kSecond
                                                 : static_cast<int64_t>(kLatest);
        const int64_t ns = Nanoseconds(event.ns);
        if (ns < -kSecond || ns > latest) return void(++m_damaged);
        event.ring = number;
        event.fiber = second >> 8 & 0xffffff;
        event.other = other;
        const bool hasId = event.kind <= TraceKind::TaskEnd || event.kind == TraceKind::Submit ||
                           event.kind == TraceKind::CallBegin || event.kind == TraceKind::CallEnd ||
                           event.kind == TraceKind::StackUse;
        (hasId ? event.id : event.counter) = a;
        event.name = m_names.Find(b, (second & kIsFunction) != 0);
        if (kind == kTaskNext) {
            Event end = event;
            end.kind = TraceKind::TaskEnd;
            end.id = end.name = 0;
            Add(state, number, end);
        }
        Add(state, number, event);
    }

    // Adds an event. The end of a task whose record does not name it gets the name and the number
    // of the task that began last on its fiber.
    void Add(RingState &state, uint32_t number, Event event) {
        if (event.kind == TraceKind::TaskBegin)
            state.running[event.fiber].push_back({event.id, event.name});
        if (event.kind == TraceKind::TaskEnd) {
            auto &running = state.running[event.fiber];
            if (!running.empty() && event.id == 0 && event.name == 0) {
                event.id = running.back().first;
                event.name = running.back().second;
            }
            if (!running.empty()) running.pop_back();
        }
        const size_t index = m_recording.events.size();
        DropIfDamaged(state, number, event.ns);
        state.before = state.last != SIZE_MAX ? m_recording.events[state.last].ns : INT64_MIN;
        state.last = index;
        if (event.kind == TraceKind::Submit) state.submit = index;
        m_recording.events.push_back(event);
    }

    // Drops the last event of a worker if its time lies more than a second after those of its
    // neighbours. Otherwise one damaged time would move all events that follow.
    void DropIfDamaged(RingState &state, uint32_t number, int64_t ticks) {
        const bool isWorker = number < m_recording.Slots();
        if (!isWorker || state.last == SIZE_MAX || ticks < state.before) return;
        Event &last = m_recording.events[state.last];
        if (Nanoseconds(last.ns) - Nanoseconds(ticks) < kSecond) return;
        last.ring = kNone;
        last.ns = ticks;
        ++m_damaged;
    }

    int64_t Nanoseconds(int64_t ticks) const {
        const double ns = static_cast<double>(ticks) * m_nsPerTick;
        return static_cast<int64_t>(std::clamp(ns, -kLatest, kLatest));
    }

    // Merges the rings. In each ring the times must not go backwards: FORMAT.md says when they do.
    void Order() {
        std::vector<Event> &events = m_recording.events;
        size_t index = 0;
        const auto isUseless = [&](const Event &event) {
            const size_t at = index++;
            return event.ring == kNone || at < m_states[event.ring].begins;
        };
        // remove_if visits the events in their order
        events.erase(std::remove_if(events.begin(), events.end(), isUseless), events.end());
        std::vector<int64_t> newest(m_recording.rings.size(), INT64_MIN);
        for (Event &event : events)
            event.ns = newest[event.ring] = std::max(newest[event.ring], event.ns);
        std::stable_sort(events.begin(), events.end(),
                         [](const Event &a, const Event &b) { return a.ns < b.ns; });
        for (Event &event : events) {
            event.ns = Nanoseconds(event.ns);
            Ring &ring = m_recording.rings[event.ring];
            if (ring.lost != 0 && ring.from == kUnknown) ring.from = event.ns;
            m_states[event.ring].lastNs = event.ns;
        }
    }

    // Finds the time for which the events of all workers are there. A ring at whose end the file
    // was cut off does not count, because the window could become very short.
    void FindWindow() {
        const std::vector<Event> &events = m_recording.events;
        std::vector<Ring> &rings = m_recording.rings;
        int64_t &from = m_recording.from, &until = m_recording.until;
        size_t lastThere = SIZE_MAX;
        for (size_t i = 0; i < rings.size(); ++i) {
            if (rings[i].isThere) lastThere = i;
        }
        if (!m_recording.isComplete && lastThere != SIZE_MAX)
            rings[lastThere].until = m_states[lastThere].lastNs;
        if (events.empty()) return;
        from = std::min<int64_t>(0, events.front().ns);
        until = events.back().ns;
        for (size_t i = 0; i < m_recording.Slots(); ++i) {
            const Ring &ring = rings[i];
            // of a ring whose records were all overwritten meanwhile nothing is known before that
            from = std::max(from, ring.lost != 0 && ring.records == 0 ? ring.until : ring.from);
            const bool wasCut = !m_recording.isComplete && i == lastThere;
            if (ring.until != kUnknown && !wasCut) until = std::min(until, ring.until);
        }
        until = std::max(until, from);
    }

    void Remark() {
        std::vector<std::string> &remarks = m_recording.remarks;
        const std::vector<Ring> &rings = m_recording.rings;
        const auto missing = static_cast<size_t>(std::count_if(
            rings.begin(), rings.end(), [](const Ring &ring) { return !ring.isThere; }));
        if (!m_recording.isComplete) {
            std::string text = "The file was cut off.";
            if (missing != 0 && !rings.empty()) {
                text +=
                    " It has no events of " + std::to_string(missing) + " of " +
                    std::to_string(rings.size()) +
                    " rings. So tasks and waits may end too late or not at all, and the causes of "
                    "frames may be wrong.";
            }
            remarks.push_back(text);
        }
        const auto overwritten = static_cast<size_t>(std::count_if(
            rings.begin(), rings.end(), [](const Ring &ring) { return ring.lost != 0; }));
        if (overwritten != 0) {
            char text[160];
            std::snprintf(text, sizeof text,
                          "The oldest events of %zu of %zu rings were overwritten. The events of "
                          "all workers are there from %.3f ms on.",
                          overwritten, rings.size(), static_cast<double>(m_recording.from) * 1e-6);
            remarks.push_back(text);
        }
        if (!m_recording.events.empty() && m_recording.until <= m_recording.from &&
            overwritten != 0) {
            remarks.push_back(
                "There is no time of which the events of all workers are there. The recorder needs "
                "more memory.");
        }
        if (m_otherKinds != 0)
            remarks.push_back("Events left out because their kind is unknown: " +
                              std::to_string(m_otherKinds) + ".");
        if (m_damaged != 0)
            remarks.push_back(
                "Events left out because they are damaged: " + std::to_string(m_damaged) + ".");
    }

    const unsigned char *m_at;
    size_t m_left;
    Recording &m_recording;
    Names m_names;
    std::vector<RingState> m_states;
    uint64_t m_start = 0;
    double m_nsPerTick = 1;
    uint64_t m_damaged = 0, m_otherKinds = 0;
};

}  // namespace

std::string Hexadecimal(const char *what, uint64_t address) {
    char text[48];
    std::snprintf(text, sizeof text, "%s 0x%llx", what, static_cast<unsigned long long>(address));
    return text;
}

Problem Read(const void *data, size_t bytes, Recording *recording) {
    *recording = Recording();
    return Reader(static_cast<const unsigned char *>(data), bytes, *recording).Read();
}

Problem ReadFile(const std::string &path, Recording *recording) {
    std::FILE *const file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return path + ": cannot be opened";
    std::vector<unsigned char> data;
    Problem problem;
    try {
        size_t bytes = 0;
        do {
            data.resize(std::max<size_t>(2 * bytes, 1 << 16));
            bytes += std::fread(data.data() + bytes, 1, data.size() - bytes, file);
        } while (bytes == data.size());
        if (std::ferror(file) != 0) problem = "cannot be read";
        if (problem.empty()) problem = Read(data.data(), bytes, recording);
    } catch (const std::bad_alloc &) {
        problem = "needs more memory than there is";
    }
    std::fclose(file);
    return problem.empty() ? problem : path + ": " + problem;
}

const char *NameOf(TraceKind kind) {
    constexpr const char *kNames[] = {
        "TaskBegin",   "TaskEnd",   "FiberSwitch", "Submit",    "Wait",      "Resume",   "Park",
        "Unpark",      "Satisfied", "Ready",       "Increment", "Decrement", "Deadline", "Yield",
        "Wake",        "TakeInbox", "Attach",      "Detach",    "CallBegin", "CallEnd",  "Frame",
        "CounterName", "StackUse",  "OffCpu",      "LockWait",  "Lock",      "Unlock"};
    static_assert(std::size(kNames) == weft::kTraceKinds, "one for each kind");
    return kNames[static_cast<uint32_t>(kind)];
}

}  // namespace trace
