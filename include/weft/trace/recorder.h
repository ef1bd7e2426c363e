// Records what a scheduler does in memory that you provide: the last seconds, always on if you
// want. A recording is written to a file on demand, when a frame took too long, or by a crash
// handler. `weft_trace` (bench/trace) turns the file into a report, a summary, or a file for
// another viewer.
//
//     static unsigned char memory[16 << 20];              // 500,000 events
//     weft::Recorder recorder(memory, sizeof memory);
//     weft::SchedulerOptions options;
//     options.recorder = &recorder;
//     ...                                                 // the scheduler runs
//     recorder.WriteFile("frame.weft");
//
// An event takes 32 bytes. Each worker, each slot for an attached thread, and all external threads
// together have an equal part of the memory. When a part is full, its oldest events are
// overwritten.
#pragma once

#include "weft/counter.h"
#include "weft/export.h"

#include <cstddef>
#include <cstdint>

namespace weft {

namespace internal {
struct TraceRings;
struct RecorderAccess;
}  // namespace internal

/// What a Recorder does at the end of a frame that took too long.
struct RecorderOptions {
    /// The time that a frame may take, in nanoseconds. 0 = any time.
    uint64_t frameBudget = 0;
    /// Called by MarkFrame for a frame that took longer, on the thread that called MarkFrame, in a
    /// task if that was one. `nanoseconds`: how long it took. It may call Write, but that takes
    /// milliseconds; better hand it to a thread for blocking calls.
    void (*onLateFrame)(uint32_t frame, uint64_t nanoseconds, void *user) = nullptr;
    void *user = nullptr;  ///< Passed to onLateFrame.
};

/// Records the events of one scheduler at a time.
///
/// The recorder must live until the run has ended. Afterwards the events stay readable until the
/// next run begins.
class WEFT_API Recorder {
public:
    /// The least memory for a scheduler with `slots` workers and attached threads
    /// (SchedulerOptions::workers + maxAttached).
    static constexpr size_t LeastBytes(uint32_t slots) noexcept { return (slots + 2) * 4096; }

    /// Keeps the events in `memory`, which must live as long as the recorder. Cannot fail. If the
    /// memory is too small, Start and Run report BadOption and go on without a recorder.
    Recorder(void *memory, size_t bytes, const RecorderOptions &options = {}) noexcept;
    Recorder(const Recorder &) = delete;
    Recorder &operator=(const Recorder &) = delete;

    /// Calls write(data, bytes, user) with the parts of a file, in their order, until a call
    /// returns false. Returns false if one did. The format is in bench/trace/FORMAT.md.
    ///
    /// Thread-safe, but do not call it while a run begins. While the scheduler runs, events that
    /// are overwritten meanwhile are left out. Allocates nothing, takes no lock, and is
    /// async-signal-safe if `write` is. Names of tasks and counters are read from where they lie,
    /// so they must still exist.
    bool Write(bool (*write)(const void *data, size_t bytes, void *user), void *user) noexcept;

    /// Writes a file. Returns false if the system refuses that. Otherwise as Write;
    /// async-signal-safe on POSIX systems.
    bool WriteFile(const char *path) noexcept;

private:
    friend struct internal::RecorderAccess;
    unsigned char *m_memory;
    size_t m_bytes;
    RecorderOptions m_options;
    internal::TraceRings *m_rings = nullptr;  // at the beginning of the memory
    WEFT_ATOMIC<uint64_t> m_frameBegan{0};    // ticks
};

}  // namespace weft
