// A small number for each live scheduler, so that a counter's word can say whose it is.
//
// The only process-wide state of the library: 127 bits, constant-initialised, lock-free.
#pragma once

#include "platform/env.h"

#include <cstdint>

namespace weft::internal {

/// Holds a tag from 1 to 127, or 0 when more schedulers live at once: those go without the check.
class SchedulerTag {
public:
    SchedulerTag() = default;
    SchedulerTag(const SchedulerTag &) = delete;
    SchedulerTag &operator=(const SchedulerTag &) = delete;
    ~SchedulerTag() { Release(); }

    uint32_t Acquire() noexcept;
    void Release() noexcept;

private:
    uint32_t m_tag = 0;
};

}  // namespace weft::internal
