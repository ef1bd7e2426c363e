// The functions that tasks call, the same for every system, and the checks that they were called.
#pragma once

#include "rounds.h"

#include <atomic>
#include <thread>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace bench {

#define BENCH_NOINLINE __attribute__((noinline))

/// A cell into which one task writes its argument.
using Cell = uint32_t;
inline Cell Sign(const void *arg) { return static_cast<Cell>(reinterpret_cast<uintptr_t>(arg)); }
BENCH_NOINLINE void WriteCell(void *cell);

/// Cells for `count` tasks. Verify() ends the program if a cell was not written since the last
/// Clear().
class Cells {
public:
    explicit Cells(uint32_t count) : m_cells(count) {}
    void *At(uint32_t index) { return &m_cells[index]; }
    uint32_t Count() const { return static_cast<uint32_t>(m_cells.size()); }
    void Clear() { m_cells.assign(m_cells.size(), 0); }
    void Verify() const {
        for (const Cell &cell : m_cells) {
            if (cell != Sign(&cell)) Wrong("a task did not run");
        }
    }

private:
    std::vector<Cell> m_cells;
};

/// Keeps the processor busy for this time, measured by the time stamp counter. So a changing clock
/// frequency does not matter.
BENCH_NOINLINE void Spin(double nanoseconds);

/// Figures of the whole process, from getrusage() and /proc.
double VoluntarySwitches();
double ProcessorTime();  ///< in nanoseconds
double ResidentBytes();

/// One step of a chain that the compiler cannot shorten.
inline uint64_t Mix(uint64_t value) {
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdull;
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53ull;
    return value ^ value >> 33;
}

/// The uneven tree. A node of `size` nodes has up to two children. The place of the split depends
/// only on the node.
inline constexpr uint32_t kTreeNodes = 1000000;
struct Node {
    uint32_t size;
    uint64_t seed;
    uint64_t nodes = 0;  ///< result: the number of nodes in this subtree

    /// The node's own work. Its result decides how the rest is split between the children.
    BENCH_NOINLINE uint64_t Work() const;
    void Split(uint64_t work, Node &left, Node &right) const {
        const uint32_t rest = size - 1;
        left = {static_cast<uint32_t>(work % (rest + 1)), work, 0};
        right = {rest - left.size, ~work, 0};
    }
};

/// The sum of 16 numbers takes about 4 ns.
inline constexpr uint32_t kSummands = 16;
struct Part {
    const uint32_t *first;
    uint64_t sum = 0;
};
BENCH_NOINLINE void SumPart(void *part);

}  // namespace bench
