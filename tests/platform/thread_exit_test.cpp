#include "platform/thread_exit.h"

#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#if !defined(_WIN32)
#include <pthread.h>
#endif

using namespace weft;

namespace {

struct Record {
    std::atomic<uint32_t> calls{0};
    std::atomic<bool> onThread{false};
    std::thread::id thread;
};

void Note(void *arg) {
    Record *record = static_cast<Record *>(arg);
    record->calls.fetch_add(1);
    record->onThread.store(record->thread == std::this_thread::get_id());
}

}  // namespace

TEST_CASE("thread exit: the call is made once, on the thread that ends", "[thread_exit]") {
    Record record;
    env::ExitCall call{Note, &record};
    std::atomic<uint32_t> before{1};
    std::thread([&] {
        record.thread = std::this_thread::get_id();
        env::AtThreadExit(&call);
        before.store(record.calls.load());
    }).join();
    CHECK(before.load() == 0);
    CHECK(record.calls.load() == 1);
    CHECK(record.onThread.load());
}

TEST_CASE(
    "thread exit: the newest call is made first; a withdrawn one is not; threads are independent",
    "[thread_exit]") {
    Record first, second, other;
    env::ExitCall calls[3] = {{Note, &first}, {Note, &second}, {Note, &other}};
    std::atomic<uint32_t> firstOnes{1};
    env::ExitCall last{[](void *arg) {
                           auto &[count, record] =
                               *static_cast<std::pair<std::atomic<uint32_t> &, Record &> *>(arg);
                           count.store(record.calls.load());
                       },
                       nullptr};
    std::pair<std::atomic<uint32_t> &, Record &> both(firstOnes, first);
    last.arg = &both;
    std::thread([&] {
        env::AtThreadExit(&calls[0]);
        env::AtThreadExit(&last);
    }).join();
    CHECK(firstOnes.load() == 0);
    CHECK(first.calls.load() == 1);
    std::thread([&] {
        env::AtThreadExit(&calls[0]);
        env::AtThreadExit(&calls[1]);
        std::thread([&] { env::AtThreadExit(&calls[2]); }).join();
        env::CancelAtThreadExit(&calls[1]);
        env::CancelAtThreadExit(&calls[1]);  // has no effect
    }).join();
    CHECK(first.calls.load() == 2);
    CHECK(second.calls.load() == 0);
    CHECK(other.calls.load() == 1);
    std::thread([&] {
        env::AtThreadExit(&calls[0]);
        env::CancelAtThreadExit(&calls[0]);
    }).join();
    CHECK(first.calls.load() == 2);
}

namespace {

struct Chain {
    env::ExitCall inner, outer;
    std::atomic<uint32_t> order{0};
};

}  // namespace

TEST_CASE("thread exit: a call may set another one, which is made, too", "[thread_exit]") {
    Chain chain;
    chain.outer = {[](void *arg) { static_cast<Chain *>(arg)->order.fetch_add(10); }, &chain};
    chain.inner = {[](void *arg) {
                       Chain *self = static_cast<Chain *>(arg);
                       if (self->order.load() == 0) self->order.store(1);
                       env::AtThreadExit(&self->outer);
                   },
                   &chain};
    std::thread([&] { env::AtThreadExit(&chain.inner); }).join();
    CHECK(chain.order.load() == 11);
}

#if !defined(_WIN32)

namespace {

// Returns how many more pthread keys the process could make.
size_t FreeKeys() {
    std::vector<pthread_key_t> keys;
    for (pthread_key_t key; keys.size() < 100000 && pthread_key_create(&key, nullptr) == 0;)
        keys.push_back(key);
    for (const pthread_key_t key : keys) pthread_key_delete(key);
    return keys.size();
}

}  // namespace

TEST_CASE("thread exit: there is a pthread key while threads are attached, and none afterwards",
          "[thread_exit]") {
    const size_t keys = FreeKeys();
    test::Runner outer(test::Options(1)), inner(test::Options(0));
    REQUIRE(outer.scheduler.Start() == Status::Ok);
    REQUIRE(inner.scheduler.Start() == Status::Ok);
    CHECK(FreeKeys() == keys);
    std::atomic<uint32_t> attached{0};
    std::atomic<bool> mayEnd{false};
    std::thread forgets([&] {
        attached.fetch_add(outer.scheduler.AttachThread() == Status::Ok);
        test::SpinUntil([&] { return mayEnd.load(); });
    });
    CHECK(test::SpinUntil([&] { return attached.load() == 1; }));
    REQUIRE(outer.scheduler.AttachThread() == Status::Ok);
    REQUIRE(inner.scheduler.AttachThread() == Status::Ok);
    CHECK(FreeKeys() == keys - 1);
    inner.scheduler.DetachThread();
    outer.scheduler.DetachThread();
    CHECK(FreeKeys() == keys - 1);
    mayEnd.store(true);
    forgets.join();
    CHECK(FreeKeys() == keys);
    inner.scheduler.Stop();
    outer.scheduler.Stop();
    CHECK(outer.log.CountOf(ReportCode::LeftAttached) == 1);
    CHECK(outer.log.Count() == 1);
}

#endif

TEST_CASE(
    "report LeftAttached: a thread that ends while attached is detached, after its pinned tasks",
    "[thread_exit]") {
    for (uint32_t workers : {0u, 1u, 3u}) {
        for (bool keepsBusy : {false, true}) {
            INFO(workers << " workers");
            test::Runner runner(test::Options(workers, 10));
            test::Marks pinned(60), plain(60);
            std::atomic<uint32_t> wrong{0}, attached{0};
            test::Batch waiter(1, [&](TaskScheduler &scheduler, uint32_t) {
                const uint32_t self = scheduler.CurrentWorker();
                for (int i = 0; i < 3; ++i) scheduler.Yield();
                wrong.fetch_add(scheduler.CurrentWorker() != self || self != workers);
            });
            REQUIRE(runner.scheduler.Start() == Status::Ok);
            for (int round = 0; round < 3; ++round) {
                std::thread([&] {
                    if (runner.scheduler.AttachThread() != Status::Ok) return;
                    attached.fetch_add(1);
                    TaskOptions here;
                    here.worker = runner.scheduler.CurrentWorker();
                    here.name = "pinned";
                    runner.scheduler.AddTasks(20, pinned.Tasks() + round * 20, nullptr, here);
                    runner.scheduler.AddTask(waiter[0], nullptr, here);
                    // Into the thread's own deque.
                    runner.scheduler.AddTasks(20, plain.Tasks() + round * 20);
                    if (keepsBusy) runner.scheduler.Yield();
                }).join();
                // They ran before the thread ended.
                CHECK(pinned.Wrong(1, (static_cast<uint32_t>(round) + 1) * 20) == 0);
            }
            runner.scheduler.Stop();  // must return
            CHECK(attached.load() == 3);
            CHECK(wrong.load() == 0);
            CHECK(pinned.Wrong() == 0);
            CHECK(plain.Wrong() == 0);
            CHECK(runner.log.CountOf(ReportCode::LeftAttached) == 3);
            CHECK(runner.log.Count() == 3);
            const test::LoggedReport report = runner.log.First(ReportCode::LeftAttached);
            CHECK(test::Names(report.what, "while it was attached as " + std::to_string(workers)));
            CHECK(test::Names(report.hint, "DetachThread"));
            CHECK(!report.fatal);
        }
    }
}

TEST_CASE("report LeftAttached: a thread attached to two schedulers is detached from both",
          "[thread_exit]") {
    for (bool detaches : {false, true}) {
        test::Runner outer(test::Options(1)), inner(test::Options(2));
        test::Marks marks(20);
        REQUIRE(outer.scheduler.Start() == Status::Ok);
        REQUIRE(inner.scheduler.Start() == Status::Ok);
        std::thread([&] {
            outer.scheduler.AttachThread();
            TaskOptions here;
            here.worker = outer.scheduler.CurrentWorker();
            outer.scheduler.AddTasks(20, marks.Tasks(), nullptr, here);
            inner.scheduler.AttachThread();
            if (detaches) inner.scheduler.DetachThread();
        }).join();
        inner.scheduler.Stop();
        outer.scheduler.Stop();
        CHECK(marks.Wrong() == 0);
        CHECK(outer.log.CountOf(ReportCode::LeftAttached) == 1);
        CHECK(inner.log.CountOf(ReportCode::LeftAttached) == (detaches ? 0 : 1));
        CHECK(outer.log.Count() == 1);
        CHECK(inner.log.Count() == (detaches ? 0 : 1));
    }
}

TEST_CASE("report LeftAttached: tasks that wait in catch blocks keep their exceptions",
          "[thread_exit]") {
    test::Runner runner(test::Options(0, 10));
    std::atomic<uint32_t> caught{0};
    test::Batch batch(3, [&](TaskScheduler &scheduler, uint32_t i) {
        try {
            try {
                throw i + 1;
            } catch (uint32_t) {
                for (int round = 0; round < 3; ++round) scheduler.Yield();
                throw;
            }
        } catch (uint32_t value) {
            if (value == i + 1) caught.fetch_add(1u << i);
        }
    });
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    std::thread([&] {
        runner.scheduler.AttachThread();
        TaskOptions here;
        here.worker = runner.scheduler.CurrentWorker();
        runner.scheduler.AddTasks(3, batch.Tasks(), nullptr, here);
    }).join();
    runner.scheduler.Stop();
    CHECK(caught.load() == 7);
    CHECK(runner.log.CountOf(ReportCode::LeftAttached) == 1);
    CHECK(runner.log.Count() == 1);
}

TEST_CASE("report LeftAttached: Stop waits for a thread that ends while attached",
          "[thread_exit]") {
    for (int round = 0; round < 20; ++round) {
        test::Runner runner(test::Options(1 + round % 2, 10));
        std::atomic<bool> attached{false}, mayEnd{false}, stopped{false};
        std::atomic<bool> early{false};
        REQUIRE(runner.scheduler.Start() == Status::Ok);
        std::thread guest([&] {
            runner.scheduler.AttachThread();
            attached.store(true);
            test::SpinUntil([&] { return mayEnd.load(); });
            early.store(stopped.load());
        });
        REQUIRE(test::SpinUntil([&] { return attached.load(); }));
        std::thread stopper([&] {
            runner.scheduler.Stop();
            stopped.store(true);
        });
        test::Linger(50);
        mayEnd.store(true);
        guest.join();
        stopper.join();
        REQUIRE(!early.load());
        REQUIRE(runner.log.CountOf(ReportCode::LeftAttached) == 1);
    }
}
