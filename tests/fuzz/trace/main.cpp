// Damaged and made-up recordings for libFuzzer (see tests/fuzz.sh). The reader must refuse an input
// or read it, in memory of a size like that of the input. The timeline of what it reads must be
// sound, and it must be possible to export and to summarise it.
//
// An input whose first byte is even is a recording, behind this byte. Another input is a list of
// records and sections in a short form; so most of them are events that belong together. Then the
// second byte says where the recording is cut off.
#include "trace/checked_timeline.h"
#include "trace/export.h"
#include "trace/summary.h"

#include <cstdio>
#include <cstdlib>
#include <streambuf>

namespace {

[[noreturn]] void Fail(const std::string &what) {
    std::fprintf(stderr, "fuzz_trace: %s\n", what.c_str());
    std::abort();
}

// Counts what is written.
class Counted : public std::streambuf {
public:
    size_t bytes = 0;

protected:
    int_type overflow(int_type c) override {
        ++bytes;
        return c;
    }
    std::streamsize xsputn(const char *, std::streamsize count) override {
        bytes += static_cast<size_t>(count);
        return count;
    }
};

std::string Number(uint64_t number, uint32_t bytes) {
    std::string text;
    for (uint32_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
    return text;
}

std::string Section(uint32_t kind, const std::string &content) {
    return Number(kind, 4) + Number(content.size(), 4) + content;
}

// Two workers, an attached thread, and the ring of the others.
constexpr uint32_t kRings = 4;

std::string Header() {
    return "WEFTRACE" + Number(2, 4) + Number(64, 4) + Number(32, 4) + Number(kRings, 4) +
           Number(2, 4) + Number(6, 4) + Number(uint64_t{1} << 40, 8) + Number(0, 8) +
           Number(0x408f400000000000, 8) +  // 1000 ticks in a microsecond
           Number(512 << 10, 8);
}

// Makes a recording from the short form: eight bytes for a record or a section.
std::string Expand(const uint8_t *data, size_t bytes) {
    std::string file = Header();
    for (uint64_t name = 1; name < 5; ++name)
        file += Section(1, Number(name, 8) + static_cast<char>('a' + name));
    uint64_t ticks = uint64_t{1} << 40;
    for (; bytes >= 8; data += 8, bytes -= 8) {
        const uint32_t ring = data[0] % kRings;
        const bool isFar = data[7] >= 250;
        ticks += isFar ? uint64_t{data[6]} << (data[7] - 250) * 9 : data[6];
        if (data[7] == 249) ticks -= uint64_t{data[6]} * 100;
        if (data[1] == 255) {
            file +=
                Section(4, Number(ring, 4) + Number(0, 4) + Number(data[4], 8) + Number(ticks, 8));
            continue;
        }
        const uint32_t kind = data[1] >= 240 ? 64 : data[1] % 24;
        const uint32_t flag = data[5] & 0x80;  // the name is a function
        uint32_t fiber = data[2] % 10;
        if (fiber == 9) fiber = trace::kThreadStack;
        uint64_t other = data[3] % 16;
        if (data[3] == 255) other = trace::kNone;
        if (data[3] == 254) other = trace::kNone - 1;
        file += Section(2, Number(ring, 4) + Number(ticks, 8) +
                               Number(kind | flag | uint64_t{fiber} << 8 | other << 32, 8) +
                               Number(data[4], 8) + Number(data[5] % 6, 8));
    }
    return file + Section(3, "");
}

// Bytes that the reader's result takes.
size_t SizeOf(const trace::Recording &recording) {
    size_t bytes = recording.events.capacity() * sizeof(trace::Event) +
                   recording.rings.capacity() * sizeof(trace::Ring);
    for (const std::string &name : recording.names) bytes += sizeof name + name.capacity();
    return bytes;
}

void Try(const std::string &file) {
    trace::Recording recording;
    const trace::Problem problem = trace::Read(file.data(), file.size(), &recording);
    if (SizeOf(recording) > trace::kMaxRings * sizeof(trace::Ring) + 4 * file.size())
        Fail("the recording takes too much memory");
    if (!problem.empty()) return;
    const trace::Timeline timeline = trace::BuildTimeline(recording);
    const std::string wrong = test::WrongIn(timeline);
    if (!wrong.empty()) Fail(wrong);
    if (timeline.slices.size() > 9 * recording.events.size() + 2000) Fail("too many slices");
    Counted counted;
    std::ostream out(&counted);
    trace::WriteText(recording, out);
    trace::WritePerfetto(recording, timeline, out);
    trace::WriteChrome(recording, timeline, out);
    trace::WriteSpeedscope(recording, timeline, out);
    for (const int64_t budget : {int64_t{0}, int64_t{1000}}) {
        trace::PrintSummary(recording, timeline, budget, trace::Summarize(timeline, budget), out);
    }
    trace::PrintComparison(trace::Compare(timeline, timeline), out);
    if (!out.good() || counted.bytes > 1000000 + 1000 * file.size()) Fail("too much is written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (bytes < 2) return 0;
    if (data[0] % 2 == 0) {
        Try(std::string(reinterpret_cast<const char *>(data) + 1, bytes - 1));
        return 0;
    }
    std::string file = Expand(data + 2, bytes - 2);
    if (data[1] != 0) file.resize(file.size() * data[1] / 256);
    Try(file);
    return 0;
}
