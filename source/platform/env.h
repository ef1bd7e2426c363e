// The seam between the library and the machine: atomics, parking, threads, clock, current worker.
// All code outside platform/ gets these from weft::env alone. This file chooses the environment at
// build time: production, simulator or relacy. An environment provides:
//
//     Atomic<T>                   load, store, exchange, compare_exchange_strong, fetch_add,
//                                 fetch_sub, fetch_and, fetch_or
//     Plain<T>                    a T that atomics publish; each use of it is checked where memory
//                                 orders are checked
//     Pause()                     one turn of a spin loop
//     PrefetchForWrite(address)   a hint
//     Ticks(), TicksPerMicrosecond(), Now()
//     ThreadSlot(), CallSlot(), HookSlot()
//                                 three pointers for each OS thread; the library has no other
//                                 thread_locals
//     Parker                      Park() sleeps until Unpark() is called. It does not lose an
//                                 earlier Unpark(). ParkUntil() sleeps until a time of Now() at
//                                 most.
//     Thread                      Start(entry, arg, stackBytes), Join()
//     NameThread(), AddNice(), SetNice(), SetSlice(), SetPreciseSleep()
//     UnbindThread(), BindThread(), BindThreadToNth()
//     UsableCpus(), GrantedCpus(), CpuQuota()
//     YieldThread(), NapThread(), ThreadHint(), ThreadNumber()
//     ForkMark, ExitCall, AtThreadExit(), CancelAtThreadExit(), SignalStack,
//     InstallFaultHandler(), RemoveFaultHandler()
//     Panic(invariant)            does not return
//
// weft uses no fences. Where two threads must not both miss each other (each stores a word,
// then loads another word), all of these operations are seq_cst. On x86-64 such a store is one
// xchg. Sanitizers and model checkers understand it.
#pragma once

#include <atomic>

#if defined(WEFT_SIMULATOR)
#include "simulator/env_simulator.h"
#elif defined(WEFT_RELACY)
#include "relacy/env_relacy.h"
#else
#include "platform/env_production.h"
#endif

namespace weft::internal {

inline constexpr auto kRelaxed = std::memory_order_relaxed;
inline constexpr auto kAcquire = std::memory_order_acquire;
inline constexpr auto kRelease = std::memory_order_release;
inline constexpr auto kAcqRel = std::memory_order_acq_rel;
inline constexpr auto kSeqCst = std::memory_order_seq_cst;

/// Keeps data that different workers write on different cache lines. Two lines, because prefetchers
/// fetch pairs of lines.
inline constexpr unsigned kLineBytes = 128;

}  // namespace weft::internal
