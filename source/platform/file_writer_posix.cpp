#include "platform/file_writer.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace weft::internal {

FileWriter::FileWriter(const char *path) noexcept
    : m_file(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {}

FileWriter::~FileWriter() {
    if (IsOpen()) close(static_cast<int>(m_file));
}

bool FileWriter::Write(const void *data, size_t bytes) noexcept {
    const char *next = static_cast<const char *>(data);
    while (bytes != 0) {
        const ssize_t written = write(static_cast<int>(m_file), next, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        next += written;
        bytes -= static_cast<size_t>(written);
    }
    return true;
}

}  // namespace weft::internal
