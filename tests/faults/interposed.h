// Lets calls of functions of the C library and of the host fail that weft calls.
//
// The linker redirects calls of weft and of this program to the wrappers (--wrap, see
// wrap.options), but not calls inside the C library.
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
    Open,
    Read,
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
    uint32_t functions = 0;  // calls of all these functions are counted together
    uint32_t nth = 1;        // the first call that fails
    uint32_t count = 1;      // how many calls fail from there on
    // The error code. 0: the usual one of the function, or (FutexWait) a spurious wake-up.
    int error = 0;
};

/// How many calls were made and how many failed. May be in memory that two processes share.
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

/// From now on, until Disarm, calls are counted and fail. `calls` must live until then.
void Arm(const Plan &plan, Calls &calls);
void Disarm();

/// Counts a call, and returns whether it must fail. Then it sets errno. Functions of the host use
/// it, too.
bool MustFail(Function function);

/// Whether a call of this function has failed since Arm.
bool HasFailed(Function function);

/// Whether to behave like Linux before 6.13, whose madvise has no guard pages.
void SetOldKernel(bool old);

/// What weft holds: the numbers of allocations, mappings, thread attributes and pthread keys.
struct Held {
    int64_t allocations, mappings, attributes, keys;
    bool operator==(const Held &other) const {
        return allocations == other.allocations && mappings == other.mappings &&
               attributes == other.attributes && keys == other.keys;
    }
};
Held HeldNow();
/// How often munmap was called for something that was not mapped.
uint32_t WrongUnmaps();
/// Unmaps what munmap has refused to unmap.
void UnmapRefused();

}  // namespace faults
