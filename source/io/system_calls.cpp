#include "io/system_calls.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

namespace weft::internal {

namespace {

int64_t ReadOnce(const IoNode &node, size_t bytes) noexcept {
    if (node.offset != kFilePosition) {
        const ssize_t result = pread(node.file, node.buffer, bytes, node.offset);
        if (result >= 0 || errno != ESPIPE) return result;
    }
    return read(node.file, node.buffer, bytes);
}

int64_t WriteOnce(const IoNode &node, size_t bytes) noexcept {
    if (node.offset != kFilePosition) {
        const ssize_t result = pwrite(node.file, node.buffer, bytes, node.offset);
        if (result >= 0 || errno != ESPIPE) return result;
    }
    return write(node.file, node.buffer, bytes);
}

// A connect that a signal interrupts goes on without its caller, and must not be called again. So
// does the connect of a socket with O_NONBLOCK.
int64_t ConnectOnce(const IoNode &node) noexcept {
    const auto *address = static_cast<const sockaddr *>(node.buffer);
    if (connect(node.file, address, static_cast<socklen_t>(node.bytes)) == 0) return 0;
    if (errno != EINTR && errno != EINPROGRESS) return -1;
    pollfd wanted{node.file, POLLOUT, 0};
    while (poll(&wanted, 1, -1) < 0 && errno == EINTR) {
    }
    int error = 0;
    socklen_t bytes = sizeof error;
    if (getsockopt(node.file, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return -1;
    errno = error;
    return error == 0 ? 0 : -1;
}

int64_t CallOnce(const IoNode &node) noexcept {
    const size_t bytes = std::min(node.bytes, kMostIoBytes);
    switch (node.kind) {
        case IoKind::Read:
            return ReadOnce(node, bytes);
        case IoKind::Write:
            return WriteOnce(node, bytes);
        case IoKind::Receive:
            return recv(node.file, node.buffer, bytes, node.flags);
        case IoKind::Send:
            return send(node.file, node.buffer, bytes, node.flags | MSG_NOSIGNAL);
        case IoKind::Accept:
            return accept4(node.file, nullptr, nullptr, node.flags);
        case IoKind::Connect:
            return ConnectOnce(node);
        case IoKind::None:
            break;
    }
    errno = EINVAL;
    return -1;
}

// Returns the event to wait for if the file is not ready, or 0 if the caller does not want to wait.
short EventOf(const IoNode &node) noexcept {
    switch (node.kind) {
        case IoKind::Read:
        case IoKind::Accept:
            return POLLIN;
        case IoKind::Write:
            return POLLOUT;
        case IoKind::Receive:
            return (node.flags & MSG_DONTWAIT) != 0 ? 0 : POLLIN;
        case IoKind::Send:
            return (node.flags & MSG_DONTWAIT) != 0 ? 0 : POLLOUT;
        default:
            return 0;
    }
}

}  // namespace

// With O_NONBLOCK, or after the time-out of a socket, EAGAIN says that the call would have to wait.
// io_uring waits then, so this waits, too.
int64_t CallFor(const IoNode &node) noexcept {
    for (bool wasReady = false;;) {
        const int64_t result = CallOnce(node);
        if (result >= 0) return result;
        const int error = errno;
        pollfd wanted{node.file, EventOf(node), 0};
        if (error == EAGAIN && wanted.events != 0) {
            // Some files say that they are ready, and then refuse the call nevertheless.
            if (wasReady) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            wasReady = poll(&wanted, 1, -1) > 0;
        } else if (error != EINTR) {
            return -error;
        }
    }
}

}  // namespace weft::internal
