// Knows that it is in a child process: a page that the system wipes on fork. No pthread_atfork,
// nothing process-wide.
#pragma once

namespace weft::env {

/// Keeps a pointer that is null in child processes. To read it costs no call of the system's.
class ForkMark {
public:
    ForkMark() = default;
    ForkMark(const ForkMark &) = delete;
    ForkMark &operator=(const ForkMark &) = delete;
    ~ForkMark() { Release(); }

    /// `value`: not null. Without such pages (Linux before 4.14, other systems) it never knows.
    void Acquire(void *value) noexcept;
    void Release() noexcept;

    /// Where the value can be read until Release. In a child process that was forked after Acquire
    /// it is null.
    void *const *Place() const noexcept { return m_place; }
    /// True in such a child process.
    bool IsForked() const noexcept { return *m_place != m_value; }

private:
    void *m_value = nullptr;
    void **m_place = &m_value;
};

}  // namespace weft::env
