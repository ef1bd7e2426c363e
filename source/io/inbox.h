// How operations come from their submitters to the thread of the ring, and how that thread sleeps.
//
// Terms:
// - submitter: a thread that calls Push. There may be several at once.
// - consumer: the thread of the ring. It sleeps in a system call that returns when an operation
//   ends, or when somebody wakes it (for the ring: writes to its eventfd).
// - announced: m_announced is true. The consumer sleeps, or is about to sleep.
//
// Protocol:
// 1. A submitter pushes its operations, then checks whether the consumer has announced. If so, it
//    takes the announcement back, and wakes the consumer. Only one of several submitters does so.
// 2. The consumer announces, then checks for operations. If there are some, it does not sleep.
// 3. After it has slept, it takes the announcement back itself, if nobody else has.
// 4. A consumer that cannot go on closes the inbox, takes what lies there, and takes no more. After
//    each push a submitter checks whether the inbox is closed. If so, it takes what lies there.
//
// No operation is left behind.
// - Events: S1, a submitter pushes. S2, it checks the announcement. C1, the consumer announces. C2,
//   it checks for operations. S1 is before S2, and C1 before C2. All four are seq_cst, so they have
//   one total order.
// - Suppose that C2 does not see the operation. Then C2 comes before S1, so C1 comes before S2.
//   Therefore S2 sees the announcement, unless another submitter has taken it back. In both cases
//   the consumer is woken after C1, and checks for operations again.
// - A consumer that was woken by the end of an operation, while a submitter was about to wake it,
//   is woken once more for nothing. That is harmless.
// - Closing. The consumer closes, then takes. A submitter pushes, then checks. All four are
// seq_cst.
//   A submitter that does not see that the inbox is closed has pushed before the consumer takes.
//   After closing, several threads may take at once: each exchange of PushList gets other ones.
#pragma once

#include "containers/push_list.h"
#include "platform/env.h"

namespace weft::internal {

template <class Node>
class IoInbox {
public:
    /// Pushes nodes, linked by `next` from the newest to the oldest. Returns true if the caller
    /// must wake the consumer. From here on the nodes may be gone.
    [[nodiscard]] bool Push(Node *newest, Node *oldest) noexcept {
        m_list.Push(newest, oldest);
        // seq_cst, both: S2. The load spares busy submitters the write to a shared line.
        return m_announced.load(kSeqCst) && m_announced.exchange(false, kSeqCst);
    }

    /// A submitter, after Push: takes all nodes if the inbox is closed. Otherwise returns null.
    Node *TakeIfClosed() noexcept { return IsClosed() ? m_list.TakeAll() : nullptr; }
    /// The consumer: closes the inbox, and takes all nodes for the last time.
    Node *Close() noexcept {
        m_isClosed.store(true, kSeqCst);  // before the list is read
        return m_list.TakeAll();
    }
    /// seq_cst: for TakeIfClosed.
    bool IsClosed() const noexcept { return m_isClosed.load(kSeqCst); }

    /// The consumer: takes all nodes, the oldest first, linked by `next`. Null: there are none.
    Node *TakeAll() noexcept { return m_list.TakeAll(); }

    /// The consumer: announces that it sleeps. Returns false if it must not, because of new nodes.
    [[nodiscard]] bool BeginSleep() noexcept {
        // seq_cst: C1, before C2.
        m_announced.store(true, kSeqCst);       // [order]
        const bool isEmpty = m_list.IsEmpty();  // C2
        if (!isEmpty) EndSleep();
        return isEmpty;
    }
    /// The consumer: is awake. relaxed: if a submitter still sees the announcement, it wakes for
    /// nothing. It cannot miss one that is true: only this thread announces.
    void EndSleep() noexcept { m_announced.store(false, kRelaxed); }

private:
    PushList<Node> m_list;
    env::Atomic<bool> m_announced{false};
    env::Atomic<bool> m_isClosed{false};
};

}  // namespace weft::internal
