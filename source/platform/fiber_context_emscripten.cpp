// Contexts for WebAssembly, with Emscripten's fibers. There is one thread.
//
// WebAssembly has no access to its call stack. Asyncify rewrites the program: to leave a context,
// each function of the call stack stores its local variables in memory and returns to JavaScript.
// To continue it, each function is called again, and loads them. They are stored in the part of
// the context's stack that is free below the stack pointer. So they need no memory of their own,
// and a stack that is too small for them ends the program.
//
//     bottom | a cookie of Emscripten | stored local variables -> | free | <- stack | top
#include "platform/fiber_context.h"

#include "platform/compiler.h"
#include "platform/env.h"

#include <cstdlib>

#include <emscripten.h>
#include <emscripten/fiber.h>
#include <emscripten/stack.h>

// The C++ runtime keeps its exception state in three variables of JavaScript. They exist only if
// the program catches exceptions. Swaps them with the state `to`, 0 for none. Returns the number of
// the state that was left, or 0 if no exception was being handled.
// clang-format off
EM_JS(int, weft_swap_exceptions, (int to), {
    if (typeof exceptionCaught == "undefined") return 0;
    var states = Module["weftExceptions"] || (Module["weftExceptions"] = [null]);
    var from = 0;
    if (exceptionCaught.length || uncaughtExceptionCount) {
        for (from = 1; states[from]; ) ++from;
        states[from] = [exceptionCaught, uncaughtExceptionCount, exceptionLast];
    }
    var state = states[to] || [[], 0, 0];
    exceptionCaught = state[0];
    uncaughtExceptionCount = state[1];
    exceptionLast = state[2];
    if (to) states[to] = null;
    return from;
});
// clang-format on

namespace weft::internal {

namespace {

// A word at the end of a thread's stack with which Emscripten detects an overflow.
constexpr size_t kCookieBytes = 16;

}  // namespace

struct FiberContext::Landing {
    // The first function on a new stack.
    static void Enter(void *context) noexcept {
        FiberContext *self = static_cast<FiberContext *>(context);
        FiberContext *next = self->m_entry(self->m_arg);
        SwitchContext(*self, *next);
        std::abort();  // never continued: no thread switches to a context that has ended
    }
};

FiberContext &FiberContext::operator=(FiberContext &&other) noexcept {
    m_handle = std::exchange(other.m_handle, nullptr);
    m_entry = other.m_entry;
    m_arg = other.m_arg;
    m_stackBottom = other.m_stackBottom;
    m_stackBytes = other.m_stackBytes;
    m_isNew = other.m_isNew;
    return *this;
}

void FiberContext::Adopt() noexcept {
    // Emscripten initialises the bounds of the thread's stack only in builds with assertions.
    if (emscripten_stack_get_end() == 0) emscripten_stack_init();
}

void FiberContext::Create(char *bottom, size_t bytes, FiberContext *(*entry)(void *),
                          void *arg) noexcept {
    m_entry = entry;
    m_arg = arg;
    m_stackBottom = bottom;
    m_stackBytes = bytes;
    m_isNew = true;
    // The description lies at the top of the stack until the context is entered.
    m_handle = bottom + (bytes - sizeof(emscripten_fiber_t)) / 16 * 16;
}

void FiberContext::Destroy() noexcept { m_handle = nullptr; }

// The description of a context that was left lies in this frame, on the stack of the context.
WEFT_NOINLINE void SwitchContext(FiberContext &from, FiberContext &to) noexcept {
    char *const target = static_cast<char *>(std::exchange(to.m_handle, nullptr));
#if defined(WEFT_DEBUG)
    if (target == nullptr)
        env::Panic("a fiber is visible to others only after its context is saved");
#endif
    emscripten_fiber_t *next = reinterpret_cast<emscripten_fiber_t *>(target);
    if (std::exchange(to.m_isNew, false)) {
        // Not in Create: the context may have been moved since.
        char *bottom = target - (to.m_stackBytes - sizeof(emscripten_fiber_t)) / 16 * 16;
        emscripten_fiber_init(next, FiberContext::Landing::Enter, &to, bottom,
                              static_cast<size_t>(target - bottom), bottom, 0);
    }
    emscripten_fiber_t left;
    char *const end = reinterpret_cast<char *>(emscripten_stack_get_end()) + kCookieBytes;
    char *const top = reinterpret_cast<char *>(emscripten_stack_get_current());
    emscripten_fiber_init_from_current_context(&left, end, static_cast<size_t>(top - end));
    from.m_handle = &left;
    const int exceptions = weft_swap_exceptions(0);
    emscripten_fiber_swap(&left, next);
    if (exceptions != 0) weft_swap_exceptions(exceptions);
}

}  // namespace weft::internal
