// Contexts on Boost.Context, for all systems but Emscripten.
#include "platform/fiber_context.h"

#include "platform/compiler.h"
#include "platform/env.h"
#include "platform/floating_point.h"
#include "platform/leak_roots.h"
#include "platform/race_finder.h"
#include "platform/sanitizers.h"
#include "platform/thread_block.h"

#include <boost/context/detail/fcontext.hpp>

#include <cstdlib>

namespace weft::internal {

namespace fcontext = boost::context::detail;

// The code on the other side of a jump. The jump passes the context that was left. What is known of
// this context lies in the FiberContext, not on its stack, because the stack may be gone already:
// AddressSanitizer frees the fake stack of a fiber that ends.
struct FiberContext::Landing {
    // Boost's jump_fcontext continues a context after the call that left it, without a return from
    // that call. The processor's return predictor still holds the call, so it mispredicts the
    // returns that follow (source/README.md: Switches return). So this runs a function on the other
    // stack, which returns there. A new context has no call to return from.
    static fcontext::transfer_t Jump(void *target, FiberContext *from, bool isNew) noexcept {
        if (WEFT_UNLIKELY(isNew)) return fcontext::jump_fcontext(target, from);
        return fcontext::ontop_fcontext(target, from, Return);
    }
    static fcontext::transfer_t Return(fcontext::transfer_t transfer) noexcept { return transfer; }

    // The first act after a jump: completes the context that was left.
    static void Land(fcontext::transfer_t transfer) noexcept {
        FiberContext *from = static_cast<FiberContext *>(transfer.data);
#if defined(WEFT_ASAN)
        // Also learns the bounds of the stack that was left. For a thread's own stack there is no
        // other way.
        __sanitizer_finish_switch_fiber(from->m_leftFor->m_asanFakeStack, &from->m_stackBottom,
                                        &from->m_stackBytes);
        if (from->m_entry == nullptr) AddStack(*from, transfer.fctx);
#endif
        from->m_handle = transfer.fctx;
    }

#if defined(WEFT_ASAN)
    // While a thread runs on a fiber, LeakSanitizer does not look at the thread's own stack. So the
    // part in use is a root meanwhile. The stacks of fibers always are (stack_memory_posix.cpp).
    static void AddStack(FiberContext &context, void *top) noexcept {
        context.m_leakRoot = top;
        AddLeakRoot(top, BytesInUse(context));
    }
    static void RemoveStack(FiberContext &context) noexcept {
        RemoveLeakRoot(context.m_leakRoot, BytesInUse(context));
    }
    static size_t BytesInUse(const FiberContext &context) noexcept {
        return reinterpret_cast<uintptr_t>(context.m_stackBottom) + context.m_stackBytes -
               reinterpret_cast<uintptr_t>(context.m_leakRoot);
    }
#endif

    // Save and set the control words where fcontext does not.
    static void KeepFloatingPoint(FiberContext &context) noexcept {
        if (!kFcontextKeepsFloatingPoint) context.m_floatingPoint = FloatingPointControl();
    }
    static void GoOnWithFloatingPoint(const FiberContext &context) noexcept {
        if (!kFcontextKeepsFloatingPoint) SetFloatingPointControl(context.m_floatingPoint);
    }

    // The first function on a new stack.
    [[noreturn]] static void Enter(fcontext::transfer_t transfer) noexcept {
        FiberContext *self = static_cast<FiberContext *>(transfer.data)->m_leftFor;
        Land(transfer);
        BeginStack(self->m_stackBottom);
        GoOnWithFloatingPoint(*self);
        FiberContext *next = self->m_entry(self->m_arg);
        self->m_ending = true;
        SwitchContext(*self, *next);
        std::abort();  // never continued: no thread switches to a context that has ended
    }
};

FiberContext &FiberContext::operator=(FiberContext &&other) noexcept {
    m_handle = std::exchange(other.m_handle, nullptr);
    m_exceptions = std::exchange(other.m_exceptions, ExceptionState());
    m_threadExceptions = std::exchange(other.m_threadExceptions, nullptr);
    m_leftFor = std::exchange(other.m_leftFor, nullptr);
    m_entry = other.m_entry;
    m_arg = other.m_arg;
    m_stackBottom = other.m_stackBottom;
    m_stackBytes = other.m_stackBytes;
    m_tsanFiber = std::exchange(other.m_tsanFiber, nullptr);
    m_asanFakeStack = std::exchange(other.m_asanFakeStack, nullptr);
    m_leakRoot = std::exchange(other.m_leakRoot, nullptr);
    m_valgrindStack = std::exchange(other.m_valgrindStack, 0u);
    m_isNew = other.m_isNew;
    m_ending = other.m_ending;
    m_floatingPoint = other.m_floatingPoint;
    return *this;
}

void FiberContext::Adopt() noexcept {
    m_threadExceptions = ThreadExceptionState();
#if defined(WEFT_TSAN)
    m_tsanFiber = __tsan_get_current_fiber();
#endif
}

void FiberContext::Create(char *bottom, size_t bytes, FiberContext *(*entry)(void *),
                          void *arg) noexcept {
    m_entry = entry;
    m_arg = arg;
    m_exceptions = ExceptionState();
    m_stackBottom = bottom;
    m_stackBytes = bytes;
    m_isNew = true;
    m_ending = false;
    m_asanFakeStack = nullptr;
#if defined(WEFT_ASAN)
    // Removes the marks of frames that used this memory before and never returned.
    __asan_unpoison_memory_region(bottom, bytes);
#endif
    // The new context starts with the floating-point control words of the calling thread.
    m_handle = fcontext::make_fcontext(bottom + bytes, bytes, Landing::Enter);
    Landing::KeepFloatingPoint(*this);
#if defined(WEFT_TSAN)
    // For the race finder, ThreadSanitizer must order the fiber's start after what its creator did
    // before this call. Otherwise the first switch to the fiber creates it.
    if (race::kFinder && m_tsanFiber == nullptr) m_tsanFiber = __tsan_create_fiber(0);
#endif
#if defined(WEFT_VALGRIND)
    if (m_valgrindStack == 0) m_valgrindStack = VALGRIND_STACK_REGISTER(bottom, bottom + bytes);
#endif
}

void FiberContext::Destroy() noexcept {
#if defined(WEFT_ASAN)
    // Removes the marks of frames that never returned: the memory may be used for anything now.
    if (m_entry != nullptr) __asan_unpoison_memory_region(m_stackBottom, m_stackBytes);
#elif defined(WEFT_VALGRIND)
    if (m_entry != nullptr)
        // the memory below the stack pointer that was left is marked as inaccessible
        VALGRIND_MAKE_MEM_UNDEFINED(m_stackBottom, m_stackBytes);
#endif
#if defined(WEFT_TSAN)
    if (m_tsanFiber != nullptr) __tsan_destroy_fiber(m_tsanFiber);
    m_tsanFiber = nullptr;
#endif
#if defined(WEFT_VALGRIND)
    if (m_valgrindStack != 0) VALGRIND_STACK_DEREGISTER(m_valgrindStack);
    m_valgrindStack = 0;
#endif
    m_handle = nullptr;
}

// Not inlined: what the compiler knows about the thread (addresses of thread_locals, errno) must
// not survive the jump. Without AddressSanitizer: the locals must not lie on a fake stack, because
// that of an ending fiber is freed before the jump.
WEFT_NOINLINE WEFT_NO_ASAN void SwitchContext(FiberContext &from, FiberContext &to) noexcept {
    const unsigned long long handlers = StackHandlers();
#if defined(WEFT_SIMULATOR)
    env::SchedulePoint(&from);  // other threads may run between the last atomic operation and here
#endif
    from.m_leftFor = &to;
    if (from.m_threadExceptions != nullptr) {
        from.m_exceptions = *from.m_threadExceptions;
        *from.m_threadExceptions = to.m_exceptions;
        to.m_threadExceptions = from.m_threadExceptions;
    }
#if defined(WEFT_ASAN)
    __sanitizer_start_switch_fiber(from.m_ending ? nullptr : &from.m_asanFakeStack,
                                   to.m_stackBottom, to.m_stackBytes);
#endif
#if defined(WEFT_TSAN)
    // costly, and many fibers are never entered
    if (to.m_tsanFiber == nullptr) to.m_tsanFiber = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(to.m_tsanFiber, race::kFinder ? __tsan_switch_to_fiber_no_sync : 0);
#endif
    FiberContext::Landing::KeepFloatingPoint(from);
    void *const target = std::exchange(to.m_handle, nullptr);  // null while the context runs
#if defined(WEFT_DEBUG) || defined(WEFT_SIMULATOR)
    if (target == nullptr)
        env::Panic("a fiber is visible to others only after its context is saved");
#endif
    FiberContext::Landing::Land(
        FiberContext::Landing::Jump(target, &from, std::exchange(to.m_isNew, false)));
#if defined(WEFT_ASAN)
    if (from.m_entry == nullptr) FiberContext::Landing::RemoveStack(from);
#endif
    SetStackHandlers(handlers);
    FiberContext::Landing::GoOnWithFloatingPoint(from);
}

}  // namespace weft::internal
