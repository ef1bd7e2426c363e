// The checks of the objects that all scripts share.
#include "fuzz/shared.h"

namespace fuzz {

using namespace weft;

namespace {

BlockingOptions CallOptions() {
    BlockingOptions options;
    options.maxThreads = Shared::kCallThreads;
    return options;
}

}  // namespace

Shared::Shared(TaskScheduler &scheduler, const SchedulerOptions &options)
    : guarded{Guarded(scheduler), Guarded(scheduler)},
      sharedMutex(scheduler),
      stockMutex(scheduler),
      stocked(scheduler),
      semaphore(scheduler, kUsers),
      manualEvent(scheduler),
      autoEvent(scheduler, EventReset::Auto, true),
      tickets(scheduler),
      calls(std::in_place, scheduler, CallOptions()),
      hits(scheduler, options, uint64_t{0}),
      script(scheduler, options, nullptr) {}

void Shared::Guarded::Enter() {
    place.Enter();
    Require(m_entered == m_left, "what a mutex protects was half changed");
    ++m_entered;
}

void Shared::Guarded::Leave() {
    ++m_left;
    Require(m_entered == m_left, "somebody else has changed what a mutex protects");
    place.Leave();
}

void Shared::Put() {
    {
        const std::lock_guard<Mutex> lock(stockMutex);
        ++stock;
    }
    stocked.notify_one();
}

void Shared::CheckEnd() {
    for (Guarded &each : guarded) {
        Require(each.place.IsEmpty() && each.mutex.try_lock(), "a mutex is locked in the end");
        each.mutex.unlock();
    }
    Require(writers.IsEmpty() && readers.IsEmpty() && sharedMutex.try_lock(),
            "a shared mutex is locked in the end");
    sharedMutex.unlock();
    Require(stockMutex.try_lock(), "the mutex of a condition is locked in the end");
    stockMutex.unlock();
    Require(stock == 0, "something was put and not taken");
    for (uint32_t i = 0; i < kUsers; ++i) Require(semaphore.try_acquire(), "a permit was lost");
    Require(users.IsEmpty() && !semaphore.try_acquire(), "there is a permit too many");
    Require(taken == done, "a ticket was not done");
    uint64_t sum = 0;
    hits.ForEach([&](uint64_t &each) { sum += each; });
    Require(sum == allHits.load(), "a value of a worker was lost");
}

}  // namespace fuzz
