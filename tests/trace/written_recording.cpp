#include "trace/written_recording.h"

#include "weft/trace/recorder.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <catch2/catch.hpp>

namespace test {

namespace {

std::string Bytes(uint64_t number, uint32_t bytes) {
    std::string text;
    for (uint32_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
    return text;
}

std::string Section(uint32_t kind, const std::string &content) {
    return Bytes(kind, 4) + Bytes(content.size(), 4) + content;
}

uint64_t Number(const std::string &file, size_t at, uint32_t bytes) {
    uint64_t number = 0;
    for (uint32_t i = bytes; i-- != 0;)
        number = number << 8 | static_cast<unsigned char>(file[at + i]);
    return number;
}

}  // namespace

WrittenRecording::WrittenRecording(uint32_t workers, uint32_t attached)
    : m_rings(workers + attached + 1), m_content(m_rings) {
    const double ticksPerMicrosecond = 1000;
    uint64_t bits = 0;
    std::memcpy(&bits, &ticksPerMicrosecond, sizeof bits);
    header = "WEFTRACE" + test::Bytes(2, 4) + test::Bytes(64, 4) + test::Bytes(32, 4) +
             test::Bytes(m_rings, 4) + test::Bytes(workers, 4) + test::Bytes(kFibers, 4) +
             test::Bytes(kStart, 8) + test::Bytes(5000000000, 8) + test::Bytes(bits, 8) +
             test::Bytes(64 << 10, 8);
}

void WrittenRecording::AddWords(uint32_t ring, const std::vector<uint64_t> &words) {
    for (const uint64_t word : words) m_content[ring].records += test::Bytes(word, 8);
}

void WrittenRecording::AddText(uint64_t address, const std::string &text) {
    m_texts += Section(1, test::Bytes(address, 8) + text);
}

void WrittenRecording::AddRing(uint32_t ring, uint64_t firstRecord, double us) {
    Ring &content = m_content[ring];
    if (!content.records.empty()) content.sections += Records(ring, content.records);
    content.records.clear();
    content.isDescribed = true;
    content.sections +=
        Section(4, test::Bytes(ring, 4) + test::Bytes(0, 4) + test::Bytes(firstRecord, 8) +
                       test::Bytes(kStart + static_cast<uint64_t>(us * 1000), 8));
}

void WrittenRecording::Add(uint32_t ring, double us, weft::TraceKind kind, uint32_t fiber,
                           uint32_t other, uint64_t a, const char *name) {
    uint64_t address = 0;
    if (name != nullptr) {
        const auto [at, isNew] = m_addresses.emplace(name, 0x1000 + 16 * m_addresses.size());
        address = at->second;
        if (isNew) AddText(address, name);
    }
    AddWords(ring,
             {kStart + static_cast<uint64_t>(us * 1000),
              static_cast<uint64_t>(kind) | uint64_t{fiber & 0xffffff} << 8 | uint64_t{other} << 32,
              a, address});
    m_end = std::max(m_end, us);
}

void WrittenRecording::Submit(uint32_t ring, double us, uint32_t fiber, uint32_t count,
                              uint64_t first, const char *name, uint64_t counter) {
    Add(ring, us, weft::TraceKind::Submit, fiber, count, first, name);
    AddWords(ring, {kStart + static_cast<uint64_t>(us * 1000),
                    64 | uint64_t{fiber} << 8 | uint64_t{1} << 32, counter, 0x4000});
}

std::string WrittenRecording::Records(uint32_t ring, const std::string &records) {
    return Section(2, test::Bytes(ring, 4) + records);
}

std::string WrittenRecording::Bytes() const {
    std::string file = header + m_texts;
    for (uint32_t i = 0; i < m_rings; ++i) {
        const Ring &ring = m_content[i];
        file += ring.sections;
        if (!ring.isDescribed)
            file += Section(4, test::Bytes(i, 4) + test::Bytes(0, 4) + test::Bytes(0, 8) +
                                   test::Bytes(kStart + static_cast<uint64_t>(m_end * 1000), 8));
        if (!ring.records.empty()) file += Records(i, ring.records);
    }
    return file + Section(3, "");
}

trace::Recording WrittenRecording::Read() const { return ReadBytes(Bytes()); }

std::string FileOf(weft::Recorder &recorder) {
    std::string file;
    recorder.Write(
        [](const void *data, size_t bytes, void *user) {
            static_cast<std::string *>(user)->append(static_cast<const char *>(data), bytes);
            return true;
        },
        &file);
    return file;
}

std::string Record(weft::SchedulerOptions options, size_t bytes,
                   const std::function<void(weft::TaskScheduler &)> &body) {
    const std::unique_ptr<unsigned char[]> memory(new unsigned char[bytes]);
    weft::Recorder recorder(memory.get(), bytes);
    options.recorder = &recorder;
    Runner runner(options);
    REQUIRE(runner.Run(body) == weft::Status::Ok);
    return FileOf(recorder);
}

std::string WithoutOldest(const std::string &file, uint32_t tenths, bool onlyFirstRing) {
    constexpr size_t kRecord = 32;
    const size_t header = Number(file, 12, 4);
    std::map<uint32_t, std::string> records;
    std::map<uint32_t, std::string> rings;
    std::string result = file.substr(0, header);
    for (size_t at = header; at < file.size();) {
        const uint64_t kind = Number(file, at, 4), bytes = Number(file, at + 4, 4);
        const std::string content = file.substr(at + 8, bytes);
        at += 8 + bytes;
        if (kind == 1) result += Section(1, content);
        const auto ring = static_cast<uint32_t>(kind == 3 ? 0 : Number(content, 0, 4));
        if (kind == 2) records[ring] += content.substr(4);
        if (kind == 4) rings[ring] = content;
    }
    uint64_t first = UINT64_MAX, last = 0;
    for (const auto &[ring, content] : records) {
        for (size_t at = 0; at < content.size(); at += kRecord) {
            first = std::min(first, Number(content, at, 8));
            last = std::max(last, Number(content, at, 8));
        }
    }
    const uint64_t limit = first + (last - first) * tenths / 10;
    for (auto &[ring, content] : rings) {
        const uint64_t all = records[ring].size() / kRecord;
        uint64_t lost = 0;
        if (all != 0 && (ring == 0 || !onlyFirstRing)) {
            // Keeps one older record. Without it a worker that slept may have none but the last of
            // all, and then there is no time of which all events are there.
            while (lost + 1 < all && Number(records[ring], (lost + 1) * kRecord, 8) < limit) ++lost;
        }
        const std::string rest = records[ring].substr(lost * kRecord);
        result += Section(4, content.substr(0, 8) + Bytes(lost, 8) + content.substr(16));
        if (!rest.empty()) result += Section(2, Bytes(ring, 4) + rest);
    }
    return result + Section(3, "");
}

trace::Recording ReadBytes(const std::string &file) {
    trace::Recording recording;
    REQUIRE(trace::Read(file.data(), file.size(), &recording).empty());
    for (const std::string &remark : recording.remarks) {
        INFO(remark);
        CHECK(remark.find("overwritten") != std::string::npos);
    }
    return recording;
}

}  // namespace test
