// PushList as inbox and as injector. Each node must arrive once, with what was written to it, in
// the order of its producer. A consumer that sleeps must be woken. A consumer that has cleared its
// notice must see what was pushed before.
#include "relacy/suite.h"

#include "containers/push_list.h"
#include "core/idle_set.h"
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

// The owner of an inbox announces that it sleeps and looks once more. A producer pushes, and then
// wakes this worker if it sleeps (TakeSleeperAt).
struct Inbox : ListTest<Inbox, 3> {
    IdleSet idle;
    env::Parker parker;

    void before() { Check(idle.Acquire(1), "no memory"); }
    void Deliver(uint32_t producer) {
        Push(producer, 0);
        if (idle.TakeSleeperAt(0)) parker.Unpark();
    }
    void thread(unsigned index) {
        if (index < 2) return Deliver(index);
        for (int count = Consume(); count < 2; count += Consume()) {
            idle.Announce(0, WorkerMode::PinnedOnly);
            if (list.IsEmpty() || !idle.Cancel(0, WorkerMode::PinnedOnly)) parker.Park();
        }
    }
};

// Like Inbox, for the injector: a producer wakes any worker that sleeps.
struct Injector : ListTest<Injector, 3> {
    IdleSet idle;
    env::Parker parker;

    void before() {
        Check(idle.Acquire(1), "no memory");
        idle.StartSearching();
    }
    void Post(uint32_t producer) {
        Push(producer, 0);
        if (!idle.Wanted()) return;
        if (idle.TakeSleeper(0) != IdleSet::kNone) parker.Unpark();
    }
    void thread(unsigned index) {
        if (index < 2) return Post(index);
        for (int count = Consume(); count < 2; count += Consume()) {
            idle.Announce(0, WorkerMode::Tasks);
            if (list.IsEmpty() || !idle.Cancel(0, WorkerMode::Tasks)) parker.Park();
        }
    }
};

// The consumer clears the notice and then takes all nodes (scheduler/find/arrivals.cpp). A producer
// that finds the notice set does not set it again. So at the end the list must be empty, or the
// notice must be set.
struct Noticed : ListTest<Noticed, 2> {
    Notices notices;

    void Post(uint32_t producer, int order) {
        Push(producer, order);
        notices.Show(Notices::kInjected);
    }
    void thread(unsigned index) {
        if (index == 0) {
            Post(0, 0);
            Post(0, 1);
            Post(1, 0);
            return;
        }
        for (int look = 0; look < 3; ++look) {
            if (notices.Look() == 0) continue;
            notices.Hide(Notices::kInjected, [] { return false; });
            Consume();
        }
    }
    void after() {
        const bool isShown = notices.Look() != 0;
        Check(Consume() == 0 || isShown, "a pushed node has no notice");
    }
};

}  // namespace

}  // namespace relacy

int main(int argc, char **argv) {
    using namespace relacy;
    Runner runner(argc, argv);
    runner.Run<Producers>("producers", 200000);
    runner.Run<Consumers>("consumers", 200000);
    runner.Run<Inbox>("inbox", 200000);
    runner.Run<Injector>("injector", 200000);
    runner.Run<Noticed>("noticed", 200000);
    return runner.Report();
}
