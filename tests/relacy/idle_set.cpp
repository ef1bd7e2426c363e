// IdleSet: threads that publish work and workers that fall asleep. No wake-up may be lost. A lost
// one is a deadlock here: all workers sleep although there is work.
#include "relacy/suite.h"

#include "containers/push_list.h"
#include "containers/work_stealing_deque.h"
#include "core/idle_set.h"

namespace relacy {

namespace {

// Thread 0 owns a deque. The other threads are workers, which end after the first item that they
// get.
template <class Test, int kThreads>
struct IdleTest : Suite<Test, kThreads> {
    static constexpr uint32_t kWorkers = kThreads - 1;
    IdleSet idle;
    env::Parker parkers[kThreads];
    WorkStealingDeque<uint64_t> deque;
    Data payload[kWorkers + 1];

    void before() { Check(idle.Acquire(kThreads) && deque.Acquire(4), "no memory"); }
    void after() { deque.Release(); }

    void Push(uint64_t item) {
        payload[item].Write(1);
        Check(deque.Push(item), "no memory");
    }
    void WakeForAny() {
        if (!idle.Wanted()) return;
        uint32_t sleeper = idle.TakeSleeper(0);
        if (sleeper == IdleSet::kNone) sleeper = idle.TakeStarvedSleeper(0);
        if (sleeper != IdleSet::kNone) parkers[sleeper].Unpark();
    }
    bool Find() {
        uint64_t item;
        if (deque.LooksEmpty() || deque.Steal(item) != StealResult::Taken) return false;
        Check(payload[item].Read() == 1, "another item's payload");
        return true;
    }
    void Work(uint32_t worker, WorkerMode mode) {
        const bool searches = mode == WorkerMode::Tasks;
        if (searches) idle.StartSearching();
        while (!Find()) {
            idle.Announce(worker, mode);
            if (deque.Size() != 0) {
                if (!idle.Cancel(worker, mode)) parkers[worker].Park();
            } else {
                parkers[worker].Park();
            }
        }
        if (searches) {
            if (idle.StopSearching()) WakeForAny();
        } else {
            WakeForAny();  // the worker may have been woken for something else
        }
    }
};

// One worker falls asleep while an item is published.
struct Sleeper : IdleTest<Sleeper, 2> {
    void thread(unsigned index) {
        if (index != 0) return Work(index, WorkerMode::Tasks);
        Push(1);
        WakeForAny();
    }
};

// Two workers fall asleep while two items are published one after the other. The second publication
// wakes no worker if it finds a searcher. Then this searcher must wake the other worker.
struct TwoSleepers : IdleTest<TwoSleepers, 3> {
    void thread(unsigned index) {
        if (index != 0) return Work(index, WorkerMode::Tasks);
        Push(1);
        WakeForAny();
        Push(2);
        WakeForAny();
    }
};

// Two items are published at once, and two workers are woken for them.
struct Batch : IdleTest<Batch, 3> {
    void thread(unsigned index) {
        if (index != 0) return Work(index, WorkerMode::Tasks);
        Check(deque.Reserve(2), "no memory");
        for (uint64_t item = 1; item <= 2; ++item) {
            payload[item].Write(1);
            deque.Stage(item - 1, item);
        }
        deque.Publish(2);
        WakeForAny();
        WakeForAny();
    }
};

// One of two workers is starved. It takes items here, too, but it must not count as a searcher.
struct Starved : IdleTest<Starved, 3> {
    void thread(unsigned index) {
        if (index != 0)
            return Work(index, index == 1 ? WorkerMode::ReadyFibersOnly : WorkerMode::Tasks);
        Push(1);
        WakeForAny();
        Push(2);
        WakeForAny();
    }
};

// Two threads push to the inbox of a certain worker and wake it (TakeSleeperAt). It must get both
// items.
struct InboxItem {
    env::Plain<InboxItem *> next;
};
struct ByName : IdleTest<ByName, 3> {
    PushList<InboxItem> inbox;
    InboxItem items[3];

    void Receive() {
        for (int received = 0;;) {
            for (InboxItem *item = inbox.TakeAll(); item != nullptr; item = item->next) ++received;
            if (received == 2) return;
            idle.Announce(0, WorkerMode::ReadyFibersOnly);
            if (inbox.IsEmpty() || !idle.Cancel(0, WorkerMode::ReadyFibersOnly)) parkers[0].Park();
        }
    }
    void thread(unsigned index) {
        if (index == 0) return Receive();
        inbox.Push(&items[index]);
        if (idle.TakeSleeperAt(0)) parkers[0].Unpark();
    }
};

// Requests that are answered when all tasks have finished, as in AnswerIdleRequests. One thread
// puts a request back because a task is unfinished, and then checks the idle state. The other
// thread finishes this task, announces that it sleeps, and checks the requests. Exactly one of them
// must answer.
struct Request {
    env::Plain<Request *> next;
};
struct Requests : Suite<Requests, 2> {
    IdleSet idle;
    PushList<Request> requests;
    Request request;
    env::Atomic<uint32_t> finished{0};
    int answered = 0;

    void before() {
        Check(idle.Acquire(2), "no memory");
        requests.Push(&request);
        idle.StartSearching();
        idle.StartSearching();
    }
    void Answer() {
        while (!requests.IsEmpty()) {
            Request *taken = requests.TakeAll();
            const bool all = finished.load(kAcquire) == 1;
            if (taken != nullptr) {
                if (all)
                    Check(++answered == 1, "answered twice");
                else
                    requests.Push(taken);
            }
            if (all) continue;
            idle.Snapshot();
            if (finished.load(kAcquire) != 1) break;
        }
    }
    void thread(unsigned index) {
        if (index == 0) finished.store(1, kRelease);
        idle.Announce(index, WorkerMode::Tasks);
        Answer();
    }
    void after() { Check(answered == 1, "the request was not answered"); }
};

}  // namespace

}  // namespace relacy

int main(int argc, char **argv) {
    using namespace relacy;
    Runner runner(argc, argv);
    runner.Run<Sleeper>("sleeper", 100000);
    runner.Run<TwoSleepers>("two_sleepers", 100000);
    runner.Run<Batch>("batch", 100000);
    runner.Run<Starved>("starved", 100000);
    runner.Run<ByName>("by_name", 100000);
    runner.Run<Requests>("requests", 100000);
    return runner.Report();
}
