// A function that is called when a thread ends. It handles threads that are still attached then.
#pragma once

namespace weft::env {

/// A call. The owner keeps it until the thread has ended.
struct ExitCall {
    void (*call)(void *arg) = nullptr;
    void *arg = nullptr;
};

/// Lets the system call exit->call(exit->arg) on the calling thread when this thread ends. Null: no
/// call. The last call of a thread counts. The first use in a process makes one pthread key
/// (Windows: one FLS slot). Returns false if the system has no key or no memory left; then nothing
/// has changed.
bool AtThreadExit(ExitCall *exit) noexcept;

}  // namespace weft::env
