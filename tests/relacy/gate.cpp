// The end of a run and threads that are no workers. A call finds a scheduler that is there until it
// goes out, or none; what calls did is known to who decides.
#include "relacy/suite.h"

#include "scheduler/state/entry_gate.h"

namespace weft {

// What lies in a TaskScheduler is the gate's; nothing else of it is needed.
TaskScheduler::TaskScheduler(const SchedulerOptions &options) noexcept {
    internal::EntryGate::Construct(*this, options);
}
TaskScheduler::~TaskScheduler() { internal::EntryGate::StateOf(*this).~SchedulerState(); }

namespace internal {

// Stands in for the real one.
struct Scheduler {
    relacy::Data memory;              // written when it is freed
    relacy::Data submitted;           // by the one thread that submits
    env::Atomic<uint32_t> guests{0};  // as in scheduler/scheduler.h
};

}  // namespace internal

}  // namespace weft

namespace relacy {

namespace {

template <class Test, int kThreads>
struct GateTest : Suite<Test, kThreads> {
    TaskScheduler taskScheduler;
    Scheduler scheduler;
    bool over = false;

    void Free() {
        Check(!over, "ended twice");
        over = true;
        scheduler.memory.Write(1);
    }
    // One call: whether there was a scheduler.
    template <class Inside>
    bool Call(Inside inside) {
        EntryGate::Visit visit(taskScheduler);
        Scheduler *found = visit.ComeIn();
        if (found != nullptr) {
            Check(found == &scheduler && found->memory.Read() == 0, "a scheduler that is gone");
            inside(visit);
        }
        visit.GoOut();
        return found != nullptr;
    }
};

// Two threads call once each, one ends the run.
struct Calls : GateTest<Calls, 3> {
    void before() { EntryGate::Open(taskScheduler, &scheduler); }
    void thread(unsigned index) {
        if (index != 0) {
            Call([](EntryGate::Visit &) {});
            return;
        }
        Check(EntryGate::Close(taskScheduler, [] { return true; }), "not closed");
        Free();
    }
};

// A call submits: whoever decides sees that, or the call comes too late.
struct Submits : GateTest<Submits, 2> {
    bool taken = false;
    bool seen = false;
    void before() { EntryGate::Open(taskScheduler, &scheduler); }
    void thread(unsigned index) {
        if (index == 0) {
            const auto isOver = [&] {
                seen = scheduler.submitted.Read() != 0;
                return !seen;
            };
            if (EntryGate::Close(taskScheduler, isOver)) Free();
        } else {
            taken = Call([&](EntryGate::Visit &) { scheduler.submitted.Write(1); });
        }
    }
    void after() { Check(taken ? !over : over, "a call was lost, or the run goes on for nothing"); }
};

// Started beside a call: what was made ready before the gate opened is there.
struct Opens : GateTest<Opens, 2> {
    Data made;
    void thread(unsigned index) {
        if (index == 0) {
            made.Write(1);
            EntryGate::Open(taskScheduler, &scheduler);
        } else {
            Call([&](EntryGate::Visit &) { Check(made.Read() == 1, "half made"); });
        }
    }
};

// Two decide at the same time; the second is told by the first.
struct Deciders : GateTest<Deciders, 3> {
    void before() { EntryGate::Open(taskScheduler, &scheduler); }
    Data decided;
    void thread(unsigned index) {
        if (index == 2) {
            Call([](EntryGate::Visit &) {});
            return;
        }
        EntryGate::Close(taskScheduler, [&] {
            decided.Write(decided.Read() + 1);
            return false;
        });
    }
    void after() { Check(decided.Read() == 2, "a decision was lost"); }
};

// A thread that blocks inside a call is a guest and goes out meanwhile; its scheduler waits for it.
struct Guest : GateTest<Guest, 2> {
    env::Parker told;
    void before() { EntryGate::Open(taskScheduler, &scheduler); }
    void thread(unsigned index) {
        if (index == 0) {
            told.Unpark();
            while (!EntryGate::Close(taskScheduler,
                                     [&] { return scheduler.guests.load(kSeqCst) == 0; }))
                env::Pause();
            Free();
        } else {
            Call([&](EntryGate::Visit &visit) {
                scheduler.guests.fetch_add(1, kSeqCst);
                visit.GoOut();
                told.Park();
                Check(scheduler.memory.Read() == 0, "a scheduler that is gone");
                visit.ComeBack();
                scheduler.guests.fetch_sub(1, kSeqCst);
                Check(scheduler.memory.Read() == 0, "a scheduler that is gone");
            });
        }
    }
};

}  // namespace

}  // namespace relacy

int main(int argc, char **argv) {
    using namespace relacy;
    Runner runner(argc, argv);
    runner.Run<Calls>("calls", 100000);
    runner.Run<Submits>("submits", 100000);
    runner.Run<Opens>("opens", 100000);
    runner.Run<Deciders>("deciders", 100000);
    runner.Run<Guest>("guest", 100000);
    return runner.Report();
}
