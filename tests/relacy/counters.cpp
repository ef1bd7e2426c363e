// Waits for a counter (core/counters.h). A waiter that resumes must see what the counted tasks
// wrote (invariant 5). After a wait for zero no thread may access the counter (invariant 4), so the
// tests free it at once.
#include "relacy/suite.h"

#include "core/counters.h"

#include "core/counters.cpp"

namespace relacy {

namespace {

using Registration = Counters::Registration;

template <class Test, int kThreads>
struct CounterTest : Suite<Test, kThreads> {
    static constexpr uint32_t kFibers = 3;
    static constexpr uint32_t kOther = 100;  // an owner that is no fiber
    Counters counters;
    Notices notices;
    Counter *counter = nullptr;
    uint32_t begin = 0;     // the initial count
    Data result[kThreads];  // the result of each thread's task
    env::Atomic<uint32_t> done[kThreads];
    Data context[kFibers];  // what a fiber left on its stack
    Data contextOfOther;
    uint32_t target[kFibers] = {};
    int resumed[kFibers] = {};
    int otherResumed = 0;

    CounterStorage &Word() { return CounterAccess::Word(*counter); }
    void Acquire(uint32_t count) {
        Check(counters.Acquire(kFibers, 1, {}, 0, &notices), "no memory");
        counter = Memory().NewArray<Counter>(1);
        begin = count;
        if (count != 0) Add(count);
    }
    void Add(uint32_t n) {
        Check(counters.Add(Word(), n) == CounterResult::Ok, "an addition was refused");
    }

    // ---- the waiter ----
    void Wait(uint32_t fiber, uint32_t until) {
        target[fiber] = until;
        context[fiber].Write(1);
        if (counters.Register(Word(), fiber, until, Priority::Normal) == Registration::Satisfied)
            Resume(fiber);
    }
    void Resume(uint32_t fiber) {
        Check(context[fiber].Read() == 1, "a fiber was resumed without its saved context");
        context[fiber].Write(2);
        ++resumed[fiber];
        static_cast<Test *>(this)->Resumed(fiber);
    }
    void WaitAsOther(uint32_t until) {
        contextOfOther.Write(1);
        if (counters.Register(Word(), kOther, until, Priority::Normal) == Registration::Satisfied)
            ResumeOther();
    }
    void ResumeOther() {
        Check(contextOfOther.Read() == 1, "a waiter was resumed without its data");
        contextOfOther.Write(2);
        Check(++otherResumed == 1, "resumed twice, or taken off and resumed");
    }
    /// All tasks of the first `count` threads have finished.
    void SeesAll(uint32_t count = kThreads) {
        for (uint32_t i = 0; i < count; ++i)
            Check(result[i].Read() == 1, "the result of a counted task is missing");
    }
    /// At least `count` tasks have finished.
    void SeesSome(uint32_t count) {
        for (const env::Atomic<uint32_t> &flag : done)
            count -= std::min(count, flag.load(kRelaxed));
        Check(count == 0, "resumed too early, or a write of a counted task is not visible");
    }
    void Free() {
        Memory().DeleteArray(counter, 1);
        counter = nullptr;
    }

    // ---- the tasks ----
    void Finish(uint32_t thread) {
        result[thread].Write(1);
        done[thread].store(1, kRelaxed);
        Lower(Word());
    }
    void Lower(CounterStorage &word) {
        if (counters.LowerPlain(word, 1)) return;
        const auto ready = [this](uint32_t owner) {
            owner == kOther ? ResumeOther() : Resume(owner);
        };
        Check(counters.Lower(word, 1, kNoCache, ready) == CounterResult::Ok,
              "a decrement was refused");
    }
    void ReleaseAll() {
        if (counter != nullptr) {
            const CounterWord left{Word().load(kRelaxed)};
            Check(!left.InUse(), "the counter is left in use");
            Free();
        }
        counters.HideForValue();
        Check(!notices.Has(Notices::kForValue), "a notice stays set without a waiter");
    }
    void ResumedOnce(std::initializer_list<uint32_t> fibers) {
        for (const uint32_t fiber : fibers)
            Check(resumed[fiber] == 1, "lost wake-up in wait, or resumed twice");
    }
};

// Two tasks finish while a waiter for zero registers. The waiter frees the counter.
struct Zero : CounterTest<Zero, 3> {
    void before() { Acquire(2); }
    void thread(unsigned index) {
        if (index < 2)
            Finish(index);
        else
            Wait(0, 0);
    }
    void Resumed(uint32_t) {
        SeesAll(2);
        Free();
    }
    void after() {
        ResumedOnce({0});
        ReleaseAll();
    }
};

// Like Zero, but a thread polls the counter and then frees it.
struct Polled : CounterTest<Polled, 3> {
    void before() {
        Acquire(2);
        Wait(0, 1);  // so that a decrement locks the counter
    }
    void thread(unsigned index) {
        if (index < 2) return Finish(index);
        while (!counter->IsZero()) env::Pause();
        SeesAll(2);
        Free();
    }
    void Resumed(uint32_t) { SeesSome(1); }
    void after() {
        ResumedOnce({0});
        ReleaseAll();
    }
};

// Three tasks finish, with waiters for 2, 1 and 0. A decrement makes a heap, and others go on with
// it.
struct Targets : CounterTest<Targets, 3> {
    void before() {
        Acquire(3);
        for (uint32_t fiber = 0; fiber < 3; ++fiber) Wait(fiber, 2 - fiber);
    }
    void thread(unsigned index) { Finish(index); }
    void Resumed(uint32_t fiber) {
        SeesSome(begin - target[fiber]);
        if (target[fiber] == 0) SeesAll();
    }
    void after() {
        ResumedOnce({0, 1, 2});
        ReleaseAll();
    }
};

// Waiters register while another thread has locked the counter.
struct Coming : CounterTest<Coming, 3> {
    void before() {
        Acquire(2);
        Wait(0, 1);
    }
    void thread(unsigned index) {
        if (index < 2) return Finish(index);
        Wait(1, 1);
        Wait(2, 0);
    }
    void Resumed(uint32_t fiber) {
        SeesSome(begin - target[fiber]);
        if (target[fiber] == 0) SeesAll(2);
    }
    void after() {
        ResumedOnce({0, 1, 2});
        ReleaseAll();
    }
};

// A thread adds to the counter while another one has locked it. Each value that was reached must
// still be seen.
struct Raised : CounterTest<Raised, 3> {
    void before() {
        Acquire(2);
        Wait(0, 1);
        Wait(1, 0);
    }
    void thread(unsigned index) {
        if (index < 2) return Finish(index);
        Add(1);
        Lower(Word());
    }
    void Resumed(uint32_t fiber) {
        SeesSome(target[fiber] == 0 ? 2 : 1);
        if (target[fiber] == 0) SeesAll(2);
    }
    void after() {
        ResumedOnce({0, 1});
        ReleaseAll();
    }
};

// A task adds further tasks to its counter. A waiter for zero must see what all of them wrote, also
// through the additions.
struct Additions : CounterTest<Additions, 3> {
    void before() {
        Acquire(2);
        Wait(0, 0);
    }
    void thread(unsigned index) {
        if (index == 0) {
            Finish(0);
        } else if (index == 1) {
            Add(1);
            Finish(1);
            Lower(Word());
        } else {
            Wait(1, 0);
        }
    }
    void Resumed(uint32_t) { SeesAll(2); }
    void after() {
        ResumedOnce({0, 1});
        ReleaseAll();
    }
};

// A fiber that waited for 1 waits for 0 as soon as it goes on, with the same record. The decrement
// that woke it may still go through its list.
struct Again : CounterTest<Again, 2> {
    void before() {
        Acquire(2);
        Wait(0, 1);
        Wait(1, 1);
    }
    void thread(unsigned index) { Finish(index); }
    void Resumed(uint32_t fiber) {
        SeesSome(begin - target[fiber]);
        if (target[fiber] == 0) return SeesAll();
        Wait(fiber, 0);
    }
    void after() {
        Check(resumed[0] == 2 && resumed[1] == 2, "lost wake-up in wait, or resumed twice");
        ReleaseAll();
    }
};

// A record is removed from a list, beside a waiter that stays, while the tasks finish. Its owner
// must be notified or the removal must succeed, never both.
struct Removal : CounterTest<Removal, 3> {
    void before() {
        Acquire(2);
        Wait(0, 0);
    }
    void thread(unsigned index) {
        if (index < 2) return Finish(index);
        WaitAsOther(0);
        if (counters.Remove(Word(), kOther)) ResumeOther();
    }
    void Resumed(uint32_t) { SeesAll(2); }
    void after() {
        ResumedOnce({0});
        Check(otherResumed == 1, "a record was lost");
        ReleaseAll();
    }
};

// Like Removal, from a heap. The record is then used again for a waiter with another target.
struct RemovalOfTarget : CounterTest<RemovalOfTarget, 3> {
    void before() {
        Acquire(2);
        Wait(0, 1);
        WaitAsOther(0);
    }
    void thread(unsigned index) {
        if (index < 2) return Finish(index);
        if (!counters.Remove(Word(), kOther)) return;
        ResumeOther();
        Wait(1, 0);
    }
    void Resumed(uint32_t fiber) {
        SeesSome(begin - target[fiber]);
        if (target[fiber] == 0) SeesAll(2);
    }
    void after() {
        ResumedOnce({0});
        Check(otherResumed == 1, "a record was lost");
        ReleaseAll();
    }
};

// A waiter for a value registers while another thread finds no such waiter and hides the notice.
// The waiter must not stay unnoticed.
struct NoticeOfValue : CounterTest<NoticeOfValue, 2> {
    void before() {
        Acquire(2);
        notices.Show(Notices::kForValue);
    }
    void thread(unsigned index) {
        if (index == 0)
            Wait(0, 1);
        else
            counters.HideForValue();
    }
    void Resumed(uint32_t) {}
    void after() {
        Check(notices.Has(Notices::kForValue), "a waiter for a value has no notice");
        counters.HideForValue();
        Check(notices.Has(Notices::kForValue), "the notice was hidden while a fiber waits");
        Finish(0);
        ResumedOnce({0});
        Finish(1);
        ReleaseAll();
    }
};

}  // namespace

}  // namespace relacy

int main(int argc, char **argv) {
    using namespace relacy;
    Runner runner(argc, argv);
    runner.Run<Zero>("zero", 50000);
    runner.Run<Polled>("polled", 50000);
    runner.Run<Targets>("targets", 50000);
    runner.Run<Coming>("coming", 50000);
    runner.Run<Raised>("raised", 50000);
    runner.Run<Additions>("additions", 50000);
    runner.Run<Again>("again", 50000);
    runner.Run<Removal>("removal", 50000);
    runner.Run<RemovalOfTarget>("removal_of_target", 50000);
    runner.Run<NoticeOfValue>("notice_of_value", 50000);
    return runner.Report();
}
