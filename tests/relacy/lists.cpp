// PushList as inbox and as injector. Each node must arrive once, with what was written to it, in
// the order of its producer. A consumer that sleeps must be woken. A consumer that has cleared its
// notice must see what was pushed before.
#include "relacy/suite.h"

#include "containers/push_list.h"
#include "core/idle.h"
#include "core/notices.h"

namespace relacy {

namespace {

struct Node {
    env::Plain<Node *> next;
    Data payload;
    uint32_t producer = 0;
    int order = 0;
};

template <class Test, int kThreads>
struct ListTest : Suite<Test, kThreads> {
    PushList<Node> list;
    Node nodes[2][2];
    int seen[2] = {};

    void Push(uint32_t producer, int order) {
        Node &node = nodes[producer][order];
        node.producer = producer;
        node.order = order;
        node.payload.Write(order + 1);
        list.Push(&node);
    }
    int Consume() {
        int count = 0;
        for (Node *node = list.TakeAll(); node != nullptr; node = node->next) {
            Check(node->payload.Read() == node->order + 1, "another node's payload");
            Check(node->order == seen[node->producer]++, "a node was lost, or the order changed");
            ++count;
        }
        return count;
    }
};

// Two producers and one consumer.
struct Producers : ListTest<Producers, 3> {
    void thread(unsigned index) {
        if (index < 2) {
            Push(index, 0);
            Push(index, 1);
        } else {
            Consume();
            Consume();
        }
    }
    void after() {
        Consume();
        Check(seen[0] == 2 && seen[1] == 2, "a node was lost");
    }
};

// Two consumers take all nodes, like workers that look at the injector. Each node must go to one of
// them.
struct Consumers : ListTest<Consumers, 3> {
    void thread(unsigned index) {
        if (index == 0) {
            Push(0, 0);
            Push(0, 1);
        } else {
            for (Node *node = list.TakeAll(); node != nullptr; node = node->next) {
                Check(node->payload.Read() == node->order + 1, "another node's payload");
                node->payload.Write(-1);
                ++seen[0];
            }
        }
    }
    void after() {
        for (Node *node = list.TakeAll(); node != nullptr; node = node->next) ++seen[0];
        Check(seen[0] == 2, "a node was lost, or came twice");
    }
};

// Two nodes are pushed at once, beside a third one. They must arrive together, in order.
struct Batches : ListTest<Batches, 3> {
    void thread(unsigned index) {
        if (index == 0) {
            for (int order = 0; order < 2; ++order) {
                nodes[0][order].order = order;
                nodes[0][order].payload.Write(order + 1);
            }
            nodes[0][1].next = &nodes[0][0];
            list.Push(&nodes[0][1], &nodes[0][0]);
        } else if (index == 1) {
            Push(1, 0);
        } else {
            Consume();
            Check(seen[0] != 1, "a batch was torn");
        }
    }
    void after() {
        Consume();
        Check(seen[0] == 2 && seen[1] == 1, "a node was lost");
    }
};

// A consumer takes all nodes, keeps the oldest one and pushes the others again, as TakeBehind does
// (scheduler/policy/places.cpp). Each node must go to one consumer.
struct Returned : ListTest<Returned, 3> {
    int taken = 0;

    void Take() {
        Node *const oldest = list.TakeAll();
        if (oldest == nullptr) return;
        for (Node *rest = oldest->next; rest != nullptr;) {
            Node *const next = rest->next;
            list.Push(rest);
            rest = next;
        }
        Check(oldest->payload.Read() == oldest->order + 1, "another node's payload");
        oldest->payload.Write(-1);
        ++taken;
    }
    void before() {
        for (int i = 0; i < 4; ++i) Push(i / 2, i % 2);
    }
    void thread(unsigned) { Take(); }
    void after() {
        while (!list.IsEmpty()) Take();
        Check(taken == 4, "a node was lost, or came twice");
    }
};

// The owner of an inbox announces that it sleeps and looks once more. A producer pushes, and then
// wakes this worker if it sleeps (WakeAt in scheduler/submit/wake.cpp).
struct Inbox : ListTest<Inbox, 3> {
    Idle idle;
    env::Parker parker;

    void before() { Check(idle.Acquire(1), "no memory"); }
    void Deliver(uint32_t producer) {
        Push(producer, 0);
        if (idle.TakeAt(0)) parker.Unpark();
    }
    void thread(unsigned index) {
        if (index < 2) return Deliver(index);
        for (int count = Consume(); count < 2; count += Consume()) {
            idle.Announce(0, 0, true);
            if (list.IsEmpty() || !idle.TakeAt(0)) parker.Park();
        }
    }
};

// Like Inbox, for the injector: a producer wakes any worker that sleeps.
struct Injector : ListTest<Injector, 3> {
    Idle idle;
    env::Parker parker;

    void before() {
        Check(idle.Acquire(1), "no memory");
        idle.StartSearching(false);
    }
    void Inject(uint32_t producer) {
        Push(producer, 0);
        if (!idle.PlainWanted()) return;
        if (idle.TakeAny(0) != Idle::kNone) parker.Unpark();
    }
    void thread(unsigned index) {
        if (index < 2) return Inject(index);
        for (int count = Consume(); count < 2; count += Consume()) {
            idle.Announce(0, 1, false);
            if (list.IsEmpty() || !idle.TakeAt(0)) parker.Park();
        }
    }
};

// A thread publishes the first item and shows its notice, while two workers hide the notice. The
// item must keep it.
struct Hidden : Suite<Hidden, 3> {
    Notices notices;
    env::Atomic<uint32_t> items{0};

    void before() { notices.Show(1); }
    void thread(unsigned index) {
        if (index == 0) {
            items.fetch_add(1, kSeqCst);
            notices.Show(1);
        } else {
            notices.Hide(1, [this] { return items.load(kSeqCst) != 0; });
        }
    }
    void after() { Check(notices.Has(1), "an item has no notice"); }
};

}  // namespace

}  // namespace relacy

int main(int argc, char **argv) {
    using namespace relacy;
    Runner runner(argc, argv);
    runner.Run<Producers>("producers", 200000);
    runner.Run<Consumers>("consumers", 200000);
    runner.Run<Batches>("batches", 200000);
    runner.Run<Returned>("returned", 200000);
    runner.Run<Inbox>("inbox", 200000);
    runner.Run<Injector>("injector", 200000);
    runner.Run<Hidden>("hidden", 200000);
    return runner.Report();
}
