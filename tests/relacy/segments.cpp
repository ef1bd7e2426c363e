// Objects of a pool: one user at a time, who comes after the last one; segments are added under the
// users' hands.
#include "relacy/suite.h"

#include "containers/cached_pool.h"
#include "containers/segment_pool.h"

namespace relacy {

namespace {

constexpr uint32_t kFirst = 4;  // in the first segment, and in the second one

struct Item {
    env::Plain<int> value;
};

template <class Test, int kThreads>
struct SegmentTest : Suite<Test, kThreads> {
    using Pool = SegmentPool<Item, 7, kFirst>;
    Pool pool;
    int users[8 * kFirst] = {};
    uint32_t most = 2 * kFirst;

    void Acquire(uint32_t out) {
        Check(pool.Acquire(), "no memory");
        for (uint32_t i = 0; i < out; ++i) pool.Take();
    }
    uint32_t Take() {
        const uint32_t index = pool.Take();
        Check(index < most, "no object");
        Check(++users[index] == 1, "an object has two users");
        pool.At(index).value = pool.At(index).value + 1;
        return index;
    }
    void GiveBack(uint32_t index) {
        static_cast<void>(static_cast<int>(pool.At(index).value));
        --users[index];
        pool.GiveBack(index);
    }
    void after() { pool.Release(); }
};

// Taken and given back.
struct UsedInTurn : SegmentTest<UsedInTurn, 3> {
    void before() { Acquire(0); }
    void thread(unsigned) {
        GiveBack(Take());
        GiveBack(Take());
    }
};

// The first segment is out: one of three threads adds the second, and all find it.
struct Segments : SegmentTest<Segments, 3> {
    void before() { Acquire(kFirst); }
    void thread(unsigned) { Take(); }
};

// Taken by one thread and given back by another, which learns of it in order: as wait records are.
struct HandedOver : SegmentTest<HandedOver, 2> {
    env::Atomic<uint32_t> handed{0};
    void before() { Acquire(kFirst); }
    void thread(unsigned index) {
        if (index == 0) {
            handed.store(Take() + 1, kRelease);
        } else if (const uint32_t taken = handed.load(kAcquire); taken != 0) {
            pool.At(taken - 1).value = 7;
            GiveBack(taken - 1);
            GiveBack(Take());
        }
    }
};

// Two objects are taken and come back together, in the other order.
struct Together : SegmentTest<Together, 3> {
    void before() {
        Acquire(1);         // three are left
        most = 8 * kFirst;  // who does not see yet what came back adds more
    }
    void thread(unsigned index) {
        if (index == 0) {
            const uint32_t first = Take(), second = Take();
            Pool::Returns returns(pool);
            for (uint32_t taken : {first, second}) {
                static_cast<void>(static_cast<int>(pool.At(taken).value));
                --users[taken];
                returns.Add(taken);
            }
        } else {
            GiveBack(Take());
            if (index == 1) GiveBack(Take());
        }
    }
};

// Several are taken at once while one of them is taken by another thread, which then makes the pool
// grow and links the object to the new segment: who follows that link may not have seen the
// segment.
struct Batches : SegmentTest<Batches, 2> {
    void before() {
        Acquire(kFirst - 1);
        most = 8 * kFirst;
    }
    void thread(unsigned index) {
        if (index == 0) {
            uint32_t taken[3];
            const uint32_t count = pool.TakeSome(taken, 3);
            Check(count >= 1 && count <= 3, "not so many");
            for (uint32_t i = 0; i < count; ++i) {
                Check(++users[taken[i]] == 1, "an object has two users");
                pool.At(taken[i]).value = 1;
            }
        } else {
            const uint32_t first = Take();
            Take();
            GiveBack(first);
        }
    }
};

// The last ones, of a pool that cannot grow: who comes too late has none.
struct LastOnes : Suite<LastOnes, 3> {
    SegmentPool<Item, 1, kFirst> pool;
    int users[kFirst] = {};
    int out = 0;
    void before() { Check(pool.Acquire(), "no memory"); }
    void thread(unsigned) {
        uint32_t taken[3] = {~0u, ~0u, ~0u};
        const uint32_t count = pool.TakeSome(taken, 3);
        for (uint32_t i = 0; i < count; ++i) {
            Check(taken[i] < kFirst && ++users[taken[i]] == 1, "an object has two users");
            pool.At(taken[i]).value = pool.At(taken[i]).value + 1;
            ++out;
        }
    }
    void after() {
        Check(out == kFirst, "objects were lost");
        pool.Release();
    }
};

// Two users with caches, and one without, who gives back what another one took.
struct Cached : Suite<Cached, 3> {
    using Pool = CachedPool<Item, 4, kFirst, 2>;
    Pool pool;
    int users[8 * kFirst] = {};
    env::Atomic<uint32_t> handed{0};

    void before() { Check(pool.Acquire(2), "no memory"); }
    uint32_t Take(uint32_t user) {
        const uint32_t index = pool.Take(user);
        Check(index < Pool::kMaxItems && ++users[index] == 1, "an object has two users");
        pool.At(index).value = pool.At(index).value + 1;
        return index;
    }
    void GiveBack(uint32_t index, uint32_t user) {
        static_cast<void>(static_cast<int>(pool.At(index).value));
        --users[index];
        pool.GiveBack(index, user);
    }
    void thread(unsigned index) {
        const uint32_t user = index < 2 ? index : kNoCache;
        if (index == 0) {
            const uint32_t first = Take(user), second = Take(user);
            handed.store(Take(user) + 1, kRelease);
            GiveBack(second, user);
            GiveBack(first, user);
        } else {
            const uint32_t first = Take(user);
            if (const uint32_t taken = handed.exchange(0, kAcqRel); taken != 0)
                GiveBack(taken - 1, user);
            GiveBack(first, user);
        }
    }
    void after() { pool.Release(); }
};

}  // namespace

}  // namespace relacy

int main(int argc, char **argv) {
    using namespace relacy;
    Runner runner(argc, argv);
    runner.Run<UsedInTurn>("turns", 100000);
    runner.Run<Segments>("segments", 50000);
    runner.Run<HandedOver>("handed_over", 50000);
    runner.Run<Together>("together", 100000);
    runner.Run<Batches>("batches", 100000);
    runner.Run<LastOnes>("last_ones", 100000);
    runner.Run<Cached>("cached", 100000);
    return runner.Report();
}
