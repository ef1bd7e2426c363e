#include "io/ring.h"

#if defined(WEFT_IO_URING)

#include "io/inbox.h"
#include "io/system_calls.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include <liburing.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace weft::internal {

namespace {

constexpr uint32_t kMostRingEntries = 256;  // of the submission queue
constexpr uint32_t kEndsAtOnce = 64;        // ends that are read from the ring at once

// The ring must keep all ends (NODROP, Linux 5.5), know the position of a file (5.6), and wait for
// sockets and pipes without a thread for each (FAST_POLL, 5.7).
constexpr uint32_t kNeededFeatures =
    IORING_FEAT_NODROP | IORING_FEAT_RW_CUR_POS | IORING_FEAT_FAST_POLL;

bool HasOperations(io_uring &ring) noexcept {
    constexpr size_t kBytes = sizeof(io_uring_probe) + IORING_OP_LAST * sizeof(io_uring_probe_op);
    alignas(io_uring_probe) unsigned char memory[kBytes] = {};
    auto *const probe = reinterpret_cast<io_uring_probe *>(memory);  // a struct of the kernel
    if (io_uring_register_probe(&ring, probe, IORING_OP_LAST) < 0) return false;
    for (int operation : {IORING_OP_READ, IORING_OP_WRITE, IORING_OP_RECV, IORING_OP_SEND,
                          IORING_OP_ACCEPT, IORING_OP_CONNECT}) {
        if (io_uring_opcode_supported(probe, operation) == 0) return false;
    }
    return true;
}

void Describe(io_uring_sqe *entry, IoNode &node) noexcept {
    const auto bytes = static_cast<unsigned>(std::min(node.bytes, kMostIoBytes));
    const auto offset = static_cast<uint64_t>(node.offset);  // -1: the position of the file
    switch (node.kind) {
        case IoKind::Read:
            io_uring_prep_read(entry, node.file, node.buffer, bytes, offset);
            break;
        case IoKind::Write:
            io_uring_prep_write(entry, node.file, node.buffer, bytes, offset);
            break;
        case IoKind::Receive:
            io_uring_prep_recv(entry, node.file, node.buffer, bytes, node.flags);
            break;
        case IoKind::Send:
            io_uring_prep_send(entry, node.file, node.buffer, bytes, node.flags | MSG_NOSIGNAL);
            break;
        case IoKind::Accept:
            io_uring_prep_accept(entry, node.file, nullptr, nullptr, node.flags);
            break;
        case IoKind::Connect:
            io_uring_prep_connect(entry, node.file, static_cast<const sockaddr *>(node.buffer),
                                  static_cast<socklen_t>(node.bytes));
            break;
        case IoKind::None:  // AsyncIo::Submit refuses it
            io_uring_prep_nop(entry);
            break;
    }
    io_uring_sqe_set_data(entry, &node);
}

}  // namespace

struct IoRing::Impl final : IoRing {
    explicit Impl(TaskScheduler &its) noexcept : scheduler(its) {}

    bool Acquire() noexcept;
    void Release() noexcept;
    void TakeNew() noexcept;
    void HandOver() noexcept;
    bool ArmWake() noexcept;
    bool IsOver() noexcept;
    uint32_t Reap() noexcept;

    TaskScheduler &scheduler;
    MemoryHooks memory;
    io_uring ring;
    int wakeFile = -1;
    uint64_t wakeValue = 0;  // into which the kernel reads the eventfd
    IoInbox<IoNode> inbox;
    env::Atomic<bool> isStopping{false};

    // Only the thread of Serve uses these.
    uint32_t depth = 0;
    uint32_t inFlight = 0;  // operations that the ring has
    bool isWakeArmed = false;
    IoNode *oldest = nullptr;  // operations that the ring has no room for
    IoNode *newest = nullptr;  // the last one of this list, unless it is empty
};

bool IoRing::Impl::Acquire() noexcept {
    wakeFile = eventfd(0, EFD_CLOEXEC);
    if (wakeFile < 0) return false;
    io_uring_params params;
    std::memset(&params, 0, sizeof params);
    params.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
    params.cq_entries = depth + 1;  // and the wake-up
    const uint32_t entries = std::min(depth + 1, kMostRingEntries);
    if (io_uring_queue_init_params(entries, &ring, &params) == 0) {
        if ((params.features & kNeededFeatures) == kNeededFeatures && HasOperations(ring))
            return true;
        io_uring_queue_exit(&ring);
    }
    close(wakeFile);
    return false;
}

void IoRing::Impl::Release() noexcept {
    io_uring_queue_exit(&ring);
    close(wakeFile);
}

// Moves the operations of the inbox to the end of the list.
void IoRing::Impl::TakeNew() noexcept {
    IoNode *node = inbox.TakeAll();
    if (node == nullptr) return;
    (oldest == nullptr ? oldest : newest->next) = node;
    while (node->next != nullptr) node = node->next;
    newest = node;
}

// Submits the read of the eventfd, unless the ring has it or will need it no more. Returns false if
// there is no room for it now.
bool IoRing::Impl::ArmWake() noexcept {
    // acquire: pairs with Stop. A wake-up after that is never needed.
    if (isWakeArmed || isStopping.load(kAcquire)) return true;
    io_uring_sqe *const entry = io_uring_get_sqe(&ring);
    if (entry == nullptr) return false;
    io_uring_prep_read(entry, wakeFile, &wakeValue, sizeof wakeValue, 0);
    io_uring_sqe_set_data(entry, nullptr);
    isWakeArmed = true;
    return true;
}

// Fills the submission queue from the list. What has no room there goes in with the next turn.
void IoRing::Impl::HandOver() noexcept {
    while (oldest != nullptr && inFlight < depth) {
        io_uring_sqe *const entry = io_uring_get_sqe(&ring);
        if (entry == nullptr) return;
        IoNode &node = *oldest;
        oldest = node.next;
        Describe(entry, node);
        ++inFlight;
    }
}

bool IoRing::Impl::IsOver() noexcept {
    // acquire: pairs with Stop. All operations were submitted before that.
    if (!isStopping.load(kAcquire)) return false;
    TakeNew();
    return oldest == nullptr && inFlight == 0 && !isWakeArmed;
}

// Returns how many operations have ended.
uint32_t IoRing::Impl::Reap() noexcept {
    uint32_t all = 0;
    for (;;) {
        io_uring_cqe *ends[kEndsAtOnce];
        const uint32_t count = io_uring_peek_batch_cqe(&ring, ends, kEndsAtOnce);
        if (count == 0) return all;
        all += count;
        IoEnds ended(scheduler);
        for (uint32_t i = 0; i < count; ++i) {
            auto *const node = static_cast<IoNode *>(io_uring_cqe_get_data(ends[i]));
            if (node == nullptr) {
                isWakeArmed = false;
                continue;
            }
            --inFlight;
            if (ends[i]->res == -EINTR) {  // made again, before all others
                node->next = oldest;
                if (oldest == nullptr) newest = node;
                oldest = node;
                continue;
            }
            node->result = ends[i]->res;
            ended.Add(*node);
        }
        io_uring_cq_advance(&ring, count);
    }
}

IoRing *IoRing::Make(TaskScheduler &scheduler, uint32_t depth, const MemoryHooks &hooks) noexcept {
    void *memory = AllocateWith(hooks, sizeof(Impl), kIoAlignment);
    if (memory == nullptr) return nullptr;
    Impl *const made = new (memory) Impl(scheduler);
    made->memory = hooks;
    made->depth = depth;
    if (made->Acquire()) return made;
    made->~Impl();
    ReleaseWith(hooks, memory, sizeof(Impl), kIoAlignment);
    return nullptr;
}

void IoRing::Destroy(IoRing *ring) noexcept {
    Impl *const made = static_cast<Impl *>(ring);
    const MemoryHooks hooks = made->memory;
    made->Release();
    made->~Impl();
    ReleaseWith(hooks, made, sizeof(Impl), kIoAlignment);
}

void IoRing::Submit(IoNode *newest, IoNode *oldest) noexcept {
    Impl &self = static_cast<Impl &>(*this);
    if (!self.inbox.Push(newest, oldest)) return;
    eventfd_write(self.wakeFile, 1);
}

void IoRing::Serve() noexcept {
    Impl &self = static_cast<Impl &>(*this);
    while (!self.IsOver()) {
        self.TakeNew();
        const bool hasWake = self.ArmWake();
        self.HandOver();
        // The thread may sleep only if a submitter can wake it. If the queue is full, the thread
        // submits its entries without sleeping. The rest goes in with the next turn of this loop.
        const bool isAllIn = hasWake && (self.oldest == nullptr || self.inFlight == self.depth);
        // After Stop it arms no wake-up. Then it sleeps only if an operation will end.
        const bool endsSleep = self.isWakeArmed || self.inFlight != 0;
        const bool maySleep = isAllIn && endsSleep && self.inbox.BeginSleep();
        const int submitted = io_uring_submit_and_wait(&self.ring, maySleep ? 1 : 0);
        if (maySleep) self.inbox.EndSleep();
        const uint32_t ended = self.Reap();
        // The kernel has no memory for an operation. It stays in the queue and goes in later.
        if (submitted < 0 && submitted != -EINTR && ended == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

// After the release, the thread sees all operations, and arms no more wake-ups. It leaves when the
// last wake-up has ended, so it does not use the eventfd after that.
void IoRing::Stop() noexcept {
    Impl &self = static_cast<Impl &>(*this);
    self.isStopping.store(true, kRelease);
    eventfd_write(self.wakeFile, 1);
}

}  // namespace weft::internal

#else

namespace weft::internal {

IoRing *IoRing::Make(TaskScheduler &, uint32_t, const MemoryHooks &) noexcept { return nullptr; }
void IoRing::Destroy(IoRing *) noexcept {}
void IoRing::Submit(IoNode *, IoNode *) noexcept {}
void IoRing::Serve() noexcept {}
void IoRing::Stop() noexcept {}

}  // namespace weft::internal

#endif
