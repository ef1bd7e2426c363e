// The free fibers (FreeFibers, AtomicBitSet). Each fiber must have one user at a time, which finds
// the stack as the previous user left it. No free fiber may be lost.
#include "relacy/suite.h"

#include "scheduler/state/fibers.h"

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

// A thread announces that it lacks a bit, and then searches for one (kTakes), or asks whether there
// is any. Another thread sets a bit, and then looks for announcements. At least one of them must
// find the other.
template <uint32_t kBits, bool kTakes>
struct Lacks : Suite<Lacks<kBits, kTakes>, 2> {
    AtomicBitSet bits;
    env::Atomic<uint32_t> lacking{0};
    bool found = false, told = false;

    void before() { Check(bits.Acquire(kBits), "no memory"); }
    void thread(unsigned index) {
        if (index == 0) {
            lacking.fetch_add(1, kSeqCst);
            found = kTakes ? bits.ClearAny(0) != AtomicBitSet::kNone : bits.Any();
        } else {
            bits.Set(kBits - 1);
            told = lacking.load(kSeqCst) != 0;
        }
    }
    void after() { Check(found || told, "a set bit and a thread that lacks one miss each other"); }
};
using LacksInWords = Lacks<70, true>;
using LacksUnderHints = Lacks<300, true>;  // more than kFewWords words
using AsksInWords = Lacks<70, false>;
using AsksUnderHints = Lacks<300, false>;

// Two threads take bits of one word and set them again. The hint of the word must not stay clear.
struct Hints : Suite<Hints, 3> {
    AtomicBitSet bits;
    void before() {
        Check(bits.Acquire(300), "no memory");
        bits.Set(299);
    }
    void thread(unsigned index) {
        const uint32_t bit = bits.ClearAny(index * 64);
        if (bit != AtomicBitSet::kNone) bits.Set(bit);
    }
    void after() { Check(bits.ClearAny(0) == 299, "a bit was lost"); }
};

// Workers that take fibers and free them. All fibers are free at first.
template <class Test, uint32_t kFibers, uint32_t kWorkers>
struct FibersTest : Suite<Test, kWorkers> {
    FreeFibers fibers;
    FreeFibers::Slot slots[3] = {{FreeFibers::kNone}, {FreeFibers::kNone}, {FreeFibers::kNone}};
    Data stack[kFibers];
    int users[kFibers] = {};

    void before() { Check(fibers.Acquire(kFibers), "no memory"); }
    bool Take(uint32_t worker, uint32_t &fiber) {
        fiber = fibers.Take(worker, kWorkers,
                            [this](uint32_t i) -> FreeFibers::Slot & { return slots[i]; });
        if (fiber == FreeFibers::kNone) return false;
        Use(fiber);
        return true;
    }
    void Use(uint32_t fiber) {
        Check(++users[fiber] == 1, "invariant 3: a fiber has two users");
        stack[fiber].Write(stack[fiber].Read() + 1);
    }
    void Leave(uint32_t fiber) {
        stack[fiber].Write(stack[fiber].Read() + 1);
        --users[fiber];
    }
    void Free(uint32_t worker, uint32_t fiber) {
        Leave(fiber);
        fibers.Free(fiber, slots[worker]);
    }
    void after() {
        uint32_t fiber;
        for (uint32_t i = 0; i < kFibers; ++i) Check(Take(0, fiber), "a fiber was lost");
        Check(!Take(0, fiber), "a fiber is free twice");
    }
};

// Fibers move through the workers' slots and the set.
struct Workers : FibersTest<Workers, 2, 3> {
    void thread(unsigned index) {
        for (int round = 0; round < 2; ++round) {
            uint32_t fiber;
            if (Take(index, fiber)) Free(index, fiber);
        }
    }
};

// A worker takes two fibers and frees both: the first one moves from its slot to the set. Another
// worker takes what it finds.
struct Pairs : FibersTest<Pairs, 2, 2> {
    void thread(unsigned index) {
        uint32_t fiber, second;
        if (!Take(index, fiber)) return;
        if (index == 0 && Take(index, second)) Free(index, second);
        Free(index, fiber);
    }
};

// Another thread takes a certain fiber out of the set, as TrimMemory does, to change its stack.
struct Trimmed : FibersTest<Trimmed, 1, 2> {
    void thread(unsigned index) {
        if (index == 0) {
            uint32_t fiber;
            if (!Take(0, fiber)) return;
            Leave(fiber);
            fibers.GiveBack(fiber);
            if (Take(0, fiber)) Free(0, fiber);
        } else if (fibers.TakeAt(0)) {
            Use(0);
            Leave(0);
            fibers.GiveBack(0);
        }
    }
};

}  // namespace

}  // namespace relacy

int main(int argc, char **argv) {
    using namespace relacy;
    Runner runner(argc, argv);
    runner.Run<Bits>("bits", 100000);
    runner.Run<LacksInWords>("lacks_in_words", 100000);
    runner.Run<LacksUnderHints>("lacks_under_hints", 100000);
    runner.Run<AsksInWords>("asks_in_words", 100000);
    runner.Run<AsksUnderHints>("asks_under_hints", 100000);
    runner.Run<Hints>("hints", 100000);
    runner.Run<Workers>("workers", 100000);
    runner.Run<Pairs>("pairs", 100000);
    runner.Run<Trimmed>("trimmed", 100000);
    return runner.Report();
}
