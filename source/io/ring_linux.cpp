#include "io/ring.h"

#if defined(WEFT_IO_URING)

#include "io/inbox.h"
#include "io/ring_entry.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include <liburing.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::internal {

namespace {

constexpr uint32_t kMostRingEntries = 256;  // of the submission queue
constexpr uint32_t kEndsAtOnce = 64;        // ends that are read from the ring at once
constexpr uint32_t kMostRefusals = 1000;    // one after the other; then the ring is lost
constexpr std::chrono::milliseconds kPause{1};

// The ring must keep all ends (NODROP, Linux 5.5), know the position of a file (5.6), wait for
// sockets and pipes without a thread for each (FAST_POLL, 5.7), and limit a wait (EXT_ARG, 5.11).
constexpr uint32_t kNeededFeatures =
    IORING_FEAT_NODROP | IORING_FEAT_RW_CUR_POS | IORING_FEAT_FAST_POLL | IORING_FEAT_EXT_ARG;

// The kernel reads the eventfds of all rings into this. Nobody looks at it. It outlives each ring,
// because the kernel may still write to it when a ring that was lost is gone.
uint64_t s_wakeValue;

// Errors of io_uring_enter after which it makes sense to try again.
bool IsTemporary(int error) noexcept {
    return error == -EINTR || error == -ETIME || error == -EAGAIN || error == -EBUSY ||
           error == -ENOMEM;
}

}  // namespace

struct IoRing::Impl final : IoRing {
    Impl(TaskScheduler &its, IoThreads itsThreads) noexcept : scheduler(its), threads(itsThreads) {}

    bool Acquire() noexcept;
    void Release() noexcept;
    void TakeNew() noexcept;
    void HandOver() noexcept;
    bool ArmWake() noexcept;
    bool IsOver() noexcept;
    uint32_t Reap() noexcept;
    void Append(IoNode *first) noexcept;
    void Wake() noexcept;
    int Enter(bool maySleep) noexcept;
    void TakeBack() noexcept;
    void Lose(int error) noexcept;

    TaskScheduler &scheduler;
    const IoThreads threads;
    MemoryHooks memory;
    io_uring ring;
    int wakeFile = -1;
    struct stat wakeMark;  // what fstat says about wakeFile
    env::Atomic<bool> isWakeLost{false};
    IoInbox<IoNode> inbox;
    env::Atomic<bool> isStopping{false};

    // Only the thread of Serve uses these.
    uint32_t depth = 0;
    uint32_t inFlight = 0;  // operations that the ring has
    bool isWakeArmed = false;
    bool areFilesLost = false;  // the numbers of the descriptors may belong to other files
    IoNode *oldest = nullptr;   // operations that the ring has no room for
    IoNode *newest = nullptr;   // the last one of this list, unless it is empty
};

bool IoRing::Impl::Acquire() noexcept {
    wakeFile = eventfd(0, EFD_CLOEXEC);
    if (wakeFile < 0) return false;
    fstat(wakeFile, &wakeMark);
    io_uring_params params;
    std::memset(&params, 0, sizeof params);
    params.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
    params.cq_entries = depth + 1;  // and the wake-up
    const uint32_t entries = std::min(depth + 1, kMostRingEntries);
    if (io_uring_queue_init_params(entries, &ring, &params) == 0) {
        if ((params.features & kNeededFeatures) == kNeededFeatures && HasOperations(ring) &&
            io_uring_register_files(&ring, &wakeFile, 1) == 0)
            return true;
        io_uring_queue_exit(&ring);
    }
    close(wakeFile);
    return false;
}

void IoRing::Impl::Release() noexcept {
    if (areFilesLost) ring.ring_fd = wakeFile = -1;
    io_uring_queue_exit(&ring);
    close(wakeFile);
}

// Moves the operations of the inbox to the end of the list.
void IoRing::Impl::TakeNew() noexcept { Append(inbox.TakeAll()); }

void IoRing::Impl::Append(IoNode *first) noexcept {
    if (first == nullptr) return;
    (oldest == nullptr ? oldest : newest->next) = first;
    while (first->next != nullptr) first = first->next;
    newest = first;
}

// Submits the read of the eventfd, unless the ring has it or will need it no more. Returns false if
// there is no room for it now.
bool IoRing::Impl::ArmWake() noexcept {
    // acquire: pairs with Stop. A wake-up after that is never needed.
    if (isWakeArmed || isStopping.load(kAcquire)) return true;
    io_uring_sqe *const entry = io_uring_get_sqe(&ring);
    if (entry == nullptr) return false;
    // The first registered file. Its number is not looked at: another file may have it by now.
    io_uring_prep_read(entry, 0, &s_wakeValue, sizeof s_wakeValue, 0);
    io_uring_sqe_set_flags(entry, IOSQE_FIXED_FILE);
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

// Returns how many operations have ended. The kernel may cancel an operation that nobody asked it
// to cancel (tests/soak.sh has seen that, under many signals). A thread makes it then: the ring
// might cancel it again.
uint32_t IoRing::Impl::Reap() noexcept {
    uint32_t all = 0;
    IoNode *cancelled = nullptr;
    IoNode **place = &oldest;  // of the next operation that is made again
    for (;;) {
        io_uring_cqe *ends[kEndsAtOnce];
        const uint32_t count = io_uring_peek_batch_cqe(&ring, ends, kEndsAtOnce);
        if (count == 0) break;
        all += count;
        IoEnds ended(scheduler);
        for (uint32_t i = 0; i < count; ++i) {
            auto *const node = static_cast<IoNode *>(io_uring_cqe_get_data(ends[i]));
            if (node == nullptr) {
                isWakeArmed = false;
                continue;
            }
            --inFlight;
            if (ends[i]->res == -ECANCELED) {
                node->next = cancelled;
                cancelled = node;
                continue;
            }
            // A socket refuses an offset other than 0. Threads ignore it there (system_calls.cpp).
            const bool refusesOffset = ends[i]->res == -ESPIPE && !node->ignoresOffset;
            if (ends[i]->res == -EINTR || refusesOffset) {  // made again, before all others
                node->ignoresOffset |= refusesOffset;
                node->next = *place;
                if (*place == nullptr) newest = node;
                *place = node;
                place = &node->next;
                continue;
            }
            node->result = ends[i]->res;
            ended.Add(*node);
        }
        io_uring_cq_advance(&ring, count);
    }
    threads.make(threads.user, cancelled);
    return all;
}

// Somebody may have closed the eventfd, and another file may have its number now. That file must
// not be written to, unless it is an eventfd, too.
void IoRing::Impl::Wake() noexcept {
    struct stat now;
    if (fstat(wakeFile, &now) != 0 || now.st_dev != wakeMark.st_dev ||
        now.st_ino != wakeMark.st_ino || eventfd_write(wakeFile, 1) != 0)
        isWakeLost.store(true, kRelaxed);  // the thread sees that when it wakes up by itself
}

// Returns a number below zero for an error.
int IoRing::Impl::Enter(bool maySleep) noexcept {
    if (!maySleep) return io_uring_submit(&ring);
    __kernel_timespec second{1, 0};
    io_uring_cqe *end = nullptr;
    return io_uring_submit_and_wait_timeout(&ring, &end, 1, &second, nullptr);
}

// Appends the operations that lie in the submission queue to the list.
void IoRing::Impl::TakeBack() noexcept {
    const uint32_t count = io_uring_sq_ready(&ring);
    for (uint32_t i = 0; i < count; ++i) {
        const io_uring_sqe &entry =
            ring.sq.sqes[(ring.sq.sqe_tail - count + i) & ring.sq.ring_mask];
        auto *const node = reinterpret_cast<IoNode *>(static_cast<uintptr_t>(entry.user_data));
        if (node == nullptr) continue;  // the wake-up
        --inFlight;
        node->next = nullptr;
        Append(node);
    }
}

// Does not enter the kernel any more. Returns when the operations that the kernel has are over.
void IoRing::Impl::Lose(int error) noexcept {
    const bool isRefused = error != -EBADF && error != -EOPNOTSUPP;
    areFilesLost = !isRefused;
    IoNode *const last = inbox.Close();
    TakeBack();
    Append(last);
    threads.make(threads.user, std::exchange(oldest, nullptr));
    if (isRefused) {
        ReportMisuse(scheduler, ReportCode::DestroyedInUse,
                     "Install filters such as seccomp before you make the AsyncIo, or set "
                     "AsyncIoOptions::useRing to false.",
                     "AsyncIo: the system refuses io_uring that it has permitted before; from now "
                     "on threads make the calls");
    } else {
        ReportMisuse(scheduler, ReportCode::DestroyedInUse,
                     "Close only descriptors that you have opened, not all of a range "
                     "(closefrom, close_range), while there is an AsyncIo.",
                     "AsyncIo: its descriptors were closed by somebody else; from now on threads "
                     "make the calls");
    }
    while (inFlight != 0) {
        if (Reap() == 0) std::this_thread::sleep_for(kPause);
        threads.make(threads.user, std::exchange(oldest, nullptr));
    }
}

IoRing *IoRing::Make(TaskScheduler &scheduler, uint32_t depth, const MemoryHooks &hooks,
                     IoThreads threads) noexcept {
    void *memory = AllocateWith(hooks, sizeof(Impl), kIoAlignment);
    if (memory == nullptr) return nullptr;
    Impl *const made = new (memory) Impl(scheduler, threads);
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
    const bool mustWake = self.inbox.Push(newest, oldest);
    if (IoNode *const left = self.inbox.TakeIfClosed()) {
        self.threads.make(self.threads.user, left);
    } else if (mustWake && !self.inbox.IsClosed()) {
        self.Wake();
    }
}

bool IoRing::IsLost() const noexcept { return static_cast<const Impl &>(*this).inbox.IsClosed(); }

void IoRing::Serve() noexcept {
    Impl &self = static_cast<Impl &>(*this);
    uint32_t refusals = 0;
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
        const int entered = self.Enter(maySleep);
        if (maySleep) self.inbox.EndSleep();
        const bool goesOn = self.Reap() != 0 || entered >= 0;
        // relaxed: nothing is read through it. It is seen now, or a second later.
        if (self.isWakeLost.load(kRelaxed)) return self.Lose(-EBADF);
        if (goesOn || entered == -EINTR || entered == -ETIME) {
            refusals = 0;
            continue;
        }
        if (!IsTemporary(entered) || ++refusals == kMostRefusals) return self.Lose(entered);
        // The kernel has no memory for an operation. It stays in the queue and goes in later.
        std::this_thread::sleep_for(kPause);
    }
}

// After the release, the thread sees all operations, and arms no more wake-ups. It leaves when the
// last wake-up has ended, so it does not use the eventfd after that.
void IoRing::Stop() noexcept {
    Impl &self = static_cast<Impl &>(*this);
    self.isStopping.store(true, kRelease);
    if (!self.inbox.IsClosed()) self.Wake();
}

}  // namespace weft::internal

#else

namespace weft::internal {

IoRing *IoRing::Make(TaskScheduler &, uint32_t, const MemoryHooks &, IoThreads) noexcept {
    return nullptr;
}
bool IoRing::IsLost() const noexcept { return false; }
void IoRing::Destroy(IoRing *) noexcept {}
void IoRing::Submit(IoNode *, IoNode *) noexcept {}
void IoRing::Serve() noexcept {}
void IoRing::Stop() noexcept {}

}  // namespace weft::internal

#endif
