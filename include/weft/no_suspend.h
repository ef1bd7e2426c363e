// Marks a scope in which a task must not wait, because it depends on its current thread.
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
/// A wait may move the task to another thread. So a task that waits must not hold a std::mutex,
/// keep the address of a thread_local variable, or be inside a library that relies on the thread.
/// The first call of a scope that waits is reported as WaitInScope, even if its wait is over
/// already. It waits as usual, and later waits in the scope are not reported. A call that locks an
/// object of weft/sync/ is reported only if the object is not free.
///
/// Objects may be nested; create and destroy them on the same task, in reverse order. Has no effect
/// on an external thread.
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
