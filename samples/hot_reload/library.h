// A shared library that is loaded and unloaded while the program runs.
#pragma once

#include <string>

class Library {
public:
    Library() = default;
    ~Library() { Close(); }
    Library(const Library &) = delete;
    Library &operator=(const Library &) = delete;

    /// Loads the library. Returns false if that is not possible.
    bool Open(const std::string &path);
    /// Unloads the library, if one is loaded.
    void Close();
    /// Returns the address of an exported function, or null.
    template <class Function>
    Function Find(const char *name) const {
        return reinterpret_cast<Function>(Address(name));
    }
    /// Returns true if a library with this path is loaded.
    static bool IsLoaded(const std::string &path);

private:
    using AnyFunction = void (*)();
    AnyFunction Address(const char *name) const;
    void *m_handle = nullptr;
};
