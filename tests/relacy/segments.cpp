// Objects of a pool: one user at a time, who comes after the last one; segments are added under the users' hands.
#include "relacy/suite.h"

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

}  // namespace

}  // namespace relacy

int main(int argc, char **argv) {
    using namespace relacy;
    Runner runner(argc, argv);
    runner.Run<UsedInTurn>("turns", 100000);
    runner.Run<Segments>("segments", 50000);
    runner.Run<HandedOver>("handed_over", 50000);
    runner.Run<Together>("together", 100000);
    return runner.Report();
}
