// Declares a part of a task in which it must not wait, because it holds something of its thread.
//
//     {
//         const std::lock_guard<std::mutex> lock(physics.mutex);
//         const weft::NoSuspend here("physics.mutex");
//         physics.Step();      // a wait in here is reported, with this name
//     }
#pragma once

#include "weft/export.h"

namespace weft {

/// While an object of this class exists, its task must not wait.
///
/// After a wait the task may be on another thread, so it must not hold a std::mutex, use the
/// address of a thread_local variable, or be inside a call of a library that relies on the thread.
/// A call that waits is reported as WaitInScope, and then waits as usual. From then on, nothing is
/// reported in this scope. A lock of weft/sync/ is reported only if it has to wait.
///
/// Objects may be nested; create and destroy them on the same task, in reverse order. Has no effect
/// on an external thread. Costs two nanoseconds. Thread-safe.
class WEFT_API NoSuspend {
public:
    /// `name`: what the report calls this part of the task; null: no name. The string must live as
    /// long as the object.
    explicit NoSuspend(const char *name = nullptr) noexcept;
    ~NoSuspend();
    NoSuspend(const NoSuspend &) = delete;
    NoSuspend &operator=(const NoSuspend &) = delete;

    const char *Name() const noexcept { return m_name; }

private:
    const char *const m_name;
    const NoSuspend *m_outer = nullptr;
};

}  // namespace weft
