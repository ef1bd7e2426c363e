// Rows without a job system: the cost of the operations from which every job system is built.
#include "rounds.h"
#include "sleep_late.h"

#include <boost/context/detail/fcontext.hpp>

#include <atomic>
#include <thread>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bench {

namespace {

constexpr uint32_t kOperations = 200000;

template <class Operation>
double EachOf(uint32_t count, Operation operation) {
    const Clock::time_point begin = Clock::now();
    for (uint32_t i = 0; i < count; ++i) operation(i);
    return Since(begin) / count;
}

void WriteByte(void *cell) { *static_cast<uint8_t *>(cell) = 1; }

double IndirectCall() {
    std::vector<uint8_t> cells(kOperations);
    void (*volatile slot)(void *) = WriteByte;
    void (*const function)(void *) = slot;  // the compiler does not know its value
    const double cost = EachOf(kOperations, [&](uint32_t i) { function(&cells[i]); });
    for (uint8_t cell : cells) {
        if (cell != 1) Wrong("indirect call");
    }
    return cost;
}

double FetchAdd() {
    std::atomic<uint32_t> word{0};
    const double cost =
        EachOf(kOperations, [&](uint32_t) { word.fetch_add(1, std::memory_order_acq_rel); });
    if (word.load() != kOperations) Wrong("fetch_add");
    return cost;
}

double CompareExchange() {
    std::atomic<uint64_t> word{0};
    const double cost = EachOf(kOperations, [&](uint32_t) {
        uint64_t value = word.load(std::memory_order_relaxed);
        while (!word.compare_exchange_strong(value, value + 1, std::memory_order_acq_rel)) {
        }
    });
    if (word.load() != kOperations) Wrong("compare_exchange");
    return cost;
}

double Exchange() {
    std::atomic<uint64_t> word{0};
    const double cost =
        EachOf(kOperations, [&](uint32_t i) { word.exchange(i, std::memory_order_seq_cst); });
    if (word.load() != kOperations - 1) Wrong("exchange");
    return cost;
}

// A round trip is two switches.
double FiberSwitch() {
    namespace fcontext = boost::context::detail;
    std::vector<char> stack(64 << 10);
    fcontext::fcontext_t fiber = fcontext::make_fcontext(
        stack.data() + stack.size(), stack.size(), [](fcontext::transfer_t back) {
            for (;;) back = fcontext::jump_fcontext(back.fctx, nullptr);
        });
    return EachOf(kOperations,
                  [&](uint32_t) { fiber = fcontext::jump_fcontext(fiber, nullptr).fctx; }) /
           2;
}

// Half of the time in which a cache line goes to the other core and back.
double LineTransfer() {
    constexpr uint32_t kTrips = 20000;
    std::atomic<uint32_t> word{0};
    std::thread other([&] {
        for (uint32_t i = 0; i < kTrips; ++i) {
            while (word.load(std::memory_order_acquire) != 2 * i + 1) {
            }
            word.store(2 * i + 2, std::memory_order_release);
        }
    });
    const double cost = EachOf(kTrips, [&](uint32_t i) {
        word.store(2 * i + 1, std::memory_order_release);
        while (word.load(std::memory_order_acquire) != 2 * i + 2) {
        }
    });
    other.join();
    return cost / 2;
}

// The time from a futex wake-up to the first instruction of the woken thread, which has slept as
// long as the parked workers.
Quantiles FutexWake() {
    std::vector<double> delays;
    std::atomic<uint32_t> word{0};
    std::atomic<int64_t> woken{0};
    const auto futex = [&](int operation, uint32_t value) {
        syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), operation, value, nullptr, nullptr,
                0);
    };
    constexpr uint32_t kWakes = 100;
    std::thread sleeper([&] {
        for (uint32_t i = 0; i < kWakes; ++i) {
            while (word.load() == i) futex(FUTEX_WAIT_PRIVATE, i);
            woken.store(Clock::now().time_since_epoch().count());
        }
    });
    for (uint32_t i = 0; i < kWakes; ++i) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(kParkedNanoseconds));
        woken.store(0);
        const int64_t begin = Clock::now().time_since_epoch().count();
        word.store(i + 1);
        futex(FUTEX_WAKE_PRIVATE, 1);
        while (woken.load() == 0) {
        }
        delays.push_back(static_cast<double>(woken.load() - begin));
    }
    sleeper.join();
    return QuantilesOf(std::move(delays));
}

}  // namespace

void AddBareRows(std::vector<Row> &rows) {
    rows.push_back({"indirect_call", "bare", 1, "ns", IndirectCall, {}});
    rows.push_back({"fetch_add", "bare", 1, "ns", FetchAdd, {}});
    rows.push_back({"compare_exchange", "bare", 1, "ns", CompareExchange, {}});
    rows.push_back({"exchange", "bare", 1, "ns", Exchange, {}});
    rows.push_back({"fiber_switch", "bare", 1, "ns", FiberSwitch, {}});
    if (std::thread::hardware_concurrency() > 1)
        rows.push_back({"line_transfer", "bare", 2, "ns", LineTransfer, {}});
    AddQuantiles(rows, "wake_parked", "bare", 2, FutexWake);
    AddQuantiles(rows, "sleep_late", "bare", 1, [] {
        return SleepLate([](Clock::duration duration) { std::this_thread::sleep_for(duration); });
    });
}

}  // namespace bench
