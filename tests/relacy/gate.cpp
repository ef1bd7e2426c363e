// The entry gate (EntryGate) between external threads and the end of a run. A call must find a
// scheduler that exists until the call leaves, or none. The thread that decides about the end must
// see what earlier calls did.
#include "relacy/suite.h"

#include "scheduler/state/entry_gate.h"

namespace weft {

// The gate needs only the members of TaskScheduler, so this file defines its constructor and
// destructor.
TaskScheduler::TaskScheduler(const SchedulerOptions &options) noexcept {
    internal::EntryGate::Construct(*this, options);
}
TaskScheduler::~TaskScheduler() { internal::EntryGate::StateOf(*this).~SchedulerState(); }

namespace internal {

// Replaces the real scheduler.
struct Scheduler {
    relacy::Data memory;              // written when it is freed
    relacy::Data submitted;           // by the thread that submits
    env::Atomic<uint32_t> guests{0};  // like the member of the real one
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
    // Makes one call. Returns whether it found a scheduler.
    template <class Inside>
    bool Call(Inside inside) {
        EntryGate::Visit visit(taskScheduler);
        Scheduler *found = visit.ComeIn();
        if (found != nullptr) {
            Check(found == &scheduler && found->memory.Read() == 0,
                  "a destroyed scheduler was used");
            inside(visit);
        }
        visit.GoOut();
        return found != nullptr;
    }
};

// Two threads make a call each, while a third one ends the run.
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

// A call submits while another thread decides about the end. That thread must see the submission,
// or the call must find no scheduler.
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
    void after() { Check(taken ? !over : over, "a call was lost, or the run did not end"); }
};

// The gate opens beside a call. The call must see what was written before the opening.
struct Opens : GateTest<Opens, 2> {
    Data made;
    void thread(unsigned index) {
        if (index == 0) {
            made.Write(1);
            EntryGate::Open(taskScheduler, &scheduler);
        } else {
            Call([&](EntryGate::Visit &) {
                Check(made.Read() == 1, "a write before Open is not visible");
            });
        }
    }
};

// Two threads decide at the same time. The second one must see what the first one wrote in its
// decision.
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

// A thread that blocks in a call becomes a guest and goes out meanwhile. The scheduler must exist
// until the guest has left.
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
                Check(scheduler.memory.Read() == 0, "a destroyed scheduler was used");
                visit.ComeBack();
                scheduler.guests.fetch_sub(1, kSeqCst);
                Check(scheduler.memory.Read() == 0, "a destroyed scheduler was used");
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
