// Helpers for models of weft/sync/ and of other parts that wait.
#pragma once

#include "simulator/model_support.h"
#include "simulator/models.h"
#include "weft/time.h"

#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace simulator {

// Calls `body` in `tasks` tasks and in one thread of the host at the same time. The index of a task
// is its number, the thread has the index `tasks`.
template <class Body>
void AllAtOnce(TaskScheduler &scheduler, uint32_t tasks, Body body) {
    struct Call {
        Body *body;
        uint32_t index;
        void operator()(TaskScheduler *self) { (*body)(*self, index); }
    } calls[4];
    Counter counter;
    HostThread host([&] { body(scheduler, tasks); });
    host.Start();
    for (uint32_t i = 0; i < tasks; ++i) {
        calls[i] = {&body, i};
        scheduler.AddTask(MakeTask(calls[i]), &counter);
    }
    scheduler.WaitForCounter(&counter);
    host.Join();
}

// Runs `body` between Start and Stop of a scheduler with one or two workers.
template <class Body>
void WithScheduler(Body body) {
    SchedulerOptions options = Options(1 + Random(2), 7);
    options.onReport = OnlyThese<ReportCode::Stalled>;
    TaskScheduler scheduler(options);
    Check(scheduler.Start() == Status::Ok, "Start failed");
    body(scheduler);
    scheduler.Stop();
}

// An object that its user may destroy in the model. An access after Die fails, or reads values
// without sense.
template <class T>
class Mortal {
public:
    template <class... Args>
    explicit Mortal(Args &&...args) : m_memory(std::make_unique<Memory>()) {
        new (m_memory->bytes) T(std::forward<Args>(args)...);
    }
    T *operator->() const { return std::launder(reinterpret_cast<T *>(m_memory->bytes)); }
    T &operator*() const { return *operator->(); }

    void Die() {
        MarkDead(m_memory->bytes, sizeof(T));
        std::memset(m_memory->bytes, 0xdd, sizeof(T));
    }

private:
    struct Memory {
        alignas(T) unsigned char bytes[sizeof(T)];
    };
    std::unique_ptr<Memory> m_memory;
};

// A random short duration.
inline Clock::duration Soon() { return Clock::duration(Random(400)); }

}  // namespace simulator
