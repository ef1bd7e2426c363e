// The entries of the submission queue: how each operation is told to the kernel. Linux, with
// liburing.
#pragma once

#include "io/system_calls.h"

#include <algorithm>

#include <liburing.h>
#include <sys/socket.h>

namespace weft::internal {

/// Returns true if the kernel knows all operations that Describe uses.
inline bool HasOperations(io_uring &ring) noexcept {
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

/// Fills the entry. The kernel must not have the node yet.
inline void Describe(io_uring_sqe *entry, IoNode &node) noexcept {
    const auto bytes = static_cast<unsigned>(std::min(node.bytes, kMostIoBytes));
    const int64_t begin = node.ignoresOffset ? kFilePosition : node.offset;
    const auto offset = static_cast<uint64_t>(begin);  // -1: the position of the file
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

}  // namespace weft::internal
