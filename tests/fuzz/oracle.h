// What must hold for each input.
#pragma once

#include "weft/task_scheduler.h"

#include <atomic>
#include <cstdint>

namespace fuzz {

/// Ends the process. libFuzzer keeps the input.
[[noreturn]] void Finding(const char *what, const char *detail = "");

inline void Require(bool condition, const char *what) {
    if (!condition) Finding(what);
}

/// Compares the reports with the expected ones.
class Oracle {
public:
    void AttachTo(weft::SchedulerOptions &options);

    /// mistake() must cause one report, with this code and on this thread. The caller may continue
    /// on another thread.
    template <class Mistake>
    void Expect(weft::ReportCode code, Mistake mistake) {
        Watch watch{code, 0};
        Watch *const outer = Exchange(&watch);
        mistake();
        Leave(watch, outer);
    }

    // The expected numbers of reports that may come at any time.
    std::atomic<uint32_t> willThrow{0}, willLeave{0}, willBend{0};
    std::atomic<bool> mayLackWorkers{false};  ///< NoWorkers may be reported
    /// Called when all schedulers have ended.
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
