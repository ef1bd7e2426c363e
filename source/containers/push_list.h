// An intrusive list. Any thread may push. One thread at a time takes all nodes.
//
// Push is lock-free: its first CAS fails if the list is not empty, and each later one only if
// another Push or a TakeAll succeeded. There is no ABA problem, because no node is taken out of the
// middle: TakeAll detaches all nodes with one exchange.
#pragma once

#include "platform/env.h"

namespace weft::internal {

/// `Node` has a member `Node *next`. It belongs to the list while the node is in the list.
template <class Node>
class PushList {
public:
    /// Pushes a node. seq_cst: the caller checks next whether the consumer sleeps, and the consumer
    /// announces that it sleeps before its last check of this list. As a release it publishes the
    /// node.
    void Push(Node *node) noexcept { Push(node, node); }
    /// Pushes several nodes, linked by `next` from the newest to the oldest. No other node comes
    /// between them, and one TakeAll takes them all.
    ///
    /// The first CAS expects an empty list, and no load comes before it: if the consumer has
    /// emptied the list, its cache line moves to this processor once instead of twice.
    void Push(Node *newest, Node *oldest) noexcept {
        Node *head = nullptr;
        do {
            oldest->next = head;
        } while (!m_head.compare_exchange_strong(head, newest, kSeqCst, kRelaxed));
    }

    /// Takes all nodes. Returns the newest one, linked to the older ones; null if the list is
    /// empty.
    Node *TakeNewestFirst() noexcept {
        // seq_cst: stronger than needed. A last look before a sleep calls IsEmpty.
        if (m_head.load(kSeqCst) == nullptr) return nullptr;
        return m_head.exchange(nullptr, kAcquire);  // acquire: pairs with Push
    }
    /// The same, but returns the oldest one, linked to the newer ones.
    Node *TakeAll() noexcept {
        Node *oldest = nullptr;
        for (Node *newest = TakeNewestFirst(); newest != nullptr;) {
            Node *next = newest->next;
            newest->next = oldest;
            oldest = newest;
            newest = next;
        }
        return oldest;
    }

    /// A hint: relaxed.
    bool LooksEmpty() const noexcept { return m_head.load(kRelaxed) == nullptr; }

    /// seq_cst: pairs with Push. For the last check of a consumer that has announced that it
    /// sleeps.
    bool IsEmpty() const noexcept { return m_head.load(kSeqCst) == nullptr; }

private:
    friend struct DebugLayout;
    env::Atomic<Node *> m_head{nullptr};
};

}  // namespace weft::internal
