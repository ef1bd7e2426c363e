// Reads and writes files, pipes and sockets while the fiber waits and its worker runs other tasks.
//
//     #include <weft/io/async_io.h>
//
//     weft::AsyncIo io(*scheduler);                                  // once, and kept
//     const int64_t bytes = io.Read(file, buffer, sizeof buffer, 0);  // this task waits
//
//     weft::IoOperation parts[1000];                                 // no task waits for these
//     for (size_t i = 0; i < 1000; ++i)
//         parts[i] = weft::IoOperation::Read(file, buffers[i], kPart, i * kPart);
//     weft::Counter done;
//     io.Submit(1000, parts, &done);
//     scheduler->WaitForCounter(&done);                              // then parts[i].Result()
//
// This is a separate library for Linux, weft_io: weft.useIo() in a Premake script, before
// weft.use(). It uses io_uring if it was built with liburing and the kernel permits it. Otherwise
// threads of a BlockingCalls make the calls.
#pragma once

#include "weft/blocking/blocking_calls.h"
#include "weft/task_scheduler.h"

#include <cstddef>
#include <cstdint>

namespace weft {

/// The offset of an operation that begins at the position of the file, and moves it.
inline constexpr int64_t kFilePosition = -1;

class AsyncIo;

namespace internal {

class IoRing;

enum class IoKind : uint8_t { None, Read, Write, Receive, Send, Accept, Connect };

struct IoNode {
    IoNode *next = nullptr;
    Counter *counter = nullptr;
    void *buffer = nullptr;  // Connect: the address
    uint64_t bytes = 0;
    int64_t offset = kFilePosition;
    int64_t result = 0;
    int32_t file = -1;
    int32_t flags = 0;
    IoKind kind = IoKind::None;
    bool ignoresOffset = false;  // the ring: a socket has refused it
    WEFT_ATOMIC<bool> isSubmitted{false};
};

}  // namespace internal

/// One operation for AsyncIo::Submit, and its result. You provide its memory.
///
/// A copy has the same file, buffer, size, offset and flags. It is not submitted and has no result.
/// While the operation is submitted, do not assign to it and do not destroy it. It ends when
/// `counter` of Submit has been lowered for it; then it may be submitted again. The buffer must
/// live as long. Not thread-safe.
///
/// The results are those of the system calls, with -errno instead of -1. One operation may
/// transfer fewer bytes than asked for: at the end of a file, from a pipe or socket with fewer
/// bytes, on a full disk. 0 bytes from Read or Receive mean the end. At most 0x7ffff000 bytes are
/// transferred. An operation that a signal has interrupted, or that io_uring has cancelled, is made
/// again; EINTR is never a result.
/// An operation waits even if its file has O_NONBLOCK, or its socket a time-out (SO_RCVTIMEO). Only
/// with MSG_DONTWAIT the result may be -EAGAIN.
class IoOperation {
public:
    /// Does nothing; Submit refuses it.
    IoOperation() noexcept = default;
    IoOperation(const IoOperation &other) noexcept { Describe(other.m_node); }
    IoOperation &operator=(const IoOperation &other) noexcept {
        Describe(other.m_node);
        return *this;
    }

    /// Like pread. With kFilePosition, or if the file cannot seek (a pipe, a socket), like read.
    /// If several operations with kFilePosition are in flight for one file, the order in which they
    /// move the position is not defined.
    static IoOperation Read(int file, void *buffer, size_t bytes,
                            int64_t offset = kFilePosition) noexcept {
        return {internal::IoKind::Read, file, buffer, bytes, offset, 0};
    }
    /// Like pwrite. With kFilePosition, or if the file cannot seek, like write. A pipe that nobody
    /// reads raises SIGPIPE, as write does.
    static IoOperation Write(int file, const void *buffer, size_t bytes,
                             int64_t offset = kFilePosition) noexcept {
        return {internal::IoKind::Write, file, buffer, bytes, offset, 0};
    }
    /// Like recv. `flags`: MSG_PEEK and others.
    static IoOperation Receive(int socket, void *buffer, size_t bytes, int flags = 0) noexcept {
        return {internal::IoKind::Receive, socket, buffer, bytes, kFilePosition, flags};
    }
    /// Like send with MSG_NOSIGNAL: if the other side has closed the socket, the result is -EPIPE.
    static IoOperation Send(int socket, const void *buffer, size_t bytes, int flags = 0) noexcept {
        return {internal::IoKind::Send, socket, buffer, bytes, kFilePosition, flags};
    }
    /// Like accept4 without an address; the result is the new socket. `flags`: SOCK_CLOEXEC,
    /// SOCK_NONBLOCK. To end it early, call shutdown(socket, SHUT_RDWR).
    static IoOperation Accept(int socket, int flags = 0) noexcept {
        return {internal::IoKind::Accept, socket, nullptr, 0, kFilePosition, flags};
    }
    /// Like connect; the result is 0. `address`: a sockaddr of `bytes` bytes, which must live until
    /// the operation ends.
    static IoOperation Connect(int socket, const void *address, uint32_t bytes) noexcept {
        return {internal::IoKind::Connect, socket, address, bytes, kFilePosition, 0};
    }

    /// Returns the result: bytes, a socket, 0, or -errno. Call it after the wait for the counter.
    int64_t Result() const noexcept { return m_node.result; }

private:
    friend class AsyncIo;

    IoOperation(internal::IoKind kind, int file, const void *buffer, uint64_t bytes, int64_t offset,
                int flags) noexcept {
        m_node.kind = kind;
        m_node.file = file;
        m_node.buffer = const_cast<void *>(buffer);  // Write and Send only read it
        m_node.bytes = bytes;
        m_node.offset = offset;
        m_node.flags = flags;
    }
    void Describe(const internal::IoNode &other) noexcept {
        m_node.kind = other.kind;
        m_node.file = other.file;
        m_node.buffer = other.buffer;
        m_node.bytes = other.bytes;
        m_node.offset = other.offset;
        m_node.flags = other.flags;
        m_node.result = 0;
    }
    // Makes the call of an operation, for a thread of BlockingCalls.
    static void MakeCall(void *self);

    internal::IoNode m_node;
    AsyncIo *m_io = nullptr;  // while it is submitted
    BlockingCall m_call{MakeCall, this};
};

/// Options of AsyncIo.
struct AsyncIoOptions {
    AsyncIoOptions() noexcept { threads.threadName = "weft io"; }

    /// Most operations that io_uring has at once; 1 to 32,768. Further ones go in, in the order of
    /// their submission, when others end. So it must exceed the number of operations that wait for
    /// others, such as reads of empty pipes.
    uint32_t depth = 1024;
    bool useRing = true;  ///< False: threads make the calls, even if there is io_uring.
    /// The threads. With io_uring there is one, whatever maxThreads is. Without io_uring, or when
    /// it is lost, maxThreads is the number of operations that run at once.
    BlockingOptions threads;
};

/// Makes operations on files, pipes and sockets for the tasks of one scheduler.
///
/// With io_uring, one thread hands the operations to the kernel and lowers the counters of those
/// that have ended. It sleeps while there is nothing to do. The ring has no other user, and workers
/// make no system call for it, except to wake this thread if it sleeps. Without io_uring this is a
/// BlockingCalls: an operation that blocks holds a thread. Whether there is io_uring is found out
/// in the constructor: the library may have been built without liburing, and the kernel may be too
/// old (before 5.11) or refuse it (containers).
///
/// io_uring uses two file descriptors of the process. Do not close them (closefrom, close_range),
/// and do not install a seccomp filter that forbids io_uring later. If that happens, weft reports
/// it once (DestroyedInUse), and threads make all operations that the kernel has not received yet.
/// weft may need a second to notice it. A read of a closed file ends with -EBADF.
///
/// Memory is taken only in the constructor and, without io_uring, when a thread starts. The thread
/// of io_uring also wakes up once a second.
class AsyncIo {
public:
    /// Makes the ring and starts its thread. The scheduler must outlive this, and need not run yet.
    /// See LastError for errors.
    explicit AsyncIo(TaskScheduler &scheduler, const AsyncIoOptions &options = {}) noexcept;

    /// Waits until all operations have ended.
    ///
    /// It does not cancel them: shut down a socket, or close the other end of a pipe, to end an
    /// operation that would wait for ever. All calls of the members must have returned before.
    /// Destroy it before the scheduler stops, if counters of operations are still to be lowered. In
    /// a task the fiber waits. In a hook it reports InHook and blocks the worker. In a forked child
    /// process it does not wait.
    ~AsyncIo();
    AsyncIo(const AsyncIo &) = delete;
    AsyncIo &operator=(const AsyncIo &) = delete;

    /// Makes the operation, waits for it, and returns its result.
    ///
    /// In a task the fiber waits, and the worker runs other tasks. An attached thread runs tasks
    /// meanwhile. An external thread, or a worker of another scheduler, makes the system call
    /// itself, also while the scheduler does not run. The same holds in a forked child process. In
    /// a hook, which must not wait, it reports InHook and makes the call itself. An operation that
    /// does nothing returns -EINVAL. Thread-safe.
    int64_t Run(const IoOperation &operation) noexcept;

    /// Run(IoOperation::Read(...)).
    int64_t Read(int file, void *buffer, size_t bytes, int64_t offset = kFilePosition) noexcept {
        return Run(IoOperation::Read(file, buffer, bytes, offset));
    }
    /// Run(IoOperation::Write(...)).
    int64_t Write(int file, const void *buffer, size_t bytes,
                  int64_t offset = kFilePosition) noexcept {
        return Run(IoOperation::Write(file, buffer, bytes, offset));
    }
    /// Run(IoOperation::Receive(...)).
    int64_t Receive(int socket, void *buffer, size_t bytes, int flags = 0) noexcept {
        return Run(IoOperation::Receive(socket, buffer, bytes, flags));
    }
    /// Run(IoOperation::Send(...)).
    int64_t Send(int socket, const void *buffer, size_t bytes, int flags = 0) noexcept {
        return Run(IoOperation::Send(socket, buffer, bytes, flags));
    }
    /// Run(IoOperation::Accept(...)).
    int64_t Accept(int socket, int flags = 0) noexcept {
        return Run(IoOperation::Accept(socket, flags));
    }
    /// Run(IoOperation::Connect(...)).
    int64_t Connect(int socket, const void *address, uint32_t bytes) noexcept {
        return Run(IoOperation::Connect(socket, address, bytes));
    }

    /// Submits `count` operations and returns at once. `counter` is raised by `count` now and
    /// lowered by 1 for each one that has ended. The operations begin in their order, and may end
    /// in any order.
    ///
    /// Returns Ok, or without any effect: BadOption (an operation that does nothing; no counter, or
    /// the counter was refused: both are reported), NotRunning (in a memory hook; reported),
    /// AlreadyRunning (one of them is submitted already). The scheduler must run until all have
    /// ended. If there was no memory or no thread (LastError), the caller makes the calls before
    /// this returns. Thread-safe.
    Status Submit(uint32_t count, IoOperation *operations, Counter *counter) noexcept;
    /// Submits one operation.
    Status Submit(IoOperation &operation, Counter *counter) noexcept {
        return Submit(1, &operation, counter);
    }

    /// Returns true while io_uring is in use: false after it was lost (see above). Thread-safe.
    bool UsesRing() const noexcept;

    /// Returns Ok, or the last error: BadOption (an option is out of range, and the nearest value
    /// is used), NotRunning (io_uring is lost, see above), or an error of BlockingCalls::LastError.
    /// It is not an error if io_uring was not available from the start. Thread-safe.
    Status LastError() const noexcept;

private:
    friend class IoOperation;
    struct State;

    bool IsForked() const noexcept;
    bool Claim(uint32_t count, IoOperation *operations, Status &status) noexcept;
    void Start(uint32_t count, IoOperation *operations) noexcept;

    TaskScheduler &m_scheduler;
    State *m_state;  // null: there was no memory
};

}  // namespace weft
