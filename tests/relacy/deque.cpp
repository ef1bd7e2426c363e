// The work-stealing deque with one owner and its thieves. Each item must come out once, and its
// taker must see what the owner wrote before it pushed the item.
#include "relacy/suite.h"

#include "containers/work_stealing_deque.h"

namespace relacy {

namespace {

template <class Test, int kThreads>
struct DequeTest : Suite<Test, kThreads> {
    static constexpr uint64_t kItems = 4;
    WorkStealingDeque<uint64_t> deque;
    Data payload[kItems + 1];
    int taken[kItems + 1] = {};
    uint64_t pushed = 0;

    void Acquire(uint64_t capacity) { Check(deque.Acquire(capacity), "no memory"); }
    uint64_t Make() {
        ++pushed;
        payload[pushed].Write(static_cast<int>(pushed));
        return pushed;
    }
    void Push() { Check(deque.Push(Make()), "no memory"); }
    void Stage(uint64_t count) {
        Check(deque.Reserve(count), "no memory");
        for (uint64_t i = 0; i < count; ++i) deque.Stage(i, Make());
    }
    void Use(uint64_t item) {
        Check(item >= 1 && item <= kItems, "an item that was never pushed");
        Check(payload[item].Read() == static_cast<int>(item), "another item's payload");
        payload[item].Write(-1);
        Check(++taken[item] == 1, "a task runs twice");
    }
    void Pop() {
        if (uint64_t item; deque.Pop(item)) Use(item);
    }
    void Steal() {
        uint64_t item = 0;
        if (deque.Steal(item) != StealResult::Taken) return;
        env::RelyOnLastLoad();
        Use(item);
    }
    void after() {
        for (uint64_t item; deque.Pop(item);) Use(item);
        for (uint64_t i = 1; i <= pushed; ++i) Check(taken[i] == 1, "a task was lost");
        deque.Release();
    }
};

// The owner pushes two items and pops, while a thief steals.
struct OneThief : DequeTest<OneThief, 2> {
    void before() { Acquire(4); }
    void thread(unsigned index) {
        if (index == 0) {
            Push();
            Push();
            Pop();
            Pop();
        } else {
            Steal();
            Steal();
        }
    }
};

// The owner publishes three items at once and pops, while two thieves steal.
struct TwoThieves : DequeTest<TwoThieves, 3> {
    void before() { Acquire(4); }
    void thread(unsigned index) {
        if (index == 0) {
            Stage(3);
            deque.Publish(3);
            Pop();
            Pop();
        } else {
            Steal();
            Steal();
        }
    }
};

// Slots of the ring are used again while thieves read them.
struct Reuse : DequeTest<Reuse, 2> {
    void before() { Acquire(2); }
    void thread(unsigned index) {
        if (index == 0) {
            Push();
            Push();
            Push();
            Push();
            Pop();
        } else {
            Steal();
            Steal();
            Steal();
        }
    }
};

// The ring grows while thieves steal.
struct Growth : DequeTest<Growth, 3> {
    void before() { Acquire(1); }
    void thread(unsigned index) {
        if (index == 0) {
            Push();
            Push();
            Stage(2);
            deque.Publish(2);
        } else {
            Steal();
            Steal();
        }
    }
};

}  // namespace

}  // namespace relacy

int main(int argc, char **argv) {
    using namespace relacy;
    Runner runner(argc, argv);
    runner.Run<OneThief>("one_thief", 200000);
    runner.Run<TwoThieves>("two_thieves", 200000);
    runner.Run<Reuse>("reuse", 200000);
    runner.Run<Growth>("growth", 200000);
    return runner.Report();
}
