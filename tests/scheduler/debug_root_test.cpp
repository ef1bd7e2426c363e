// Reads a scheduler as a debugger does: by weft_debug_root alone.
#include "scheduler/state/debug_root.h"

#include "platform/compiler.h"
#include "platform/sanitizers.h"
#include "scheduler/state/scheduler.h"
#include "support/scheduler_run.h"
#include "weft/deferred.h"
#include "weft/sync/mutex.h"
#include "weft/time.h"

#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#if defined(__linux__)
#include <boost/context/detail/fcontext.hpp>
#endif

using namespace weft;
using namespace weft::internal;

namespace {

uint64_t Field(const std::string &name) {
    for (uint32_t i = 0; i < weft_debug_root.fieldCount; ++i) {
        if (name == weft_debug_root.fields[i].name) return weft_debug_root.fields[i].value;
    }
    FAIL("no field " << name);
    return 0;
}

// A debugger does not care whether memory is poisoned for AddressSanitizer.
template <class T>
WEFT_NOINLINE WEFT_NO_ASAN T Read(uintptr_t address) {
    return *reinterpret_cast<const volatile T *>(address);
}
uintptr_t Word(uintptr_t object, const std::string &field) {
    return Read<uintptr_t>(object + Field(field));
}

// The addresses of all schedulers in the table.
std::set<uintptr_t> Schedulers() {
    std::set<uintptr_t> found;
    const auto table = reinterpret_cast<uintptr_t>(weft_debug_root.schedulers);
    for (uint32_t i = 0; i < weft_debug_root.schedulersCount; ++i) {
        const uintptr_t scheduler = Word(table + i * Field("tag.size"), "tag.scheduler");
        if (scheduler != 0) found.insert(scheduler);
    }
    return found;
}

// The address of the fiber whose task has this name, or 0.
uintptr_t FiberNamed(uintptr_t scheduler, const char *name) {
    const uintptr_t fibers = Word(scheduler, "scheduler.fibers");
    const auto count = Read<uint32_t>(scheduler + Field("scheduler.fiberCount"));
    for (uint32_t i = 0; i < count; ++i) {
        const uintptr_t fiber = fibers + i * Field("fiber.size");
        const auto *text = reinterpret_cast<const char *>(Word(fiber, "fiber.taskName"));
        if (text != nullptr && std::strcmp(text, name) == 0) return fiber;
    }
    return 0;
}

// Adds a task that waits, and yields until its fiber is suspended. Returns the address of the
// fiber.
uintptr_t AddWaiting(TaskScheduler &scheduler, const Task &task, Counter &counter,
                     const char *name) {
    scheduler.AddTask(task, &counter, test::Named(name));
    uintptr_t fiber = 0;
    test::YieldUntil(scheduler, [&] {
        fiber = FiberNamed(*Schedulers().begin(), name);
        return fiber != 0 && Word(fiber, "fiber.handle") != 0 && Word(fiber, "fiber.waitsFor") != 0;
    });
    return fiber;
}

// The locks that a fiber's task holds.
std::vector<uintptr_t> LocksOf(uintptr_t fiber) {
    std::vector<uintptr_t> locks;
    for (uint64_t i = 0; i < Field("fiber.heldLocksCount"); ++i) {
        const auto lock = Read<uintptr_t>(fiber + Field("fiber.heldLocks") + i * sizeof(uintptr_t));
        if (lock != 0) locks.push_back(lock);
    }
    return locks;
}

struct Record {
    uint32_t owner, value;
};

// The wait records of a counter: a list, and some have a heap below them.
std::vector<Record> WaitersOf(uintptr_t scheduler, uintptr_t counter) {
    std::vector<Record> waiters;
    const auto ofFibers = Read<uint32_t>(scheduler + Field("scheduler.recordCount"));
    const uint64_t head = Read<uint64_t>(counter) / Field("counter.headOne");
    std::vector<uint64_t> numbers = {head & Field("counter.headMask")};
    while (!numbers.empty()) {
        const uint64_t number = numbers.back();
        numbers.pop_back();
        if (number == 0) continue;
        // the others are in the first segment of the pool
        const uintptr_t record =
            number <= ofFibers
                ? Word(scheduler, "scheduler.records") + (number - 1) * Field("record.size")
                : Word(scheduler + Field("scheduler.spares"), "pool.segments") +
                      (number - 1 - ofFibers) * Field("record.size");
        waiters.push_back({Read<uint32_t>(record + Field("record.owner")),
                           Read<uint32_t>(record + Field("record.value"))});
        numbers.push_back(Read<uint32_t>(record + Field("record.child")));
        numbers.push_back(Read<uint32_t>(record + Field("record.next")));
    }
    return waiters;
}

}  // namespace

TEST_CASE("debug root: says what it is, and its names are whole and there once", "[debug_root]") {
    CHECK(std::string(weft_debug_root.magic) == "weft debug root");
    CHECK(weft_debug_root.self == &weft_debug_root);
    CHECK(weft_debug_root.version == 1);
    CHECK(weft_debug_root.pointerBytes == sizeof(void *));
    CHECK(weft_debug_root.fieldBytes == sizeof(NamedValue));
    CHECK(std::string(weft_debug_root.weftVersion).substr(0, 2) == "0.");
    std::set<std::string> names;
    for (uint32_t i = 0; i < weft_debug_root.fieldCount; ++i) {
        const char *name = weft_debug_root.fields[i].name;
        CHECK(std::memchr(name, 0, sizeof NamedValue::name) != nullptr);
        CHECK(name[0] != 0);
        CHECK(names.insert(name).second);
    }
    CHECK(names.size() > 100);
}

TEST_CASE("debug root: has a scheduler from its start to its end", "[debug_root]") {
    const std::set<uintptr_t> before = Schedulers();
    {
        TaskScheduler first(test::Options(1)), second(test::Options(1));
        REQUIRE(first.Start() == Status::Ok);
        CHECK(Schedulers().size() == before.size() + 1);
        REQUIRE(second.Start() == Status::Ok);
        std::set<uintptr_t> seen;
        for (const uintptr_t scheduler : Schedulers())
            seen.insert(Word(scheduler, "scheduler.taskScheduler"));
        CHECK(seen.count(reinterpret_cast<uintptr_t>(&first)) == 1);
        CHECK(seen.count(reinterpret_cast<uintptr_t>(&second)) == 1);
        first.Stop();
        CHECK(Schedulers().size() == before.size() + 1);
        second.Stop();
    }
    CHECK(Schedulers() == before);
}

TEST_CASE("debug root: tells what a fiber waits for, and which counter its task lowers",
          "[debug_root][one_worker]") {
    Counter awaited(3), counted;
    uint64_t value = 0, target = 0;
    uintptr_t waitsFor = 0, taskCounter = 0;
    std::vector<Record> waiters;
    uint32_t index = ~0u;
    CHECK(test::Runner(test::Options(1)).Run([&](TaskScheduler &scheduler) {
        const auto wait = [&](TaskScheduler *inner) { inner->WaitForCounter(&awaited, 1); };
        const uintptr_t fiber = AddWaiting(scheduler, MakeTask(wait), counted, "waits for one");
        waitsFor = Word(fiber, "fiber.waitsFor");
        taskCounter = Word(fiber, "fiber.taskCounter");
        target = Read<uint32_t>(fiber + Field("fiber.waitTarget"));
        index = Read<uint32_t>(fiber + Field("fiber.index"));
        value = Read<uint64_t>(waitsFor) / Field("counter.one");
        waiters = WaitersOf(*Schedulers().begin(), waitsFor);
        scheduler.DecrementCounter(&awaited, 2);
        scheduler.WaitForCounter(&counted);
        scheduler.DecrementCounter(&awaited);
    }) == Status::Ok);
    CHECK(waitsFor == reinterpret_cast<uintptr_t>(&awaited));
    CHECK(taskCounter == reinterpret_cast<uintptr_t>(&counted));
    CHECK(value == 3);
    CHECK(target == 1);
    REQUIRE(waiters.size() == 1);
    CHECK(waiters[0].owner == index);
    CHECK(waiters[0].value == 1);
}

TEST_CASE("debug root: tells which locks a task holds, and for which lock it waits",
          "[debug_root][one_worker]") {
    for (const bool isWatched : {false, true}) {
        INFO(isWatched);
        SchedulerOptions options = test::Options(1);
        options.lockHolders = isWatched;
        test::Runner runner(options);
        Mutex first(runner.scheduler), second(runner.scheduler);
        Counter gate(1), counted;
        uintptr_t awaited = 0, awaitedByHolder = 0;
        std::vector<uintptr_t> held, heldByWaiter;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            const auto hold = [&](TaskScheduler *inner) {
                first.lock();
                second.lock();
                inner->WaitForCounter(&gate);
                first.unlock();
                second.unlock();
            };
            const auto wait = [&](TaskScheduler *) {
                second.lock();
                second.unlock();
            };
            const uintptr_t holder = AddWaiting(scheduler, MakeTask(hold), counted, "holds two");
            const uintptr_t waiter = AddWaiting(scheduler, MakeTask(wait), counted, "waits");
            held = LocksOf(holder);
            heldByWaiter = LocksOf(waiter);
            awaited = Word(waiter, "fiber.awaitedLock");
            awaitedByHolder = Word(holder, "fiber.awaitedLock");
            scheduler.DecrementCounter(&gate);
            scheduler.WaitForCounter(&counted);
        }) == Status::Ok);
        const auto firstAt = reinterpret_cast<uintptr_t>(&first);
        const auto secondAt = reinterpret_cast<uintptr_t>(&second);
        std::vector<uintptr_t> locks;
        if (isWatched) locks = {firstAt, secondAt};
        CHECK(held == locks);
        CHECK(heldByWaiter.empty());
        CHECK(awaited == (isWatched ? secondAt : 0));
        CHECK(awaitedByHolder == 0);
    }
}

TEST_CASE("debug root: lists the counters of a wait for one of several",
          "[debug_root][one_worker]") {
    Counter awaited[3], counted;
    Counter *const counters[] = {&awaited[0], &awaited[1], &awaited[2]};
    std::vector<uintptr_t> found;
    uint8_t kind = 0;
    bool hasDeadline = false;
    CHECK(test::Runner(test::Options(1)).Run([&](TaskScheduler &scheduler) {
        for (Counter &counter : awaited) scheduler.IncrementCounter(&counter);
        const auto wait = [&](TaskScheduler *inner) {
            WaitForAnyUntil(*inner, 3, counters, Now() + std::chrono::seconds(20));
        };
        const uintptr_t fiber = AddWaiting(scheduler, MakeTask(wait), counted, "waits for three");
        const uintptr_t any = Word(fiber, "fiber.waitsFor") - Field("anyWait.first");
        const uintptr_t array = Word(any, "anyWait.counters");
        for (uint64_t i = 0; i < Read<uint64_t>(any + Field("anyWait.count")) && i < 3; ++i)
            found.push_back(Read<uintptr_t>(array + i * sizeof(uintptr_t)));
        kind = Read<uint8_t>(fiber + Field("fiber.waitKind"));
        hasDeadline = Read<uint64_t>(fiber + Field("fiber.deadline")) != ~uint64_t{0};
        for (Counter &counter : awaited) scheduler.DecrementCounter(&counter);
        scheduler.WaitForCounter(&counted);
    }) == Status::Ok);
    CHECK(kind == Field("waitKind.several"));
    CHECK(hasDeadline);
    REQUIRE(found.size() == 3);
    for (int i = 0; i < 3; ++i) CHECK(found[i] == reinterpret_cast<uintptr_t>(&awaited[i]));
}

TEST_CASE("debug root: finds the deferred tasks of a counter, also in a heap",
          "[debug_root][one_worker]") {
    constexpr uint32_t kTasks = 7;
    Counter after(kTasks + 2), counted;
    std::set<uint32_t> values;
    std::set<std::string> names;
    std::set<uintptr_t> lowered;
    CHECK(test::Runner(test::Options(1)).Run([&](TaskScheduler &scheduler) {
        const Task task{[](TaskScheduler *, void *) {}, nullptr};
        for (uint32_t value = 1; value <= kTasks; ++value)
            AddTaskAfter(scheduler, &after, value, task, &counted, test::Named("deferred"));
        scheduler.DecrementCounter(&after);  // makes the heap
        const uintptr_t address = *Schedulers().begin();
        const uintptr_t tasks = Word(address + Field("scheduler.deferredTasks"), "pool.segments");
        for (const Record &waiter : WaitersOf(address, reinterpret_cast<uintptr_t>(&after))) {
            values.insert(waiter.value);
            if ((waiter.owner & Field("owner.kindMask")) != Field("owner.deferred")) continue;
            const uint64_t index = waiter.owner & ~Field("owner.kindMask");
            const uintptr_t deferred = tasks + index * Field("deferred.size");
            names.insert(reinterpret_cast<const char *>(Word(deferred, "deferred.name")));
            lowered.insert(Word(deferred, "deferred.counter"));
        }
        scheduler.DecrementCounter(&after, kTasks + 1);
        scheduler.WaitForCounter(&counted);
    }) == Status::Ok);
    CHECK(values == std::set<uint32_t>{1, 2, 3, 4, 5, 6, 7});
    CHECK(names == std::set<std::string>{"deferred"});
    CHECK(lowered == std::set<uintptr_t>{reinterpret_cast<uintptr_t>(&counted)});
}

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

// Saves its caller's registers, sets each register that a function must keep to a known value, and
// leaves for the context `to` at `weft_test_left`. Stores the stack pointer of that place.
extern "C" {
void weft_test_leave(void *to, void *data, uintptr_t *stackPointer);
extern char weft_test_left[];
}

#if defined(__x86_64__)
__asm__(R"(
    .text
    .globl weft_test_leave
    .type weft_test_leave, @function
weft_test_leave:
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    movq %rsp, (%rdx)
    movq $0x1003, %rbx
    movq $0x1006, %rbp
    movq $0x100c, %r12
    movq $0x100d, %r13
    movq $0x100e, %r14
    movq $0x100f, %r15
    call jump_fcontext@PLT
    .globl weft_test_left
weft_test_left:
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    ret
    .size weft_test_leave, . - weft_test_leave
)");
constexpr NamedValue kExpected[] = {{"rbx", 0x1003}, {"rbp", 0x1006}, {"r12", 0x100c},
                                    {"r13", 0x100d}, {"r14", 0x100e}, {"r15", 0x100f}};
constexpr const char *kReturnAddresses[] = {"rip"};
#else
__asm__(R"(
    .text
    .globl weft_test_leave
    .type weft_test_leave, %function
weft_test_leave:
    stp x29, x30, [sp, #-96]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    mov x9, sp
    str x9, [x2]
    mov x19, #0x1013
    mov x20, #0x1014
    mov x21, #0x1015
    mov x22, #0x1016
    mov x23, #0x1017
    mov x24, #0x1018
    mov x25, #0x1019
    mov x26, #0x101a
    mov x27, #0x101b
    mov x28, #0x101c
    mov x29, #0x101d
    bl jump_fcontext
    .globl weft_test_left
weft_test_left:
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp x29, x30, [sp], #96
    ret
    .size weft_test_leave, . - weft_test_leave
)");
constexpr NamedValue kExpected[] = {{"x19", 0x1013}, {"x20", 0x1014}, {"x21", 0x1015},
                                    {"x22", 0x1016}, {"x23", 0x1017}, {"x24", 0x1018},
                                    {"x25", 0x1019}, {"x26", 0x101a}, {"x27", 0x101b},
                                    {"x28", 0x101c}, {"x29", 0x101d}};
constexpr const char *kReturnAddresses[] = {"x30", "pc"};
#endif

namespace {

// The context that was left last, and a copy of what lies there: once it continues, it uses this
// memory for other things.
uintptr_t g_handle = 0;
uintptr_t g_saved[32];

void Arrive(boost::context::detail::transfer_t from) {
    g_handle = reinterpret_cast<uintptr_t>(from.fctx);
    for (size_t i = 0; i < std::size(g_saved); ++i)
        g_saved[i] = Read<uintptr_t>(g_handle + i * sizeof(uintptr_t));
    boost::context::detail::jump_fcontext(from.fctx, nullptr);
}

// Returns the value that a register had in that context, by the description in the root.
uintptr_t Saved(const std::string &name) {
    for (uint32_t i = 1; i < weft_debug_root.registerCount; ++i) {
        const NamedValue &saved = weft_debug_root.registers[i];
        if (name == saved.name) return g_saved[saved.value / sizeof(uintptr_t)];
    }
    FAIL("no register " << name);
    return 0;
}
uintptr_t StackPointer(uintptr_t handle) { return handle + weft_debug_root.registers[0].value; }

// In a section of its own, so that the linker tells where the function begins and ends.
__attribute__((noinline, section("weft_known"))) void WaitsInKnownFunction(TaskScheduler &scheduler,
                                                                           Counter &counter) {
    scheduler.WaitForCounter(&counter);
    __asm__ volatile("" ::: "memory");  // no tail call
}

extern "C" char __start_weft_known[], __stop_weft_known[];

}  // namespace

TEST_CASE("debug root: knows where Boost.Context keeps each register", "[debug_root]") {
    alignas(16) static char stack[16 << 10];
    const auto context =
        boost::context::detail::make_fcontext(stack + sizeof stack, sizeof stack, Arrive);
    uintptr_t stackPointer = 0;
    weft_test_leave(context, nullptr, &stackPointer);
    REQUIRE(g_handle != 0);
    for (const NamedValue &expected : kExpected) {
        INFO(expected.name);
        CHECK(Saved(expected.name) == expected.value);
    }
    for (const char *name : kReturnAddresses)
        CHECK(Saved(name) == reinterpret_cast<uintptr_t>(weft_test_left));
    CHECK(StackPointer(g_handle) == stackPointer);
    CHECK(weft_debug_root.registerCount == std::size(kExpected) + std::size(kReturnAddresses) + 1);
}

TEST_CASE("debug root: the stack of a suspended fiber leads to the function that waits",
          "[debug_root][one_worker]") {
    Counter awaited(1), counted;
    bool isOnStack = false;
    uint32_t returns = 0;
    CHECK(test::Runner(test::Options(1)).Run([&](TaskScheduler &scheduler) {
        const auto wait = [&](TaskScheduler *inner) { WaitsInKnownFunction(*inner, awaited); };
        const uintptr_t fiber = AddWaiting(scheduler, MakeTask(wait), counted, "known");
        const uintptr_t stackPointer = StackPointer(Word(fiber, "fiber.handle"));
        const uintptr_t bottom = Word(fiber, "fiber.stackBottom");
        const uintptr_t end = bottom + Word(fiber, "fiber.stackBytes");
        isOnStack = stackPointer > bottom && stackPointer < end;
        for (uintptr_t at = stackPointer; isOnStack && at < end; at += sizeof at) {
            const auto value = Read<uintptr_t>(at);
            returns += value > reinterpret_cast<uintptr_t>(__start_weft_known) &&
                       value < reinterpret_cast<uintptr_t>(__stop_weft_known);
        }
        scheduler.DecrementCounter(&awaited);
        scheduler.WaitForCounter(&counted);
    }) == Status::Ok);
    CHECK(isOnStack);
    CHECK(returns != 0);
}

#endif
