#include "platform/signal_stack.h"

#include "platform/env.h"
#include "support/child_process.h"
#include "support/failing_allocation.h"
#include "support/pages.h"
#include "support/scheduler_run.h"
#include "weft/describe_fault.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <catch2/catch.hpp>

using namespace weft;

#if !defined(_WIN32)  // Windows has no signals: scheduler/faults_test_windows.cpp

namespace {

stack_t CurrentStack() {
    stack_t current{};
    sigaltstack(nullptr, &current);
    return current;
}

bool IsOff(const stack_t &stack) { return (stack.ss_flags & SS_DISABLE) != 0; }

void TurnOff() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
}

void *ForbiddenPage() { return mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

void Touch(void *page) { *static_cast<volatile char *>(page) = 1; }

void Say(const char *text) { env::WriteError(text); }

}  // namespace

TEST_CASE("signal stack: set for a thread that has none, and removed again", "[signal_stack]") {
    const int64_t before = test::OutstandingAllocations();
    bool wasSet = false, isOff = false, keepsOther = false, staysOther = false;
    std::thread([&] {
        const stack_t original = CurrentStack();  // may be a sanitizer's
        TurnOff();
        {
            env::SignalStack stack;
            stack.Set();  // has no memory, so it sets nothing
            isOff = IsOff(CurrentStack());
        }
        {
            env::SignalStack stack;
            if (!stack.Acquire({}) || !stack.Acquire({})) return;  // a second call is harmless
            stack.Set();
            const stack_t set = CurrentStack();
            wasSet = !IsOff(set) && set.ss_size >= (32u << 10) && set.ss_sp != nullptr;
            stack.Reset();
            isOff = isOff && IsOff(CurrentStack());
            stack.Reset();  // must be harmless
        }
        std::vector<char> memory(64 << 10);
        stack_t mine{};
        mine.ss_sp = memory.data();
        mine.ss_size = memory.size();
        sigaltstack(&mine, nullptr);
        env::SignalStack stack;
        if (!stack.Acquire({})) return;
        stack.Set();
        keepsOther = CurrentStack().ss_sp == memory.data();
        stack.Reset();
        staysOther = CurrentStack().ss_sp == memory.data();
        TurnOff();
        if (!IsOff(original)) sigaltstack(&original, nullptr);
    }).join();
    CHECK(isOff);
    CHECK(wasSet);
    CHECK(keepsOther);
    CHECK(staysOther);
    CHECK(test::OutstandingAllocations() == before);
}

TEST_CASE("signal stack: Acquire fails without memory", "[signal_stack]") {
    const test::FailingAllocation failing(0);
    env::SignalStack stack;
    CHECK(!stack.Acquire({}));
    CHECK(failing.HasFailed());
}

TEST_CASE("fault handler: describes the address, then the process dies of the signal",
          "[signal_stack]") {
    static void *page;
    page = ForbiddenPage();
    const test::ChildResult child = test::RunInChild([] {
        signal(SIGSEGV, SIG_DFL);  // removes a sanitizer's handler
        env::InstallFaultHandler(
            [](const void *address) { Say(address == page ? "described\n" : "another\n"); });
        Touch(page);
    });
    CHECK(child.signal == SIGSEGV);
    CHECK(child.output == "described\n");
    munmap(page, 4096);
}

TEST_CASE("fault handler: then calls the previous handler, of both kinds", "[signal_stack]") {
    for (bool withInfo : {false, true}) {
        const test::ChildResult child = test::RunInChild([=] {
            struct sigaction action {};
            sigemptyset(&action.sa_mask);
            if (withInfo) {
                action.sa_flags = SA_SIGINFO;
                action.sa_sigaction = [](int number, siginfo_t *info, void *) {
                    Say(number == SIGSEGV && info->si_addr != nullptr ? "before, with info\n"
                                                                      : "wrong\n");
                    _exit(7);
                };
            } else {
                action.sa_handler = [](int number) {
                    Say(number == SIGSEGV ? "before\n" : "wrong\n");
                    _exit(7);
                };
            }
            sigaction(SIGSEGV, &action, nullptr);
            env::InstallFaultHandler([](const void *) { Say("described\n"); });
            Touch(ForbiddenPage());
        });
        CHECK(child.exited);
        CHECK(child.code == 7);
        CHECK(child.output ==
              (withInfo ? "described\nbefore, with info\n" : "described\nbefore\n"));
    }
}

TEST_CASE("fault handler: the first installs, the last restores the previous handlers",
          "[signal_stack]") {
    const test::ChildResult child = test::RunInChild([] {
        int wrong = 0;
        signal(SIGSEGV, SIG_IGN);
        signal(SIGBUS, [](int) {});
        struct sigaction before[2], now[2];
        const int numbers[2] = {SIGSEGV, SIGBUS};
        for (int i = 0; i < 2; ++i) sigaction(numbers[i], nullptr, &before[i]);
        const auto describe = [](const void *) {};
        env::InstallFaultHandler(describe);
        env::InstallFaultHandler(describe);
        env::RemoveFaultHandler();
        for (int i = 0; i < 2; ++i) {
            sigaction(numbers[i], nullptr, &now[i]);
            // The handler of weft must still be there.
            wrong += now[i].sa_handler == before[i].sa_handler;
        }
        env::RemoveFaultHandler();
        for (int i = 0; i < 2; ++i) {
            sigaction(numbers[i], nullptr, &now[i]);
            wrong += now[i].sa_handler != before[i].sa_handler;
        }
        _exit(wrong);
    });
    CHECK(child.exited);
    CHECK(child.code == 0);
}

TEST_CASE("fault handler: a later handler that calls the previous one stays, and is called once",
          "[signal_stack]") {
    const test::ChildResult child = test::RunInChild([] {
        static struct sigaction before;
        static int calls = 0;
        signal(SIGSEGV, SIG_DFL);
        const auto describe = [](const void *) { Say("described\n"); };
        env::InstallFaultHandler(describe);
        struct sigaction later {};
        sigemptyset(&later.sa_mask);
        later.sa_flags = SA_SIGINFO;
        later.sa_sigaction = [](int number, siginfo_t *info, void *context) {
            Say("later\n");
            if (++calls == 5) _exit(9);  // the handlers call each other without end
            before.sa_sigaction(number, info, context);
        };
        sigaction(SIGSEGV, &later, &before);
        env::RemoveFaultHandler();  // must leave the handler, because the later one calls it
        struct sigaction now;
        sigaction(SIGSEGV, nullptr, &now);
        if (now.sa_sigaction != later.sa_sigaction) _exit(8);
        env::InstallFaultHandler(describe);  // as the next run does
        Touch(ForbiddenPage());
    });
    CHECK(child.code == 0);
    CHECK(child.signal == SIGSEGV);
    CHECK(test::Names(child.output, "described\n"));
    CHECK(test::Names(child.output, "later\n"));
}

#endif

namespace {

std::string Describe(const void *address) {
    char text[256] = "untouched";
    const size_t length = DescribeFault(address, text, sizeof text);
    return length == std::strlen(text) ? text : "wrong length";
}

// Searches from `stack` downwards, below all frames of the calling task. Returns the first address
// in the guard page.
const char *GuardBelow(const char *stack) {
    for (size_t i = 0; i < 1024; ++i, stack -= test::PageBytes()) {
        if (test::Names(Describe(stack), "overflow")) return stack;
    }
    return nullptr;
}

}  // namespace

TEST_CASE("DescribeFault: addresses on a stack, in its guard page, and elsewhere",
          "[describe_fault]") {
    int here = 0;
    CHECK(Describe(&here) == "");
    CHECK(Describe(nullptr) == "");
    const void *old = nullptr;
    test::Runner runner(test::Options(1)), other(test::Options(1));
    std::string found[8];
    uint32_t fiber[2] = {0, 0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const char *mine = static_cast<const char *>(__builtin_frame_address(0));
        fiber[0] = scheduler.CurrentFiber();
        old = mine;
        found[0] = Describe(mine);
        found[1] = Describe(GuardBelow(mine));
        found[2] = Describe(&here);
        found[3] = Describe(nullptr);
        found[4] = Describe(reinterpret_cast<const void *>(~uintptr_t{0}));
        other.Run([&](TaskScheduler &inner) {
            const void *others = __builtin_frame_address(0);
            fiber[1] = inner.CurrentFiber();
            found[5] = Describe(others);
            found[6] = Describe(mine);
            const auto task = [&] { found[7] = Describe(__builtin_frame_address(0)); };
            test::Batch batch(1, [&](TaskScheduler &, uint32_t) { task(); });
            inner.AddTask(batch[0]);
            inner.WaitIdle();
        });
    }) == Status::Ok);
    const std::string first = " of fiber " + std::to_string(fiber[0]) + " (";
    const std::string second = " of fiber " + std::to_string(fiber[1]) + " (";
    CHECK(found[0].find("address on the stack" + first) == 0);
    CHECK(test::Names(found[0], "task 'main'"));
    CHECK(found[1].find("stack overflow" + first) == 0);
    CHECK(test::Names(found[1], "task 'main'"));
    for (int i = 2; i < 5; ++i) CHECK(found[i] == "");
    CHECK(found[5].find("address on the stack" + second) == 0);
    CHECK(found[6] == found[0]);
    CHECK(test::Names(found[7], "task 'unnamed'"));
    CHECK(Describe(old) == "");  // its scheduler has gone
}

TEST_CASE("DescribeFault: fits into any buffer", "[describe_fault]") {
    test::Runner runner(test::Options(1));
    char all[256] = "", text[6][256];
    size_t lengths[6] = {};
    const size_t sizes[6] = {0, 1, 5, 20, 60, 256};
    size_t nowhere = 1;
    CHECK(runner.Run([&](TaskScheduler &) {
        const void *mine = __builtin_frame_address(0);
        DescribeFault(mine, all, sizeof all);
        for (int i = 0; i < 6; ++i) {
            std::memset(text[i], '#', sizeof text[i]);
            lengths[i] = DescribeFault(mine, text[i], sizes[i]);
        }
        nowhere = DescribeFault(mine, nullptr, 100);
    }) == Status::Ok);
    const std::string whole = all;
    CHECK(whole.size() > 40);
    CHECK(nowhere == 0);
    CHECK(lengths[0] == 0);
    CHECK(text[0][0] == '#');
    for (int i = 1; i < 6; ++i) {
        const size_t expected = std::min(sizes[i] - 1, whole.size());
        CHECK(lengths[i] == expected);
        CHECK(std::string(text[i]) == whole.substr(0, expected));
        if (sizes[i] < 256) CHECK(text[i][sizes[i]] == '#');
    }
}
