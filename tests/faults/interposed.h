// The functions that weft calls in the C library and in the host. Any call of any of them can be
// made to fail.
//
// The linker sends the calls of weft and of this program here (--wrap, see wrap.options), not those
// that the C library makes itself.
#pragma once

#include <atomic>
#include <cstdint>

namespace faults {

enum class Function : uint32_t {
    Mmap,
    Munmap,
    MprotectGuard,    // PROT_NONE
    MprotectUnguard,  // anything else
    MadviseGuard,     // MADV_GUARD_INSTALL
    MadviseUnguard,   // MADV_GUARD_REMOVE
    MadviseOther,
    AttrInit,
    AttrSetStackSize,
    ThreadCreate,
    SetName,
    KeyCreate,
    SetSpecific,
    GetAffinity,
    SetAffinity,
    CpuAlloc,
    SetPriority,
    SigAltStack,
    SigAction,
    FutexWait,
    Allocate,       // the aligned operator new
    HostAllocate,   // MemoryHooks::allocate
    ReserveStacks,  // MemoryHooks::reserveStacks
    Count
};
inline constexpr uint32_t kFunctions = static_cast<uint32_t>(Function::Count);
inline constexpr uint32_t BitOf(Function function) { return 1u << static_cast<uint32_t>(function); }

struct Plan {
    uint32_t functions = 0;  // calls of these, counted together
    uint32_t nth = 1;        // fail from this one on
    uint32_t count = 1;      // as many of them
    // with this; 0: with what is usual for the function, or (FutexWait) a wake-up for no reason
    int error = 0;
};

/// What was called and what failed. May lie in memory that two processes share.
struct Calls {
    std::atomic<uint32_t> made[kFunctions];
    std::atomic<uint32_t> failed[kFunctions];
    uint32_t Failed() const {
        uint32_t all = 0;
        for (const auto &number : failed) all += number.load();
        return all;
    }
    bool HasFailed(Function function) const {
        return failed[static_cast<uint32_t>(function)].load() != 0;
    }
};

/// From here on calls are counted and fail. `calls` outlives that.
void Arm(const Plan &plan, Calls &calls);
void Disarm();

/// Also for functions that are no C library's. Sets errno.
bool MustFail(Function function);

/// Whether it has failed since Arm.
bool HasFailed(Function function);

/// Without guard pages by madvise, as Linux before 6.13.
void SetOldKernel(bool old);

/// What weft holds: outstanding allocations, mappings, thread attributes, sets of CPUs.
struct Held {
    int64_t allocations, mappings, attributes, cpuSets;
    bool operator==(const Held &other) const {
        return allocations == other.allocations && mappings == other.mappings &&
               attributes == other.attributes && cpuSets == other.cpuSets;
    }
};
Held HeldNow();
/// Unmappings of what was not mapped.
uint32_t WrongUnmaps();
/// Gives back what munmap refused to take.
void UnmapRefused();

}  // namespace faults
