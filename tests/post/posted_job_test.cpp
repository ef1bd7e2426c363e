#include "weft/post/posted_job.h"

#include "post/jobs.h"

#include <memory>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using namespace std::chrono_literals;
using test::FunctionJob;
using test::kLong;

namespace {

struct Steps : PostedJob {
    Steps(PostQueue &queue, std::string &log) : PostedJob(queue, First), said(log) {}
    static void First(TaskScheduler *, PostedJob *job) {
        static_cast<Steps *>(job)->said += '1';
        job->SetCallback(Second);
        job->Post();
    }
    static void Second(TaskScheduler *scheduler, PostedJob *job) {
        static_cast<Steps *>(job)->said += scheduler == TaskScheduler::Current() ? '2' : '?';
        delete static_cast<Steps *>(job);
    }
    std::string &said;
};

}  // namespace

TEST_CASE("PostedJob: posts itself again with another callback, which destroys it",
          "[post][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    PostQueue queue(one.Scheduler());
    std::string said;
    (new Steps(queue, said))->Post();
    (new Steps(queue, said))->Post();
    CHECK(said == "");
    one.Settle();
    CHECK(said == "1122");
}

TEST_CASE("PostedJob: thousands of jobs of several steps, which destroy themselves in the last",
          "[post][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint32_t> begun{0}, living{0};
        CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
                  PostQueue queue(scheduler);
                  const auto post = [&](uint32_t) {
                      for (int i = 0; i < 200; ++i) {
                          auto steps = std::make_shared<int>(0);
                          living.fetch_add(1);
                          (new FunctionJob(queue, [&, steps](FunctionJob &self) {
                              begun.fetch_add(1);
                              switch (++*steps) {
                                  case 1:
                                      return self.Post();
                                  case 2:
                                      return self.PostAfter(1us);
                                  case 3:
                                      return self.PostOnWakeFor(20us);
                                  default:
                                      living.fetch_sub(1), delete &self;
                              }
                          }))->Post();
                      }
                  };
                  test::Batch batch(2, [&](TaskScheduler &, uint32_t index) { post(index); });
                  test::Threads threads(2, post);
                  scheduler.AddTasksAndWait(2, batch.Tasks());
                  threads.Join();
              }) == Status::Ok);
        CHECK(begun.load() == 3200);
        CHECK(living.load() == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE(
    "PostedJob: delayed jobs begin in the order of their times, never early, despite wake-ups",
    "[post][time][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    std::string order;
    uint32_t early = 0, notExpired = 0;
    {
        PostQueue queue(one.Scheduler());
        const Clock::time_point begin = Now(), later = begin + 20ms;
        const auto note = [&](char name, Clock::time_point time) {
            return [&, name, time](FunctionJob &self) {
                order += name;
                early += Now() < time;
                notExpired += !self.IsExpired();
            };
        };
        FunctionJob c(queue, note('c', later)), d(queue, note('d', later)),
            b(queue, note('b', begin + 10ms));
        FunctionJob a(queue, note('a', begin));
        c.PostAt(later);
        d.PostAt(later);
        b.PostAt(begin + 10ms);  // earlier than the deadline that is waited for
        a.PostAt(begin);         // a time in the past
        c.Wake();
        d.Signal();
        REQUIRE(test::YieldUntil(one.Scheduler(), [&] { return order.size() == 4; }));
        CHECK(d.ReceiveSignal());
    }
    CHECK(order == "abcd");
    CHECK(early == 0);
    CHECK(notExpired == 0);
}

TEST_CASE("PostedJob: waits until it is woken; a wake-up is not lost", "[post][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    PostQueue queue(one.Scheduler());
    uint32_t begun = 0, expired = 0;
    bool wakesItself = false;
    FunctionJob job(queue, [&](FunctionJob &self) {
        ++begun;
        expired += self.IsExpired();
        if (wakesItself) self.Wake();
        wakesItself = false;
    });
    job.PostOnWake();
    one.Settle();
    CHECK(begun == 0);
    job.Wake();
    job.Wake();  // the job has not begun, so this counts as the same wake-up
    one.Settle();
    CHECK(begun == 1);

    job.PostOnWake();
    one.Settle();
    CHECK(begun == 1);  // nothing is left of the second wake-up
    wakesItself = true;
    job.Wake();
    one.Settle();
    CHECK(begun == 2);
    job.PostOnWake();  // the job was woken after it had begun
    one.Settle();
    CHECK(begun == 3);

    job.Wake();  // before the job is posted
    job.Post();  // uses up this wake-up
    one.Settle();
    CHECK(begun == 4);
    job.PostOnWakeFor(kLong);
    one.Settle();
    CHECK(begun == 4);
    job.Wake();
    one.Settle();
    CHECK(begun == 5);
    CHECK(expired == 0);
    CHECK(!job.ReceiveSignal());
}

TEST_CASE("PostedJob: a deadline ends a wait", "[post][time][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    PostQueue queue(one.Scheduler());
    uint32_t begun = 0, expired = 0, early = 0;
    Clock::time_point deadline;
    FunctionJob job(queue, [&](FunctionJob &self) {
        ++begun;
        expired += self.IsExpired();
        early += Now() < deadline;
    });
    deadline = Now() + 2ms;
    job.PostOnWakeUntil(deadline);
    CHECK(test::YieldUntil(one.Scheduler(), [&] { return begun == 1; }));
    CHECK(expired == 1);
    job.PostOnWakeUntil(Now() - 1s);  // a deadline in the past
    one.Settle();
    CHECK(begun == 2);
    CHECK(expired == 2);
    job.Post();
    one.Settle();
    CHECK(begun == 3);
    CHECK(expired == 2);
    CHECK(early == 0);
    job.PostOnWakeFor(Clock::duration::max());
    one.Settle();
    CHECK(begun == 3);
    job.Wake();
    one.Settle();
    CHECK(begun == 4);
    CHECK(expired == 2);
    job.PostOnWakeUntil(Clock::time_point::min());  // a deadline in the past, like any other
    one.Settle();
    CHECK(begun == 5);
    CHECK(expired == 3);
    job.PostAt(Clock::time_point::min());
    one.Settle();
    CHECK(begun == 6);
    CHECK(expired == 4);
}

TEST_CASE("PostedJob: an earlier deadline comes first, and a wake-up removes the later one",
          "[post][time][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    std::string order;
    {
        PostQueue queue(one.Scheduler());
        FunctionJob far(queue, [&](FunctionJob &) { order += 'f'; }),
            near(queue, [&](FunctionJob &) { order += 'n'; });
        far.PostOnWakeFor(kLong);
        one.Settle();
        near.PostAfter(1ms);
        CHECK(test::YieldUntil(one.Scheduler(), [&] { return order == "n"; }));
        far.Wake();
        one.Settle();
    }  // the end of the queue must not wait for the hour
    CHECK(order == "nf");
}

TEST_CASE("PostedJob: a signal ends a wait and is received once", "[post][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    PostQueue queue(one.Scheduler());
    std::string said;
    bool receives = true;
    FunctionJob job(queue, [&](FunctionJob &self) {
        if (!receives)
            said += '-';
        else
            said += self.ReceiveSignal() ? 's' : 'n';
    });
    job.PostOnWakeFor(kLong);
    job.Signal();
    job.Signal();
    one.Settle();
    CHECK(said == "s");
    CHECK(!job.ReceiveSignal());
    job.Signal();  // the job is not posted
    job.PostOnWake();
    one.Settle();
    CHECK(said == "ss");
    receives = false;
    job.Signal();
    job.PostOnWake();
    one.Settle();
    CHECK(said == "ss-");
    receives = true;
    job.PostOnWake();  // the signal is still there
    one.Settle();
    CHECK(said == "ss-s");
    job.PostOnWake();
    one.Settle();
    CHECK(said == "ss-s");
    job.Wake();
    one.Settle();
    CHECK(said == "ss-sn");
}

namespace {

// A thread sends one signal. A deadline passes at about the same time. The side that takes `me`
// decides whether the signal is sent.
struct Raced : PostedJob {
    Raced(PostQueue &queue, std::chrono::microseconds due, std::atomic<PostedJob *> &slot,
          std::atomic<uint32_t> *ends)
        : PostedJob(queue, Begin), time(due), me(slot), ended(ends) {}
    static void Begin(TaskScheduler *, PostedJob *job) {
        Raced *self = static_cast<Raced *>(job);
        job->SetCallback(End);
        self->me.store(job);
        job->PostOnWakeFor(self->time);
    }
    static void End(TaskScheduler *, PostedJob *job) {
        Raced *self = static_cast<Raced *>(job);
        if (job->ReceiveSignal()) {
            self->ended[0].fetch_add(1);
        } else if (self->me.exchange(nullptr) != nullptr) {
            self->ended[1].fetch_add(1);  // no signal will come
        } else {
            return job->PostOnWake();  // the signal is on its way
        }
        delete self;
    }
    const std::chrono::microseconds time;
    std::atomic<PostedJob *> &me;
    std::atomic<uint32_t> *ended;
};

}  // namespace

TEST_CASE("PostedJob: a deadline passes and the job is destroyed while a thread signals it",
          "[post][race]") {
    constexpr uint32_t kJobs = 4000;
    test::Runner runner(test::Options(2));
    std::vector<std::atomic<PostedJob *>> slots(kJobs);
    std::atomic<uint32_t> ended[2] = {{0}, {0}};
    CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
              PostQueue queue(scheduler);
              for (uint32_t i = 0; i < kJobs; ++i) {
                  // The first job is signalled in any case.
                  const std::chrono::microseconds time = i == 0 ? 1h : 3us;
                  (new Raced(queue, time, slots[i], ended))->Post();
                  PostedJob *job = nullptr;
                  CHECK(test::SpinUntil([&] {
                      return (job = slots[i].exchange(nullptr)) != nullptr ||
                             ended[0].load() + ended[1].load() == i + 1;
                  }));
                  if (i % 2 == 0) test::Linger(static_cast<int>(i % 5));
                  if (job != nullptr) job->Signal();
                  CHECK(
                      test::SpinUntil([&] { return ended[0].load() + ended[1].load() == i + 1; }));
              }
          }) == Status::Ok);
    CHECK(ended[0].load() + ended[1].load() == kJobs);
    CHECK(ended[0].load() > 0);
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("PostedJob: threads wake it while it works and waits, and no wake-up is lost", "[post]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> given{0};
    uint32_t taken = 0, begun = 0;
    constexpr uint32_t kAll = 3 * 2000;
    CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
              PostQueue queue(scheduler);
              Counter done(1);
              FunctionJob job(queue, [&](FunctionJob &self) {
                  ++begun;
                  taken += given.exchange(0);
                  if (taken == kAll) return scheduler.DecrementCounter(&done);
                  begun % 2 == 0 ? self.PostOnWake() : self.PostOnWakeFor(kLong);
              });
              job.Post();
              test::Threads threads(3, [&](uint32_t) {
                  for (uint32_t i = 0; i < kAll / 3; ++i) {
                      given.fetch_add(1);
                      job.Wake();
                  }
              });
              scheduler.WaitForCounter(&done);
              threads.Join();
          }) == Status::Ok);
    CHECK(taken == kAll);
    CHECK(test::Faults(runner.log) == "");
}
