// An intrusive list that any thread pushes to and one thread at a time empties, in the order of the
// pushes.
//
// Push is lock-free: its CAS fails only because another push or a TakeAll succeeded. There is no
// ABA problem, because nothing is ever taken out of the middle: TakeAll detaches everything with
// one exchange.
#pragma once

#include "platform/env.h"

namespace weft::internal {

/// `Node` has a member `Node *next`, which belongs to the list while the node is in it.
template <class Node>
class PushList {
public:
    /// seq_cst: the caller looks next whether the consumer sleeps, and the consumer announces that
    /// before its last look. As a release it publishes the node.
    void Push(Node *node) noexcept { Push(node, node); }
    /// Several at once, from the newest by `next` to the oldest: nothing comes between them, and
    /// one TakeAll takes them.
    void Push(Node *newest, Node *oldest) noexcept {
        Node *head = m_head.load(kRelaxed);
        do {
            oldest->next = head;
        } while (!m_head.compare_exchange_strong(head, newest, kSeqCst, kRelaxed));
    }

    /// The oldest node, the others behind it; null if there is none.
    Node *TakeAll() noexcept {
        // seq_cst: a consumer that has cleared a notice looks here afterwards, and nobody tells it
        // again (core/notices.h).
        if (m_head.load(kSeqCst) == nullptr) return nullptr;
        Node *newest = m_head.exchange(nullptr, kAcquire);  // pairs with Push
        Node *oldest = nullptr;
        while (newest != nullptr) {
            Node *next = newest->next;
            newest->next = oldest;
            oldest = newest;
            newest = next;
        }
        return oldest;
    }

    /// A hint: relaxed.
    bool LooksEmpty() const noexcept { return m_head.load(kRelaxed) == nullptr; }

    /// seq_cst: pairs with Push, for the last look of a consumer that has announced that it will
    /// sleep.
    bool IsEmpty() const noexcept { return m_head.load(kSeqCst) == nullptr; }

private:
    env::Atomic<Node *> m_head{nullptr};
};

}  // namespace weft::internal
