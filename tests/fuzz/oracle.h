// What must be true of every input.
#pragma once

#include "weft/task_scheduler.h"

#include <atomic>
#include <cstdint>

namespace fuzz {

/// Ends the process; libFuzzer keeps the input.
[[noreturn]] void Finding(const char *what, const char *detail = "");

inline void Require(bool condition, const char *what) {
    if (!condition) Finding(what);
}

/// Compares what is reported with what should be.
class Oracle {
public:
    void AttachTo(weft::SchedulerOptions &options);

    /// mistake() must be reported once, as `code`, and on this thread. It may go on on another one.
    template <class Mistake>
    void Expect(weft::ReportCode code, Mistake mistake) {
        Watch watch{code, 0};
        Watch *const outer = Exchange(&watch);
        mistake();
        Leave(watch, outer);
    }

    // Of these as many as there are mistakes, at some time.
    std::atomic<uint32_t> willThrow{0}, willLeave{0}, willBend{0};
    std::atomic<bool> mayLackWorkers{false};  ///< NoWorkers may come
    /// When all is over.
    void CheckCounts();

private:
    struct Watch {
        weft::ReportCode code;
        uint32_t count;
    };
    static Watch *Exchange(Watch *watch);
    static void Leave(const Watch &watch, Watch *outer);
    static void OnReport(const weft::Report &report, void *user);
    std::atomic<uint32_t> m_threw{0}, m_left{0}, m_bent{0};
};

}  // namespace fuzz
