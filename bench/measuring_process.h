// A process of its own for each measurement: what one leaves in the heap, or in threads that wait,
// does not slow down the next. (oneTBB's tasks come from free lists that its other rows shuffle:
// its bulk rows became four times as dear.)
//
// A second thread sleeps there all the time: in a process of one thread the C library leaves out
// its locks' atomic operations, and no engine is such a process.
#pragma once

#include <functional>

#include <sys/types.h>

namespace bench {

class MeasuringProcess {
public:
    /// Forks; so, before there are threads. The process lives on between the calls.
    explicit MeasuringProcess(const std::function<double()> &measure);
    ~MeasuringProcess();
    MeasuringProcess(const MeasuringProcess &) = delete;
    MeasuringProcess &operator=(const MeasuringProcess &) = delete;

    /// What `measure` returns there. Ends the program if the process has ended.
    double Measure();

private:
    pid_t m_process = -1;
    int m_requests = -1;  // true: measure, false: end
    int m_answers = -1;
};

}  // namespace bench
