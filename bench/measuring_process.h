// Runs each measurement in a process of its own. So what one measurement leaves in the heap, or in
// waiting threads, does not slow down the next one. For example, the bulk rows of oneTBB became
// four times as expensive after its other rows had changed the order of its free lists.
//
// A second thread sleeps in this process. In a process with one thread, the C library's locks do
// without atomic operations, and a game engine has more than one thread.
#pragma once

#include <functional>

#include <sys/types.h>

namespace bench {

class MeasuringProcess {
public:
    /// Forks. Call it before the program starts threads. The process lives until this object is
    /// destroyed.
    explicit MeasuringProcess(const std::function<double()> &measure);
    ~MeasuringProcess();
    MeasuringProcess(const MeasuringProcess &) = delete;
    MeasuringProcess &operator=(const MeasuringProcess &) = delete;

    /// Returns what `measure` returns in that process. Ends the program if the process has ended.
    double Measure();

private:
    pid_t m_process = -1;
    int m_requests = -1;  // true: measure, false: end
    int m_answers = -1;
};

}  // namespace bench
