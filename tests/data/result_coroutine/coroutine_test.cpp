// weft/data/result.h with weft/coroutine.h. This file is compiled as C++20, as its name says.
#include "weft/coroutine.h"
#include "weft/data/result.h"

#include "support/scheduler_run.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

struct Shared {
    Result<std::unique_ptr<uint32_t>> number;
    Result<> opened;
    Result<uint32_t> broken;
    std::atomic<uint32_t> sum{0}, caught{0};
};

Coroutine<uint32_t> Double(Shared &shared) {
    const std::unique_ptr<uint32_t> &number = co_await shared.number;
    co_return 2 * *number;
}

Coroutine<> Visit(Shared &shared) {
    co_await shared.opened;
    shared.sum.fetch_add(co_await Double(shared));
    try {
        shared.sum.fetch_add(1000 * co_await shared.broken);
    } catch (const std::runtime_error &error) {
        shared.caught.fetch_add(error.what() == std::string("broken"));
    }
}

}  // namespace

TEST_CASE("Result: coroutines await values and exceptions, on few fibers", "[result][coroutine]") {
    for (uint32_t workers : {1u, 2u, 3u}) {
        constexpr uint32_t kCount = 50;
        Shared shared;
        test::Runner runner(test::Options(workers, 3));
        uint32_t early = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Counter counter;
            for (uint32_t i = 0; i < kCount; ++i)
                StartCoroutine(scheduler, Visit(shared), &counter);
            AddTaskWhen(
                scheduler, []() -> uint32_t { throw std::runtime_error("broken"); }, shared.broken);
            shared.broken.Wait(scheduler);
            early += shared.sum.load();
            shared.opened.Set(scheduler);
            shared.number.Set(scheduler, std::make_unique<uint32_t>(21));
            scheduler.WaitForCounter(&counter);
        }) == Status::Ok);
        CHECK(early == 0);
        CHECK(shared.sum.load() == kCount * 42);
        CHECK(shared.caught.load() == kCount);
        CHECK(runner.log.Text() == "");
    }
}
