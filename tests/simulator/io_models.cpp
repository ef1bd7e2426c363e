// Models of how AsyncIo hands operations to the thread of its ring, and how that thread sleeps.
// The kernel's part, a thread that sleeps until an operation ends or somebody wakes it, is a
// Parker.
#include "io/inbox.h"

#include "simulator/model_support.h"
#include "simulator/models.h"

#include <deque>
#include <vector>

namespace simulator {

namespace {

struct Node {
    Node *next = nullptr;
    Cell written;
    uint32_t taken = 0;
};

// Two or three threads push nodes, one by one or several at once. The consumer must take each node
// once, see what its submitter wrote, and never sleep for ever. A third of the time something else
// wakes it, as the end of an operation does.
void Inbox() {
    weft::internal::IoInbox<Node> inbox;
    weft::env::Parker parker;
    const uint32_t submitters = 2 + Random(2), each = 1 + Random(4);
    std::vector<Node> nodes(submitters * each);
    uint32_t begun = 0;
    auto submit = [&] {
        Node *const own = &nodes[begun++ * each];
        for (uint32_t i = 0; i < each;) {
            const uint32_t count = 1 + Random(each - i);
            for (uint32_t k = 0; k < count; ++k) {
                own[i + k].written.Set(1);
                own[i + k].next = k != 0 ? &own[i + k - 1] : nullptr;
            }
            if (inbox.Push(&own[i + count - 1], &own[i])) parker.Unpark();
            i += count;
        }
    };
    std::deque<HostThread<decltype(submit)>> threads;
    for (uint32_t i = 0; i < submitters; ++i) threads.emplace_back(submit).Start();
    HostThread other([&] { parker.Unpark(); });
    const bool isDisturbed = Random(3) == 0;
    if (isDisturbed) other.Start();
    for (uint32_t taken = 0; taken < submitters * each;) {
        uint32_t last = ~0u;
        for (Node *node = inbox.TakeAll(), *next; node != nullptr; node = next, ++taken) {
            next = node->next;
            const uint32_t index = static_cast<uint32_t>(node - &nodes[0]);
            Check(node->written.Get() == 1, "a write before Push is not visible");
            Check(++node->taken == 1, "a node was taken twice");
            Check(last == ~0u || index / each != last / each || index == last + 1,
                  "nodes of one submitter are out of order");
            last = index;
        }
        if (taken == submitters * each || !inbox.BeginSleep()) continue;
        parker.Park();
        inbox.EndSleep();
    }
    for (auto &thread : threads) thread.Join();
    if (isDisturbed) other.Join();
}

// Two or three threads push nodes while the consumer closes the inbox. Each node must be taken
// once.
void ClosedInbox() {
    weft::internal::IoInbox<Node> inbox;
    const uint32_t submitters = 2 + Random(2), each = 1 + Random(3);
    std::vector<Node> nodes(submitters * each);
    uint32_t begun = 0;
    auto take = [](Node *node) {
        for (Node *next; node != nullptr; node = next) {
            next = node->next;
            Check(node->written.Get() == 1, "a write before Push is not visible");
            Check(++node->taken == 1, "a node was taken twice");
        }
    };
    auto submit = [&] {
        Node *const own = &nodes[begun++ * each];
        for (uint32_t i = 0; i < each; ++i) {
            own[i].written.Set(1);
            static_cast<void>(inbox.Push(&own[i], &own[i]));
            take(inbox.TakeIfClosed());
        }
    };
    std::deque<HostThread<decltype(submit)>> threads;
    for (uint32_t i = 0; i < submitters; ++i) threads.emplace_back(submit).Start();
    if (Random(2) == 0) take(inbox.TakeAll());
    take(inbox.Close());
    for (auto &thread : threads) thread.Join();
    for (const Node &node : nodes) Check(node.taken == 1, "a node was left behind");
}

}  // namespace

std::vector<Model> IoModels() {
    return {{"io_inbox", "threads hand operations to a thread that sleeps", Inbox},
            {"io_inbox_closes", "threads hand operations to a thread that gives up", ClosedInbox}};
}

}  // namespace simulator
