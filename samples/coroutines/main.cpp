// A thousand visitors of a shop are coroutines. Each waits until the door opens, walks for a while,
// has a task count its things, and pays. A waiting coroutine holds no fiber, so 8 fibers are
// enough.
//
//     samples/run.sh coroutines
#include <weft/coroutine.h>

#include <atomic>
#include <chrono>
#include <cstdio>

namespace {

using namespace std::chrono_literals;

constexpr uint32_t kVisitors = 1000;

struct Shop {
    explicit Shop(weft::TaskScheduler &scheduler) : open(scheduler) {}
    weft::Event open;
    std::atomic<uint64_t> takings{0};
};

weft::Coroutine<uint32_t> Count(uint32_t things) {
    weft::TaskScheduler &scheduler = co_await weft::CurrentScheduler{};
    uint32_t sum = 0;
    auto count = [&](weft::TaskScheduler *) {
        for (uint32_t i = 1; i <= things; ++i) sum += i;
    };
    weft::Counter counted;
    scheduler.AddTask(weft::MakeTask(count), &counted);
    co_await counted;
    co_return sum;
}

weft::Coroutine<> Visit(Shop &shop, uint32_t number) {
    co_await shop.open;
    co_await std::chrono::microseconds(number % 50 * 100);  // the visitor walks
    const uint32_t price = co_await Count(number % 10);
    shop.takings.fetch_add(price);
}

}  // namespace

int main() {
    weft::SchedulerOptions options;
    options.fibers = 8;
    weft::TaskScheduler scheduler(options);
    uint64_t takings = 0;
    auto day = [&](weft::TaskScheduler *running) {
        Shop shop(*running);
        weft::Counter visitors;
        for (uint32_t i = 0; i < kVisitors; ++i)
            weft::StartCoroutine(*running, Visit(shop, i), &visitors);
        weft::SleepFor(*running, 1ms);
        shop.open.Set();
        running->WaitForCounter(&visitors);
        takings = shop.takings.load();
    };
    const weft::Task task = weft::MakeTask(day);
    if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) return 1;
    uint64_t expected = 0;
    for (uint32_t i = 0; i < kVisitors; ++i) expected += uint64_t{i % 10} * (i % 10 + 1) / 2;
    std::printf("%u visitors paid %llu of %llu\n", kVisitors,
                static_cast<unsigned long long>(takings),
                static_cast<unsigned long long>(expected));
    return takings == expected ? 0 : 1;
}
