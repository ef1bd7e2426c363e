// A heap of items that the user provides. The least item is on top. Any item can be removed by its
// address.
//
// A pairing heap: M. Fredman, R. Sedgewick, D. Sleator, R. Tarjan, "The pairing heap: a new form of
// self-adjusting heap", Algorithmica 1986. Push takes constant time. Remove takes logarithmic time
// on average. Not thread-safe.
#pragma once

namespace weft::internal {

/// The base class of an item.
struct HeapLinks {
    HeapLinks *child = nullptr;  // the first child
    HeapLinks *next = nullptr;   // the next sibling
    // the previous sibling; for a first child its parent; for the top null
    HeapLinks *previous = nullptr;
};

/// Less()(a, b) returns true if `a` is less than `b`. No two items may be equal.
template <class Item, class Less>
class PairingHeap {
public:
    bool IsEmpty() const noexcept { return m_top == nullptr; }
    Item &Top() noexcept { return *static_cast<Item *>(m_top); }

    /// Returns an item for which isWanted(item) returns true, or null. Asks for an item
    /// before its children. Takes time in proportion to the number of items.
    template <class IsWanted>
    Item *Find(IsWanted isWanted) noexcept {
        HeapLinks *at = m_top;
        while (at != nullptr && !isWanted(*static_cast<Item *>(at))) at = After(at);
        return static_cast<Item *>(at);
    }

    /// Adds an item. The heap uses the links in the item until Remove.
    void Push(Item &item) noexcept {
        static_cast<HeapLinks &>(item) = {};
        m_top = m_top == nullptr ? &item : Merge(m_top, &item);
    }

    /// Removes the item, which must be in the heap.
    void Remove(Item &item) noexcept {
        HeapLinks *rest = MergeAll(item.child);
        if (&item == m_top) {
            m_top = rest;
            return;
        }
        (item.previous->child == &item ? item.previous->child : item.previous->next) = item.next;
        if (item.next != nullptr) item.next->previous = item.previous;
        if (rest != nullptr) m_top = Merge(m_top, rest);
    }

private:
    // Merges two heaps. Neither may have siblings, and the result has none.
    static HeapLinks *Merge(HeapLinks *a, HeapLinks *b) noexcept {
        if (Less()(*static_cast<Item *>(b), *static_cast<Item *>(a))) {
            HeapLinks *swapped = a;
            a = b;
            b = swapped;
        }
        b->next = a->child;
        b->previous = a;
        if (b->next != nullptr) b->next->previous = b;
        a->child = b;
        return a;
    }

    // Returns the next item of Find: the first child, or else the next sibling of the item or of
    // the nearest one above it that has one.
    static HeapLinks *After(HeapLinks *at) noexcept {
        if (at->child != nullptr) return at->child;
        while (at != nullptr && at->next == nullptr) {
            while (at->previous != nullptr && at->previous->child != at) at = at->previous;
            at = at->previous;
        }
        return at != nullptr ? at->next : nullptr;
    }

    // Detaches an item from its siblings and its parent.
    static HeapLinks *Single(HeapLinks *links) noexcept {
        links->next = links->previous = nullptr;
        return links;
    }

    // Merges a list of siblings: first in pairs from left to right, then all pairs from right to
    // left.
    static HeapLinks *MergeAll(HeapLinks *list) noexcept {
        HeapLinks *pairs = nullptr;  // linked by `next`, the last pair first
        while (list != nullptr) {
            HeapLinks *first = list;
            HeapLinks *second = first->next;
            list = second != nullptr ? second->next : nullptr;
            HeapLinks *pair = Single(first);
            if (second != nullptr) pair = Merge(pair, Single(second));
            pair->next = pairs;
            pairs = pair;
        }
        HeapLinks *all = nullptr;
        while (pairs != nullptr) {
            HeapLinks *pair = pairs;
            pairs = pair->next;
            pair->next = nullptr;
            all = all == nullptr ? pair : Merge(all, pair);
        }
        return all;
    }

    HeapLinks *m_top = nullptr;
};

}  // namespace weft::internal
