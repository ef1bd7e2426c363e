// The sets of free fibers (AtomicBitSet, FiberPool). Each fiber must have one user at a time, which
// finds the stack as the previous user left it. A worker that lacks a fiber must find each free
// one, or must be woken for it.
#include "relacy/suite.h"

#include "core/fiber_pool.h"
#include "core/idle_set.h"

#include "core/fiber_pool.cpp"

namespace relacy {

namespace {

// AtomicBitSet alone: three threads claim bits and set them again.
struct Bits : Suite<Bits, 3> {
    AtomicBitSet bits;
    Data stack[3];

    void before() {
        Check(bits.Acquire(70), "no memory");
        bits.Set(1);
        bits.Set(68);
    }
    void Use(uint32_t bit) {
        Data &data = stack[bit == 1 ? 0 : 1];
        data.Write(data.Read() + 1);
    }
    void thread(unsigned index) {
        for (int round = 0; round < 2; ++round) {
            const uint32_t bit = bits.ClearAny(index * 64);
            if (bit == AtomicBitSet::kNone) continue;
            Use(bit);
            bits.Set(bit);
        }
        if (bits.Clear(1)) {
            Use(1);
            bits.Set(1);
        }
    }
    void after() { Check(bits.Test(1) && bits.Test(68), "a bit was lost"); }
};

// A pool from which all fibers have been taken. Large pools have caches for the workers.
template <class Test, int kThreads, uint32_t kSmall, uint32_t kWorkers>
struct PoolTest : Suite<Test, kThreads> {
    FiberPool pool;
    IdleSet idle;
    env::Parker parkers[kThreads];
    Data stack[kSmall + 1];
    int holders[kSmall + 1] = {};

    void Acquire() {
        Check(pool.Acquire(kSmall, 1, kWorkers, kThreads) && idle.Acquire(kThreads), "no memory");
        for (uint32_t i = 0; i < kSmall; ++i) Take(pool.AcquireFiber(StackClass::Small, 0));
        Take(pool.AcquireFiber(StackClass::Large, 0));
    }
    void Take(uint32_t fiber) {
        Check(fiber <= kSmall, "no fiber");
        Check(++holders[fiber] == 1, "invariant 3: a fiber has two holders");
        stack[fiber].Write(stack[fiber].Read() + 1);
    }
    void Release(uint32_t fiber, uint32_t worker) {
        stack[fiber].Write(stack[fiber].Read() + 1);
        --holders[fiber];
        pool.ReleaseFiber(fiber, worker);
    }
    // Like FreeFiber in scheduler/wait/fiber_switch.cpp and WakeStarved in
    // scheduler/submit/wake.cpp.
    void Free(uint32_t fiber, uint32_t worker) {
        Release(fiber, worker);
        if (!pool.AnyStarved()) return;
        const uint32_t sleeper = idle.TakeStarvedSleeper(0);
        if (sleeper != IdleSet::kNone) parkers[sleeper].Unpark();
    }
    bool TryTake(uint32_t worker) {
        const uint32_t fiber = pool.AcquireFiber(StackClass::Small, worker);
        if (fiber == FiberPool::kNone) return false;
        Take(fiber);
        return true;
    }
    // Like WithoutFiber in scheduler/run/worker_loop.cpp: a worker that finds no fiber marks itself
    // as starved, looks again, and sleeps.
    void TakeOrSleep(uint32_t worker) {
        while (!TryTake(worker)) {
            pool.SetStarved(worker, true);
            if (TryTake(worker)) break;
            idle.Announce(worker, WorkerMode::ReadyFibersOnly);
            if (!pool.AnyFree(StackClass::Small) ||
                !idle.Cancel(worker, WorkerMode::ReadyFibersOnly))
                parkers[worker].Park();
        }
        pool.SetStarved(worker, false);
    }
};

// A starved worker in a small pool without caches. It must get the fiber that another worker frees.
struct StarvedAtWords : PoolTest<StarvedAtWords, 2, 2, 1> {
    void before() { Acquire(); }
    void thread(unsigned index) { index == 0 ? TakeOrSleep(0) : Free(0, 1); }
};

// Two workers are starved and two fibers are freed. Each worker must get one.
struct TwoStarved : PoolTest<TwoStarved, 3, 2, 3> {
    void before() { Acquire(); }
    void thread(unsigned index) {
        if (index != 2) return TakeOrSleep(index);
        Free(0, 2);
        Free(1, 2);
    }
};

// Like StarvedAtWords, but the freed fiber goes to the cache of the worker that frees it.
struct StarvedAtCaches : PoolTest<StarvedAtCaches, 2, 32, 2> {
    void before() { Acquire(); }
    void thread(unsigned index) { index == 0 ? TakeOrSleep(0) : Free(0, 1); }
};

// A worker marks itself as starved and then looks for a fiber, while another worker frees one and
// then looks for starved workers. At least one of them must find the other.
template <uint32_t kFibers, uint32_t kWorkers>
struct SaysSo : PoolTest<SaysSo<kFibers, kWorkers>, 2, kFibers, kWorkers> {
    bool found = false, told = false;
    void before() { this->Acquire(); }
    void thread(unsigned index) {
        if (index == 0) {
            this->pool.SetStarved(0, true);
            found = this->TryTake(0);
        } else {
            this->Release(0, 1);
            told = this->pool.AnyStarved();
        }
    }
    void after() { Check(found || told, "a free fiber and a starved worker miss each other"); }
};
using SaysSoOnce = SaysSo<2, 1>;
using SaysSoOnceAtCaches = SaysSo<32, 2>;  // with caches

// An owner takes a fiber from its cache while others take fibers from the same cache. No fiber may
// be lost or have two users.
struct Robbers : PoolTest<Robbers, 3, 32, 2> {
    void before() {
        Acquire();
        Release(0, 0);
    }
    void thread(unsigned index) {
        for (int round = 0; round < 2; ++round) {
            const uint32_t fiber = pool.AcquireFiber(StackClass::Small, index);
            if (fiber == FiberPool::kNone) continue;
            Take(fiber);
            Release(fiber, index);
        }
    }
    void after() { Check(TryTake(0) && !TryTake(0), "a fiber was lost, or is free twice"); }
};

// A worker puts a task aside that needs a Large fiber, and then looks for a fiber again. Another
// worker frees one, and then looks for such tasks. At least one of them must find the other.
struct Backlog : PoolTest<Backlog, 2, 2, 1> {
    env::Atomic<uint32_t> backlog{0};  // like Scheduler::largeBacklog
    bool found = false, told = false;
    void before() { Acquire(); }
    void thread(unsigned index) {
        if (index == 0) {
            backlog.fetch_add(1, kSeqCst);
            found = pool.AnyFree(StackClass::Large);
        } else {
            Release(2, 1);
            told = backlog.load(kSeqCst) != 0;
        }
    }
    void after() { Check(found || told, "a free Large fiber and a Large task miss each other"); }
};

}  // namespace

}  // namespace relacy

int main(int argc, char **argv) {
    using namespace relacy;
    Runner runner(argc, argv);
    runner.Run<Bits>("bits", 100000);
    runner.Run<StarvedAtWords>("starved_at_words", 100000);
    runner.Run<TwoStarved>("two_starved", 100000);
    runner.Run<StarvedAtCaches>("starved_at_caches", 100000);
    runner.Run<SaysSoOnce>("says_so_once", 100000);
    runner.Run<SaysSoOnceAtCaches>("says_so_once_at_caches", 30000);
    runner.Run<Robbers>("robbers", 30000);
    runner.Run<Backlog>("backlog", 100000);
    return runner.Report();
}
