#include "containers/push_list.h"

#include "support/spin.h"

#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft::internal;

namespace {

struct Node {
    Node *next = nullptr;
    uint32_t producer = 0;
    uint32_t number = 0;  // plain: Push must publish it
};

}  // namespace

TEST_CASE("push list: first in, first out; TakeAll empties it", "[push_list]") {
    PushList<Node> list;
    CHECK(list.IsEmpty());
    CHECK(list.TakeAll() == nullptr);
    Node nodes[5];
    for (Node &node : nodes) list.Push(&node);
    CHECK(!list.IsEmpty());
    const Node *node = list.TakeAll();
    for (const Node &expected : nodes) {
        REQUIRE(node == &expected);
        node = node->next;
    }
    CHECK(node == nullptr);
    CHECK(list.IsEmpty());
    list.Push(&nodes[3]);
    CHECK(list.TakeAll() == &nodes[3]);
    CHECK(nodes[3].next == nullptr);
}

TEST_CASE("push list: with three producers no node is lost, and each producer's order is kept",
          "[push_list]") {
    constexpr uint32_t kNodes = 20000;
    PushList<Node> list;
    std::vector<std::vector<Node>> nodes(3, std::vector<Node>(kNodes));
    std::vector<std::thread> producers;
    for (uint32_t producer = 0; producer < 3; ++producer) {
        producers.emplace_back([&, producer] {
            for (uint32_t i = 0; i < kNodes; ++i) {
                nodes[producer][i].producer = producer;
                nodes[producer][i].number = i;
                list.Push(&nodes[producer][i]);
            }
        });
    }
    uint32_t next[3] = {0, 0, 0};
    uint32_t taken = 0, wrong = 0;
    const bool all = test::SpinUntil([&] {
        for (const Node *node = list.TakeAll(); node != nullptr; node = node->next) {
            wrong += node->number != next[node->producer];
            next[node->producer] = node->number + 1;
            ++taken;
        }
        return taken == 3 * kNodes;
    });
    for (std::thread &producer : producers) producer.join();
    CHECK(all);
    CHECK(wrong == 0);
    CHECK(list.IsEmpty());
}
