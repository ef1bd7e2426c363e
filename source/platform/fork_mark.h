// Detects that the calling code runs in a child process after fork(). It uses a page that the
// system wipes on fork. It needs no pthread_atfork and no other process-wide state.
#pragma once

#include "platform/compiler.h"

namespace weft::env {

/// Keeps a pointer that is null in child processes. Reading it costs no system call.
class ForkMark {
public:
    ForkMark() = default;
    ForkMark(const ForkMark &) = delete;
    ForkMark &operator=(const ForkMark &) = delete;
    ~ForkMark() { Release(); }

    /// `value` must not be null. If the system has no such pages (Linux before 4.14, other
    /// systems), a fork is not detected.
    void Acquire(void *value) noexcept;
    void Release() noexcept;

    /// Returns where the value can be read until Release. It is null in a child process that was
    /// forked after Acquire.
    void *const *Place() const noexcept { return m_place; }
    /// Returns true in such a child process.
    bool IsForked() const noexcept { return *m_place != m_value; }

private:
    void *m_value = nullptr;
    void **m_place = &m_value;
};

#if !defined(WEFT_LINUX)
inline void ForkMark::Acquire(void *value) noexcept { m_value = value; }
inline void ForkMark::Release() noexcept { m_value = nullptr; }
#endif

}  // namespace weft::env
