// Knows that it is in a child process: a page that the system wipes on fork. No pthread_atfork, nothing process-wide.
#pragma once

namespace weft::env {

class ForkMark {
public:
    ForkMark() = default;
    ForkMark(const ForkMark &) = delete;
    ForkMark &operator=(const ForkMark &) = delete;
    ~ForkMark() { Release(); }

    /// Without such pages (Linux before 4.14, other systems) it never knows.
    void Acquire() noexcept;
    void Release() noexcept;

    /// True in a child process that was forked after Acquire.
    bool IsForked() const noexcept { return m_page != nullptr && *m_page == 0; }

private:
    volatile char *m_page = nullptr;
};

}  // namespace weft::env
