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
    IndexedTasks all(tasks, [&](TaskScheduler *self, uint32_t index) { body(*self, index); });
    Counter counter;
    RunningThread host([&] { body(scheduler, tasks); });
    for (uint32_t i = 0; i < tasks; ++i) scheduler.AddTask(all[i], &counter);
    scheduler.WaitForCounter(&counter);
    host.Join();
}

// Runs `body` between Start and Stop of a scheduler.
template <class Body>
void WithWorkers(uint32_t workers, Body body) {
    StartedScheduler scheduler(Options<ReportCode::Stalled>(workers, 7));
    body(scheduler);
    scheduler.Stop();
}

// The same with one or two workers.
template <class Body>
void WithScheduler(Body body) {
    WithWorkers(1 + Random(2), body);
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
