// Mutexes. While a script holds one, it makes no call that waits for another script.
#include "fuzz/script.h"
#include "fuzz/shared.h"

#include <mutex>

namespace fuzz {

using namespace weft;

namespace {

void Unlocking(TaskScheduler *scheduler, void *arg) {
    auto &guarded = *static_cast<Shared::Guarded *>(static_cast<Cell *>(arg)->target);
    guarded.Leave();
    guarded.mutex.unlock();
    Leaf(scheduler, arg);
}

}  // namespace

void Script::UseMutex() {
    Shared::Guarded *const all = m_world.shared->guarded;
    const uint32_t how = m_bytes.Below(8);
    Shared::Guarded &one = all[how % 2];
    bool locked = true;
    if (!m_mayWait || how < 2) {
        locked = one.mutex.try_lock();
    } else if (how < 4) {
        locked = one.mutex.try_lock_for(Short());
    } else if (how == 4) {
        locked = one.mutex.try_lock_until(Soon());
    } else if (how == 5) {
        locked = one.mutex.try_lock_until(std::chrono::system_clock::now() +
                                          std::chrono::microseconds(m_bytes.Next()));
    } else {
        one.mutex.lock();
    }
    if (!locked) return;
    one.Enter();
    Inside();
    if (m_bytes.Below(4) == 0 && m_mayWait && &one == &all[0]) {
        const std::lock_guard<Mutex> second(all[1].mutex);
        all[1].Enter();
        Inside();
        all[1].Leave();
    }
    one.Leave();
    one.mutex.unlock();
    if (how != 7 || !m_mayWait) return;
    const std::scoped_lock both(all[1].mutex, all[0].mutex);
    for (uint32_t i = 0; i < 2; ++i) all[i].Enter();
    Inside();
    for (uint32_t i = 0; i < 2; ++i) all[i].Leave();
}

// Another task unlocks the mutex: a mutex belongs to no thread.
void Script::UnlockElsewhere() {
    Shared::Guarded &guarded = m_world.shared->guarded[m_bytes.Below(2)];
    Cell *cell = m_world.NewCells(1);
    if (cell == nullptr) return;
    if (m_mayWait) {
        guarded.mutex.lock();
    } else if (!guarded.mutex.try_lock()) {
        return;
    }
    guarded.Enter();
    Inside();
    cell->accepted = true;
    cell->target = &guarded;
    Counter *counter = SomeCounter();
    m_scheduler.AddTask({Unlocking, cell}, counter, Options());
}

void Script::UseSharedMutex() {
    Shared &shared = *m_world.shared;
    SharedMutex &mutex = shared.sharedMutex;
    const uint32_t how = m_bytes.Below(6);
    const bool reads = how % 2 == 0;
    bool locked = true;
    if (!m_mayWait || how < 2) {
        locked = reads ? mutex.try_lock_shared() : mutex.try_lock();
    } else if (how < 4) {
        locked = reads ? mutex.try_lock_shared_for(Short()) : mutex.try_lock_until(Soon());
    } else {
        reads ? mutex.lock_shared() : mutex.lock();
    }
    if (!locked) return;
    (reads ? shared.readers : shared.writers).Enter();
    Inside();
    Require((reads ? shared.writers : shared.readers).IsEmpty(),
            "a writer and a reader at the same time");
    (reads ? shared.readers : shared.writers).Leave();
    reads ? mutex.unlock_shared() : mutex.unlock();
}

}  // namespace fuzz
