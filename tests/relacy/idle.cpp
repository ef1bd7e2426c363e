// Idle: threads that publish work and workers that fall asleep. No wake-up may be lost. A lost one
// is a deadlock here: all workers sleep although there is work.
#include "relacy/suite.h"

#include "containers/push_list.h"
#include "containers/work_stealing_deque.h"
#include "core/idle.h"

namespace relacy {

namespace {

constexpr uint32_t kLevel = 1, kOtherLevel = 2;  // bits

// Thread 0 owns a deque. The other threads are workers, which end after the first item that they
// get.
template <class Test, int kThreads>
struct IdleTest : Suite<Test, kThreads> {
    static constexpr uint32_t kWorkers = kThreads - 1;
    Idle idle;
    env::Parker parkers[kThreads];
    WorkStealingDeque<uint64_t> deque;
    Data payload[kWorkers + 1];

    void before() { Check(idle.Acquire(kThreads) && deque.Acquire(4), "no memory"); }
    void after() { deque.Release(); }

    void Push(uint64_t item) {
        payload[item].Write(1);
        Check(deque.Push(item), "no memory");
    }
    // Like WakePlain in scheduler/submit/wake.cpp.
    void WakePlain(uint32_t entries) {
        for (uint32_t i = std::min(entries, idle.PlainSleepers()); i != 0; --i) {
            const uint32_t sleeper = idle.TakeAny(0);
            if (sleeper != Idle::kNone) parkers[sleeper].Unpark();
        }
    }
    // Like WakeFor there: the sleeper may have fallen asleep anew, for another level.
    void WakeFor(uint32_t level) {
        for (;;) {
            const uint32_t sleeper = idle.TakeFor(level, kThreads);
            if (sleeper == Idle::kNone) return;
            const bool isFit = idle.IsFor(sleeper, level);
            parkers[sleeper].Unpark();
            if (isFit) return;
        }
    }
    // Like Published there.
    void Published(uint32_t entries = 1) {
        if (idle.PlainWanted()) WakePlain(entries);
        if (idle.AnyChoosy()) WakeFor(kLevel);
    }
    // Like PublishedOwn in scheduler/submit/wake.h.
    void PublishedOwn(uint32_t entries = 1) {
        if (idle.Wanted()) Published(entries);
    }
    bool Find() {
        uint64_t item;
        if (deque.LooksEmpty() || deque.Steal(item) != StealResult::Taken) return false;
        Check(payload[item].Read() == 1, "another item's payload");
        return true;
    }
    // Like Sleep in scheduler/run/idle_loop.cpp. any() checks for work.
    template <class Any>
    void Sleep(uint32_t worker, uint32_t levels, bool isChoosy, Any any) {
        idle.Announce(worker, levels, isChoosy);
        if (!any() || !idle.TakeAt(worker)) parkers[worker].Park();
    }
    // Like FindWork there.
    void Work(uint32_t worker, bool isChoosy = false) {
        idle.StartSearching(isChoosy);
        while (!Find()) Sleep(worker, kLevel, isChoosy, [this] { return deque.Size() != 0; });
        if (idle.StopSearching(isChoosy)) WakePlain(1);
        if (isChoosy && deque.Size() != 0) Published();  // PassWakeUpsOn
    }
};

// One worker falls asleep while an item is published.
struct Sleeper : IdleTest<Sleeper, 2> {
    void thread(unsigned index) {
        if (index != 0) return Work(index);
        Push(1);
        PublishedOwn();
    }
};

// Two workers fall asleep while two items are published one after the other. The second publication
// wakes no worker if it finds a searcher. Then this searcher must wake the other worker.
struct TwoSleepers : IdleTest<TwoSleepers, 3> {
    void thread(unsigned index) {
        if (index != 0) return Work(index);
        Push(1);
        PublishedOwn();
        Push(2);
        PublishedOwn();
    }
};

// A searcher has found an item and stops, while another worker falls asleep and a second item is
// published. If the publisher sees the searcher, this one must wake the sleeper, or the sleeper
// must see the item: the sleeper's bit may come after the searcher's look at the bits.
struct LastSearcher : IdleTest<LastSearcher, 3> {
    void before() {
        IdleTest::before();
        idle.StartSearching(false);
    }
    void thread(unsigned index) {
        if (index == 2) return Work(index);
        if (index == 1) {
            if (idle.StopSearching(false)) WakePlain(1);
        } else {
            Push(1);
            Published();
        }
    }
};

// Two items are published at once, and up to two workers are woken for them.
struct Batch : IdleTest<Batch, 3> {
    void thread(unsigned index) {
        if (index != 0) return Work(index);
        Check(deque.Reserve(2), "no memory");
        for (uint64_t item = 1; item <= 2; ++item) {
            payload[item].Write(1);
            deque.Stage(item - 1, item);
        }
        deque.Publish(2);
        PublishedOwn(2);
    }
};

// One of two workers is choosy. It takes items here, too, but it must not count as a searcher.
struct Choosy : IdleTest<Choosy, 3> {
    void thread(unsigned index) {
        if (index != 0) return Work(index, index == 1);
        Push(1);
        PublishedOwn();
        Push(2);
        PublishedOwn();
    }
};

// The worker sleeps for another level first, and then for that of the item. A waker may read the
// first mask, and must then not pass over the second sleep.
struct Masks : IdleTest<Masks, 3> {
    env::Atomic<uint32_t> other{0};
    void thread(unsigned index) {
        if (index == 1) {
            while (other.load(kSeqCst) == 0)
                Sleep(1, kOtherLevel, true, [this] { return other.load(kSeqCst) != 0; });
            return Work(1, true);
        }
        if (index == 0) {
            Push(1);
            if (idle.AnySleeper()) WakeFor(kLevel);
        } else {
            other.exchange(1, kSeqCst);
            if (idle.AnySleeper()) WakeFor(kOtherLevel);
        }
    }
};

// Two threads push to the inbox of a certain worker and wake it (WakeAt). It must get both items.
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
            Sleep(0, 0, true, [this] { return !inbox.IsEmpty(); });
        }
    }
    void thread(unsigned index) {
        if (index == 0) return Receive();
        inbox.Push(&items[index]);
        if (idle.TakeAt(0)) parkers[0].Unpark();
    }
};

// A request that is answered when all tasks have finished (scheduler/run/ending.cpp). One thread
// finishes the last task, and joins the order of the announcements before it looks for requests.
// The other one has pushed a request, announces that it sleeps, and looks for requests, too. One of
// them must answer.
struct Request {
    env::Plain<Request *> next;
};
struct Requests : Suite<Requests, 2> {
    Idle idle;
    PushList<Request> requests;
    Request request;
    env::Atomic<uint32_t> answering{0};
    env::Atomic<uint32_t> finished{0};
    int answered = 0;

    void before() {
        Check(idle.Acquire(2), "no memory");
        idle.StartSearching(false);
    }
    // Like AnswerIdleRequests there.
    void Answer() {
        if (answering.fetch_add(1, kAcqRel) != 0) return;
        for (uint32_t come = 1;;) {
            if (!requests.IsEmpty()) {
                Request *const taken = requests.TakeAll();
                if (finished.load(kAcquire) == 1)
                    ++answered;
                else
                    requests.Push(taken);
            }
            if (answering.compare_exchange_strong(come, 0, kAcqRel, kAcquire)) return;
        }
    }
    void thread(unsigned index) {
        if (index == 0) {
            finished.store(1, kRelease);
            idle.JoinOrder();
        } else {
            requests.Push(&request);
            idle.Announce(1, kLevel, false);
        }
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
    runner.Run<LastSearcher>("last_searcher", 100000);
    runner.Run<Batch>("batch", 100000);
    runner.Run<Choosy>("choosy", 100000);
    runner.Run<Masks>("masks", 100000);
    runner.Run<ByName>("by_name", 100000);
    runner.Run<Requests>("requests", 100000);
    return runner.Report();
}
