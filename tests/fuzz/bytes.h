// The input, read as small numbers. Behind its end all numbers are 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace fuzz {

class Bytes {
public:
    Bytes(const uint8_t *data, size_t bytes) : m_next(data), m_end(data + bytes) {}
    bool IsEmpty() const { return m_next == m_end; }
    uint8_t Next() { return IsEmpty() ? uint8_t{0} : *m_next++; }
    /// Returns a number from 0 to bound - 1.
    uint32_t Below(uint32_t bound) { return Next() % bound; }
    /// Returns the next `bytes` bytes, or as many as are left.
    Bytes Split(size_t bytes) {
        const size_t taken = std::min(bytes, static_cast<size_t>(m_end - m_next));
        m_next += taken;
        return {m_next - taken, taken};
    }

private:
    const uint8_t *m_next;
    const uint8_t *m_end;
};

}  // namespace fuzz
