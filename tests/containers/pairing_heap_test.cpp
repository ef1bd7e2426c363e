#include "containers/pairing_heap.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft::internal;

namespace {

struct Item : HeapLinks {
    uint32_t key = 0;
    bool inside = false;
};
struct Less {
    bool operator()(const Item &a, const Item &b) const { return a.key < b.key; }
};

}  // namespace

TEST_CASE("pairing heap: the least item is on top after any Push and Remove", "[pairing_heap]") {
    for (uint32_t seed = 1; seed <= 200; ++seed) {
        INFO("seed " << seed);
        std::mt19937 random(seed);
        std::vector<Item> items(1 + random() % 60);
        for (uint32_t i = 0; i < items.size(); ++i) items[i].key = i * 7919 % 6007;
        std::shuffle(items.begin(), items.end(), random);
        PairingHeap<Item, Less> heap;
        uint32_t wrong = 0;
        const auto least = [&] {
            const Item *best = nullptr;
            for (const Item &item : items) {
                if (item.inside && (best == nullptr || item.key < best->key)) best = &item;
            }
            return best;
        };
        for (uint32_t step = 0; step < 400; ++step) {
            Item &item = items[random() % items.size()];
            if (!item.inside && step % 100 < 70) {
                heap.Push(item);
                item.inside = true;
            } else if (item.inside) {
                heap.Remove(item);
                item.inside = false;
            } else if (!heap.IsEmpty()) {
                Item &top = heap.Top();
                heap.Remove(top);
                top.inside = false;
            }
            const Item *expected = least();
            if (heap.IsEmpty() != (expected == nullptr)) ++wrong;
            if (expected != nullptr && &heap.Top() != expected) ++wrong;
            // Find asks for each item once, and returns the one that is wanted.
            std::vector<const Item *> asked;
            heap.Find([&](const Item &its) { return asked.push_back(&its), false; });
            for (const Item &its : items)
                wrong += std::count(asked.begin(), asked.end(), &its) != (its.inside ? 1 : 0);
            const auto isItem = [&](const Item &its) { return &its == &item; };
            wrong += heap.Find(isItem) != (item.inside ? &item : nullptr);
        }
        CHECK(wrong == 0);
    }
}
