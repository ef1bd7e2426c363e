#include "platform/fiber_context.h"

#include "platform/compiler.h"
#include "platform/env.h"
#include "platform/floating_point.h"
#include "platform/stack_memory.h"
#include "support/child_process.h"
#include "support/control_words.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

namespace {

// A context with a stack. It runs `body` once, then continues in `home`.
class Coroutine {
public:
    explicit Coroutine(std::function<void()> body, FiberContext *home)
        : m_body(std::move(body)), m_home(home) {
        if (m_stack.Acquire(1, 256 << 10) != Status::Ok) std::abort();
        Rearm();
    }
    ~Coroutine() { context.Destroy(); }
    void Rearm() { context.Create(m_stack.Bottom(0), m_stack.StackBytes(), Enter, this); }
    void GoHomeTo(FiberContext *home) { m_home = home; }
    void Replace(std::function<void()> body) { m_body = std::move(body); }

    FiberContext context;

private:
    static FiberContext *Enter(void *arg) {
        Coroutine *self = static_cast<Coroutine *>(arg);
        self->m_body();
        return self->m_home;
    }
    std::function<void()> m_body;
    FiberContext *m_home;
    StackMemory m_stack;
};

// Runs `body` to its end on a thread of its own.
void OnThread(const std::function<void()> &body) { std::thread(body).join(); }

// The compiler cannot see through this switch, as it cannot see through the scheduler's.
WEFT_NOINLINE void Switch(FiberContext &from, FiberContext &to) { SwitchContext(from, to); }

}  // namespace

TEST_CASE("context: switches to a fiber and back keep its stack", "[fiber_context]") {
    FiberContext home;
    home.Adopt();
    std::vector<int> order;
    FiberContext *fiber = nullptr;
    Coroutine coroutine(
        [&] {
            int local = 1;
            order.push_back(local);
            Switch(*fiber, home);
            ++local;
            order.push_back(local);
            Switch(*fiber, home);
            order.push_back(++local);
        },
        &home);
    fiber = &coroutine.context;
    for (int i = 0; i < 3; ++i) {
        Switch(home, coroutine.context);
        order.push_back(10 * (i + 1));
    }
    CHECK(order == std::vector<int>{1, 10, 2, 20, 3, 30});
}

TEST_CASE("context: when its entry returns, the named context continues; it can be created again",
          "[fiber_context]") {
    FiberContext home;
    home.Adopt();
    int first = 0, second = 0;
    Coroutine b([&] { ++second; }, &home);
    Coroutine a([&] { ++first; }, &b.context);
    for (int round = 1; round <= 50; ++round) {
        Switch(home, a.context);
        CHECK(first == round);
        CHECK(second == round);
        a.Rearm();
        b.Rearm();
    }
}

TEST_CASE("context: a context may be moved while it does not run", "[fiber_context]") {
    FiberContext home;
    home.Adopt();
    int steps = 0;
    FiberContext moved;
    FiberContext *fiber = nullptr;
    Coroutine coroutine(
        [&] {
            ++steps;
            Switch(*fiber, home);
            ++steps;
        },
        &home);
    fiber = &coroutine.context;
    Switch(home, coroutine.context);
    CHECK(steps == 1);
    moved = std::move(coroutine.context);
    fiber = &moved;
    Switch(home, moved);
    CHECK(steps == 2);
    moved.Destroy();
}

#if defined(WEFT_DEBUG)
TEST_CASE("invariant 2: a switch to a context that runs is a broken invariant", "[fiber_context]") {
    const test::ChildResult result = test::RunInChild([] {
        FiberContext home;
        home.Adopt();
        FiberContext *fiber = nullptr;
        Coroutine coroutine([&] { SwitchContext(*fiber, *fiber); }, &home);
        fiber = &coroutine.context;
        SwitchContext(home, coroutine.context);
    });
    CHECK(result.Died());
    CHECK(result.output.find("a fiber is visible to others only after its context is saved") !=
          std::string::npos);
}
#endif

TEST_CASE("fault: exception state after migration. Two contexts in catch blocks swap threads",
          "[fiber_context]") {
    FiberContext home;
    home.Adopt();
    int caught[2] = {0, 0};
    FiberContext *current[2];
    FiberContext *back = &home;
    const auto body = [&](int which) {
        return [&, which] {
            try {
                try {
                    throw which + 1;
                } catch (int) {
                    Switch(*current[which], *back);
                    throw;
                }
            } catch (int value) {
                caught[which] = value;
            }
        };
    };
    Coroutine a(body(0), &home), b(body(1), &home);
    current[0] = &a.context;
    current[1] = &b.context;
    Switch(home, a.context);
    CHECK(std::current_exception() == nullptr);
    Switch(home, b.context);
    CHECK(std::current_exception() == nullptr);
    // `a` continues while its new thread handles an exception of its own.
    OnThread([&] {
        FiberContext thread;
        thread.Adopt();
        a.GoHomeTo(&thread);
        try {
            throw 77;
        } catch (int own) {
            Switch(thread, a.context);
            caught[0] += own == 77 ? 0 : 1000;
            try {
                throw;
            } catch (int again) {
                caught[0] += again == 77 ? 0 : 2000;
            }
        }
    });
    Switch(home, b.context);
    CHECK(caught[0] == 1);
    CHECK(caught[1] == 2);
    CHECK(std::uncaught_exceptions() == 0);
    CHECK(std::current_exception() == nullptr);
}

TEST_CASE("context: a switch during unwinding keeps the count of uncaught exceptions",
          "[fiber_context]") {
    FiberContext home;
    home.Adopt();
    FiberContext *fiber = nullptr;
    int inside = 0, outside = -1, after = -1;
    struct SwitchesInDestructor {
        std::function<void()> body;
        ~SwitchesInDestructor() { body(); }
    };
    Coroutine coroutine(
        [&] {
            try {
                const SwitchesInDestructor switches{[&] {
                    Switch(*fiber, home);
                    inside = std::uncaught_exceptions();
                }};
                throw 1;
            } catch (int) {
                after = std::uncaught_exceptions();
            }
        },
        &home);
    fiber = &coroutine.context;
    Switch(home, coroutine.context);
    outside = std::uncaught_exceptions();
    Switch(home, coroutine.context);
    CHECK(outside == 0);
    CHECK(inside == 1);
    CHECK(after == 0);
}

TEST_CASE("fault: stale thread_local. The thread slot is read anew after a migration",
          "[fiber_context]") {
    int first = 1, second = 2;
    void *before = nullptr, *after = nullptr;
    FiberContext home;
    home.Adopt();
    FiberContext *fiber = nullptr;
    FiberContext *back = &home;
    Coroutine coroutine(
        [&] {
            before = env::ThreadSlot();
            Switch(*fiber, *back);
            after = env::ThreadSlot();  // the same function on another thread
        },
        &home);
    fiber = &coroutine.context;
    void *const outer = env::ThreadSlot();
    env::SetThreadSlot(&first);
    Switch(home, coroutine.context);
    OnThread([&] {
        FiberContext thread;
        thread.Adopt();
        env::SetThreadSlot(&second);
        coroutine.GoHomeTo(&thread);
        Switch(thread, coroutine.context);
    });
    CHECK(env::ThreadSlot() == &first);
    env::SetThreadSlot(outer);
    CHECK(before == &first);
    CHECK(after == &second);
}

#if defined(WEFT_TEST_CONTROL_WORDS)
TEST_CASE(
    "fault: rounding mode. A context keeps its control words; a new one has those of its creator",
    "[fiber_context]") {
    const uint64_t normal = FloatingPointControl();
    const uint64_t flush = normal | test::kFlush;
    const uint64_t toZero = normal | test::kToZero;
    FiberContext home;
    home.Adopt();
    FiberContext *fiber = nullptr;
    uint64_t atStart = 0, afterSwitch = 0, onThread = 0, onThreadBefore = 0;
    SetFloatingPointControl(flush);
    Coroutine coroutine(
        [&] {
            atStart = FloatingPointControl();
            SetFloatingPointControl(toZero);
            Switch(*fiber, home);
            afterSwitch = FloatingPointControl();
        },
        &home);
    SetFloatingPointControl(normal);
    fiber = &coroutine.context;
    Switch(home, coroutine.context);
    const uint64_t here = FloatingPointControl();
    OnThread([&] {
        FiberContext thread;
        thread.Adopt();
        coroutine.GoHomeTo(&thread);
        onThreadBefore = FloatingPointControl();
        Switch(thread, coroutine.context);
        onThread = FloatingPointControl();
    });
    CHECK(atStart == flush);
    CHECK(here == normal);
    CHECK(afterSwitch == toZero);
    CHECK(onThread == onThreadBefore);
}
#endif

TEST_CASE("context: memory of an abandoned stack can be used as usual afterwards",
          "[fiber_context]") {
    alignas(64) static char memory[128 << 10];
    FiberContext home, context;
    home.Adopt();
    struct Both {
        FiberContext *home, *own;
    } both{&home, &context};
    context.Create(
        memory, sizeof memory,
        [](void *arg) -> FiberContext * {
            // AddressSanitizer marks the memory around it while it lives.
            volatile char frame[1000] = {};
            frame[500] = 1;
            const Both *contexts = static_cast<Both *>(arg);
            Switch(*contexts->own, *contexts->home);  // never returns
            return contexts->home + frame[500];
        },
        &both);
    Switch(home, context);
    context.Destroy();
    std::vector<char> filled(sizeof memory, 7);
    // AddressSanitizer reports marks that were left behind.
    std::copy(filled.begin(), filled.end(), memory);
    CHECK(std::equal(filled.begin(), filled.end(), memory));
}
