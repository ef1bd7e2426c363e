#include "hot_reload/library.h"

#include <windows.h>

bool Library::Open(const std::string &path) {
    Close();
    m_handle = LoadLibraryA(path.c_str());
    return m_handle != nullptr;
}

void Library::Close() {
    if (m_handle != nullptr) FreeLibrary(static_cast<HMODULE>(m_handle));
    m_handle = nullptr;
}

Library::AnyFunction Library::Address(const char *name) const {
    if (m_handle == nullptr) return nullptr;
    const FARPROC address = GetProcAddress(static_cast<HMODULE>(m_handle), name);
    return reinterpret_cast<AnyFunction>(reinterpret_cast<void *>(address));
}

bool Library::IsLoaded(const std::string &path) {
    return GetModuleHandleA(path.c_str()) != nullptr;
}
