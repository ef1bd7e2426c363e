// SegmentPool and CachedPool. Each object must have one user at a time, which sees what the
// previous user wrote, also while segments are added.
#include "relacy/suite.h"

#include "containers/cached_pool.h"
#include "containers/segment_pool.h"

namespace relacy {

namespace {

constexpr uint32_t kFirst = 4;  // objects in the first segment, and in the second one

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

// Threads take objects and return them.
struct UsedInTurn : SegmentTest<UsedInTurn, 3> {
    void before() { Acquire(0); }
    void thread(unsigned) {
        GiveBack(Take());
        GiveBack(Take());
    }
};

// The first segment is used up. One of three threads adds the second one, and all must find it.
struct Segments : SegmentTest<Segments, 3> {
    void before() { Acquire(kFirst); }
    void thread(unsigned) { Take(); }
};

// An object is taken by one thread and returned by another one, like a wait record. The second
// thread is ordered after the first.
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

// Two objects are taken and returned together, in the reverse order.
struct Together : SegmentTest<Together, 3> {
    void before() {
        Acquire(1);         // three are left
        most = 8 * kFirst;  // a thread that does not see the returned objects yet adds more
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

// A thread takes several objects at once. Meanwhile another thread takes one of them, makes the
// pool grow, and links the object to the new segment. The first thread may follow this link without
// having seen the segment.
struct Batches : SegmentTest<Batches, 2> {
    void before() {
        Acquire(kFirst - 1);
        most = 8 * kFirst;
    }
    void thread(unsigned index) {
        if (index == 0) {
            uint32_t taken[3];
            const uint32_t count = pool.TakeSome(taken, 3);
            Check(count >= 1 && count <= 3, "TakeSome returned a wrong number");
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

// The pool cannot grow, and threads take the last objects. Each object must go to one of them, and
// the others get none.
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

// Two users with caches, and one without. Each of the other users may return an object that the
// first one has taken.
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
