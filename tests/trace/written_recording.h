// Recordings for tests: written event by event, recorded from a real scheduler, or with their
// oldest records taken away.
#pragma once

#include "support/scheduler_run.h"
#include "trace/trace_file.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace test {

/// A file in the format of bench/trace/FORMAT.md. A tick is a nanosecond. Times are in microseconds
/// since the start of the run.
class WrittenRecording {
public:
    static constexpr uint64_t kStart = 5000000000;  // ticks at the start of the run
    static constexpr uint32_t kFibers = 120;

    explicit WrittenRecording(uint32_t workers, uint32_t attached = 0);

    uint32_t External() const { return m_rings - 1; }
    /// The own stack of the first attached thread. The pool has one fiber more for each slot.
    uint32_t OwnStack() const { return kFibers + m_rings - 1; }

    /// Adds a record. `name` may be null.
    void Add(uint32_t ring, double us, weft::TraceKind kind, uint32_t fiber, uint32_t other = 0,
             uint64_t a = 0, const char *name = nullptr);
    void Begin(uint32_t ring, double us, uint32_t fiber, uint64_t task, const char *name,
               uint32_t stolenFrom = weft::kAnyWorker) {
        Add(ring, us, weft::TraceKind::TaskBegin, fiber, stolenFrom, task, name);
    }
    void End(uint32_t ring, double us, uint32_t fiber, uint64_t task, const char *name) {
        Add(ring, us, weft::TraceKind::TaskEnd, fiber, weft::kAnyWorker, task, name);
    }
    void Switch(uint32_t ring, double us, uint32_t fiber, uint32_t to) {
        Add(ring, us, weft::TraceKind::FiberSwitch, fiber, to);
    }
    /// With its second record.
    void Submit(uint32_t ring, double us, uint32_t fiber, uint32_t count, uint64_t first,
                const char *name, uint64_t counter = 0);
    void Wait(uint32_t ring, double us, uint32_t fiber, uint64_t counter) {
        Add(ring, us, weft::TraceKind::Wait, fiber, 0, counter);
    }
    void Resume(uint32_t ring, double us, uint32_t fiber, uint64_t counter) {
        Add(ring, us, weft::TraceKind::Resume, fiber, 0, counter);
    }
    void Ready(uint32_t ring, double us, uint32_t fiber, uint32_t other, uint64_t counter) {
        Add(ring, us, weft::TraceKind::Ready, fiber, other, counter);
    }
    void Frame(uint32_t ring, double us, uint32_t fiber, uint32_t number) {
        Add(ring, us, weft::TraceKind::Frame, fiber, number);
    }

    /// Any record.
    void AddWords(uint32_t ring, const std::vector<uint64_t> &words);
    void AddText(uint64_t address, const std::string &text);
    /// Says that the next record of the ring has this number. `us`: when the ring was read.
    void AddRing(uint32_t ring, uint64_t firstRecord, double us);

    /// Returns the file. Without a call of AddRing, the rings were read at the end of the run.
    std::string Bytes() const;
    trace::Recording Read() const;

    std::string header;  // may be changed

private:
    struct Ring {
        std::string sections;  // before the last records
        std::string records;
        bool isDescribed = false;
    };
    static std::string Records(uint32_t ring, const std::string &records);
    std::string m_texts;
    std::map<std::string, uint64_t> m_addresses;
    uint32_t m_rings;
    std::vector<Ring> m_content;
    double m_end = 0;
};

/// Runs a scheduler with a recorder of `bytes` bytes, and returns the file after the run.
std::string Record(weft::SchedulerOptions options, size_t bytes,
                   const std::function<void(weft::TaskScheduler &)> &body);

/// Returns what weft::Recorder::Write writes.
std::string FileOf(weft::Recorder &recorder);

/// Returns the same file as if the records of the first `tenths` of the time had been overwritten,
/// in all rings or in the first one. The last record before that stays in each.
std::string WithoutOldest(const std::string &file, uint32_t tenths, bool onlyFirstRing);

/// Reads a file that has no problem, and that the reader has nothing to remark about but the
/// beginning.
trace::Recording ReadBytes(const std::string &file);

}  // namespace test
