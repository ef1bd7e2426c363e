// External threads for tests, and runs that a thread of the host uses.
#include "support/threads.h"

#include "support/spin.h"

#include <atomic>

namespace test {

Threads::Threads(uint32_t count, std::function<void(uint32_t)> body) : m_body(std::move(body)) {
    for (uint32_t i = 0; i < count; ++i) m_threads.emplace_back([this, i] { m_body(i); });
}

void Threads::Join() {
    for (std::thread &thread : m_threads) thread.join();
    m_threads.clear();
}

uint32_t Marks::Wrong(uint32_t times, uint32_t count) const {
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count; ++i) wrong += m_marks[i] != times;
    return wrong;
}

const char *Describe(Life life) { return life == Life::Run ? "Run" : "Start"; }

weft::Status WhileItRuns(Runner &runner, Life life,
                         const std::function<void(weft::TaskScheduler &)> &host) {
    if (life == Life::Start) {
        const weft::Status status = runner.scheduler.Start();
        if (status != weft::Status::Ok) return status;
        host(runner.scheduler);
        runner.scheduler.Stop();
        return status;
    }
    weft::Counter hostRuns(1);
    std::atomic<bool> running{false};
    std::thread thread([&] {
        if (!SpinUntil([&] { return running.load(); })) return;
        host(runner.scheduler);
        runner.scheduler.DecrementCounter(&hostRuns);
    });
    const weft::Status status = runner.Run([&](weft::TaskScheduler &scheduler) {
        running.store(true);
        scheduler.WaitForCounter(&hostRuns);
    });
    thread.join();
    return status;
}

std::string Faults(const ReportLog &log) {
    const size_t waiters = log.CountOf(weft::ReportCode::Stalled);
    return waiters == log.Count() ? "" : log.Text();
}

}  // namespace test
