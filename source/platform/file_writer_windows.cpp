#include "platform/file_writer.h"
#include "platform/windows_api.h"

namespace weft::internal {

namespace {

HANDLE HandleOf(long long file) noexcept { return reinterpret_cast<HANDLE>(file); }

}  // namespace

FileWriter::FileWriter(const char *path) noexcept
    : m_file(reinterpret_cast<long long>(CreateFileA(path, GENERIC_WRITE, 0, nullptr, CREATE_ALWAYS,
                                                     FILE_ATTRIBUTE_NORMAL, nullptr))) {}

FileWriter::~FileWriter() {
    if (IsOpen()) CloseHandle(HandleOf(m_file));
}

bool FileWriter::Write(const void *data, size_t bytes) noexcept {
    const char *next = static_cast<const char *>(data);
    while (bytes != 0) {
        const DWORD part = bytes < (1u << 30) ? static_cast<DWORD>(bytes) : 1u << 30;
        DWORD written = 0;
        if (!WriteFile(HandleOf(m_file), next, part, &written, nullptr) || written == 0)
            return false;
        next += written;
        bytes -= written;
    }
    return true;
}

}  // namespace weft::internal
