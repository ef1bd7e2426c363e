// A function that is called when a thread ends. It handles threads that are still attached then.
#pragma once

namespace weft::env {

/// A call. The owner keeps it at its address until it has begun or was cancelled.
struct ExitCall {
    void (*call)(void *arg) = nullptr;
    void *arg = nullptr;
    ExitCall *outer = nullptr;  // the call that the thread had before
    bool isSet = false;
};

/// Lets the system call exit->call(exit->arg) on the calling thread when this thread ends, before
/// earlier calls of the thread. While any thread of the process has a call, there is one pthread
/// key (Windows: one FLS slot). Returns false if the system has no key or no memory left; then
/// nothing has changed.
bool AtThreadExit(ExitCall *exit) noexcept;

/// Withdraws the newest call of the calling thread. No effect if it was not set, or has begun.
void CancelAtThreadExit(ExitCall *exit) noexcept;

}  // namespace weft::env
