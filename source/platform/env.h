// The one seam between the core and the machine: atomics, parking, threads, clock, current worker.
// The core uses only weft::env; which environment that is, is chosen here, at build time. An
// environment provides:
//
//   Atomic<T>                 load, store, exchange, compare_exchange_strong, fetch_add, fetch_sub,
//   fetch_and, fetch_or Plain<T>                  a T that atomics publish; where memory orders are
//   checked, each use of it is Pause()                   one turn of a spin loop
//   PrefetchForWrite(address) a hint
//   Ticks(), TicksPerMicrosecond(), Now()
//   ThreadSlot(), CallSlot(), HookSlot()  three pointers per OS thread; the only thread_locals of
//   the library Parker                    Park() sleeps until Unpark() was called once; a call may
//   come first and is not lost; ParkUntil()
//                             sleeps until Now() at most
//   Thread                    Start(entry, arg, stackBytes), Join()
//   NameThread(), AddNice(), SetNice(), SetSlice(), SetPreciseSleep()
//   BindThread(), BindThreadToNth(), UsableCpus(), YieldThread(), NapThread(), ThreadHint()
//   ForkMark, ExitCall and AtThreadExit(), SignalStack, InstallFaultHandler(), RemoveFaultHandler()
//   Panic(invariant)          does not return
//
// The core uses no fences: where two threads must not both miss each other (store, then load of
// another word) both operations are seq_cst. On x86-64 that is one xchg, and sanitizers and model
// checkers understand it.
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

/// Distance that keeps what different workers write on different cache lines (two lines:
/// prefetchers fetch pairs).
inline constexpr unsigned kLineBytes = 128;

}  // namespace weft::internal
