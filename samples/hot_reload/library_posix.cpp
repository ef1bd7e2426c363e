#include "hot_reload/library.h"

#include <dlfcn.h>

bool Library::Open(const std::string &path) {
    Close();
    m_handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    return m_handle != nullptr;
}

void Library::Close() {
    if (m_handle != nullptr) dlclose(m_handle);
    m_handle = nullptr;
}

Library::AnyFunction Library::Address(const char *name) const {
    return m_handle == nullptr ? nullptr : reinterpret_cast<AnyFunction>(dlsym(m_handle, name));
}

bool Library::IsLoaded(const std::string &path) {
    void *const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle == nullptr) return false;
    dlclose(handle);
    return true;
}
