// A call when a thread ends, for one that forgot something.
#pragma once

namespace weft::env {

struct ExitCall {
    void (*call)(void *arg) = nullptr;
    void *arg = nullptr;
};

/// When the calling thread ends, exit->call(exit->arg) is called on it; with null, nothing. The
/// last one of a thread counts. The first use in a process makes one pthread key. False if the
/// system has no more of them, or no memory: then nothing has changed.
bool AtThreadExit(ExitCall *exit) noexcept;

}  // namespace weft::env
