// Writes a file without the C library's buffers. On POSIX systems all functions are
// async-signal-safe.
#pragma once

#include <cstddef>

namespace weft::internal {

class FileWriter {
public:
    /// Makes the file, or empties it.
    explicit FileWriter(const char *path) noexcept;
    ~FileWriter();
    FileWriter(const FileWriter &) = delete;
    FileWriter &operator=(const FileWriter &) = delete;

    bool IsOpen() const noexcept { return m_file != -1; }
    /// Returns false if the system refuses to write all of it.
    bool Write(const void *data, size_t bytes) noexcept;

private:
    long long m_file;  // a file descriptor, or a HANDLE
};

}  // namespace weft::internal
