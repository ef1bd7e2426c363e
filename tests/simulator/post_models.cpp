// Models of posted jobs: a deadline, a signal or a wake-up, and the end of a job or of its queue
// happen at the same time. A job that has ended is overwritten, so that a later access to it fails.
#include "simulator/sync_support.h"
#include "weft/post/posted_job.h"

#include <cstring>
#include <new>

namespace simulator {

namespace {

// A PostQueue whose memory is overwritten and marked dead after its end, and is not used again
// within a schedule.
class Queue {
public:
    explicit Queue(TaskScheduler &scheduler) { new (m_storage) PostQueue(scheduler); }
    PostQueue &Get() { return *std::launder(reinterpret_cast<PostQueue *>(m_storage)); }
    void End() {
        Get().~PostQueue();
        std::memset(m_storage, 0xee, sizeof m_storage);
        MarkDead(m_storage, sizeof m_storage);
    }

private:
    alignas(PostQueue) unsigned char m_storage[sizeof(PostQueue)];
};

template <class Job>
class Place {
public:
    template <class... Args>
    Job *Make(Args &&...args) {
        return new (m_storage) Job(static_cast<Args &&>(args)...);
    }
    static void Destroy(Job *job) {
        job->~Job();
        std::memset(static_cast<void *>(job), 0xee, sizeof *job);
    }

private:
    alignas(Job) unsigned char m_storage[sizeof(Job)];
};

template <class Body>
struct BodyJob : PostedJob {
    BodyJob(PostQueue &queue, Body &called) : PostedJob(queue, Call), body(called) {}
    static void Call(TaskScheduler *, PostedJob *job) {
        BodyJob &self = *static_cast<BodyJob *>(job);
        self.body(self);
    }
    Body &body;
};

// A task and a thread of the host post their own jobs. Each job is destroyed in its callback. Each
// must begin once, in the order of its poster if there is one worker. After the queue's end all
// that jobs wrote must be visible.
void PostOrder() {
    constexpr uint32_t kEach = 3;
    const uint32_t workers = 1 + Random(2);
    WithWorkers(workers, [&](TaskScheduler &scheduler) {
        struct Numbered : PostedJob {
            Numbered(PostQueue &queue, uint32_t *counted, Cell *own, uint32_t index, bool isAlone)
                : PostedJob(queue, Call),
                  next(counted),
                  written(own),
                  number(index),
                  ordered(isAlone) {}
            static void Call(TaskScheduler *, PostedJob *job) {
                Numbered *self = static_cast<Numbered *>(job);
                const uint32_t before = (*self->next)++;
                Check(!self->ordered || before == self->number,
                      "a job began before one that was posted earlier");
                self->written->Set(1);
                Place<Numbered>::Destroy(self);
            }
            uint32_t *next;
            Cell *written;
            uint32_t number;
            bool ordered;
        };
        Queue queue(scheduler);
        Place<Numbered> places[2][kEach];
        uint32_t begun[2] = {};
        Cell written[2][kEach];
        AllAtOnce(scheduler, 1, [&](TaskScheduler &, uint32_t index) {
            for (uint32_t i = 0; i < kEach; ++i) {
                places[index][i]
                    .Make(queue.Get(), &begun[index], &written[index][i], i, workers == 1)
                    ->Post();
            }
        });
        queue.End();
        Check(begun[0] == kEach && begun[1] == kEach, "a job was lost or began twice");
        for (const auto &by : written)
            for (const Cell &each : by)
                Check(each.Get() == 1,
                      "a write of a job is not visible after the queue's destruction");
    });
}

// A job waits for a signal with a deadline. The deadline passes, and the job is destroyed, while a
// thread signals it. Right after that the queue ends. `slot` decides: the job expects no signal if
// it takes itself out, and a signal if the thread does. Shows a job that ends twice, never, or
// before its signal.
void PostRace() {
    WithScheduler([](TaskScheduler &scheduler) {
        Queue queue(scheduler);
        Cell data;
        weft::env::Atomic<PostedJob *> slot{nullptr};
        uint32_t ended = 0, signals = 0;
        bool isWaiting = false;
        const bool retries = Random(2) != 0;
        Counter done(1);
        auto body = [&](auto &self) {
            if (!isWaiting) {
                isWaiting = true;
                slot.store(&self, std::memory_order_release);
                return self.PostOnWakeFor(Soon());
            }
            if (self.ReceiveSignal()) {
                Check(data.Get() == 1, "a write before Signal is not visible after ReceiveSignal");
                ++signals;
            } else {
                Check(self.IsExpired(), "a job began without a reason");
                if (slot.exchange(nullptr, std::memory_order_acq_rel) == nullptr) {
                    // The thread has taken the job and is going to signal it.
                    return retries ? self.PostOnWakeFor(Soon()) : self.PostOnWake();
                }
            }
            ++ended;
            Place<std::decay_t<decltype(self)>>::Destroy(&self);
            scheduler.DecrementCounter(&done);
        };
        Place<BodyJob<decltype(body)>> place;
        RunningThread host([&] {
            PostedJob *job = nullptr;
            for (uint32_t i = Random(64); i != 0 && job == nullptr; --i)
                job = slot.exchange(nullptr, std::memory_order_acq_rel);
            if (job == nullptr) return;
            data.Set(1);
            job->Signal();
        });
        place.Make(queue.Get(), body)->Post();
        scheduler.WaitForCounter(&done);
        host.Join();
        queue.End();
        Check(ended == 1 && signals <= 1, "a job ended twice or never");
    });
}

// A job ends when it receives its signal, and the queue ends at once, although Signal has not
// returned yet. Shows an access of Signal to the job or to the queue after that.
void PostEnd() {
    WithScheduler([](TaskScheduler &scheduler) {
        Queue queue(scheduler);
        Counter waits(1), done(1);
        bool isBegun = false;
        auto body = [&](auto &self) {
            if (!self.ReceiveSignal()) {
                if (!isBegun) scheduler.DecrementCounter(&waits);
                isBegun = true;
                return Random(4) != 0 ? self.PostOnWake() : self.PostOnWakeFor(Soon());
            }
            Place<std::decay_t<decltype(self)>>::Destroy(&self);
            scheduler.DecrementCounter(&done);
        };
        Place<BodyJob<decltype(body)>> place;
        auto *const job = place.Make(queue.Get(), body);
        auto leaf = [](auto &) {};
        // The tasks that run these jobs may take the first job.
        BodyJob<decltype(leaf)> others[2] = {{queue.Get(), leaf}, {queue.Get(), leaf}};
        HostThread host([&] { job->Signal(); });
        const bool isLate = Random(4) != 0;
        if (!isLate) host.Start();
        job->Post();
        if (isLate) {
            scheduler.WaitForCounter(&waits);
            host.Start();
        }
        for (auto &other : others) {
            if (Random(4) != 0) other.Post();
        }
        scheduler.WaitForCounter(&done);
        if (!isBegun) scheduler.DecrementCounter(&waits);
        queue.End();
        host.Join();
    });
}

// The queue ends while its jobs post themselves and each other repeatedly. The end must wait for
// all of them.
void PostGoesOn() {
    WithScheduler([](TaskScheduler &scheduler) {
        constexpr uint32_t kTurns = 3;
        struct Turning : PostedJob {
            Turning(PostQueue &queue, Turning *first) : PostedJob(queue, Call), other(first) {}
            static void Call(TaskScheduler *, PostedJob *job) {
                Turning *const self = static_cast<Turning *>(job);
                if (++self->begun == 1 && self->other != nullptr) self->other->Post();
                if (self->begun == kTurns) return;
                Random(2) != 0 ? self->Post() : self->PostAfter(Soon());
            }
            Turning *const other;
            uint32_t begun = 0;
        };
        Queue queue(scheduler);
        Turning second(queue.Get(), nullptr), first(queue.Get(), &second);
        first.Post();
        queue.End();
        Check(first.begun == kTurns && second.begun == kTurns,
              "the queue's destructor did not wait for a job");
    });
}

// Two callers wake a job while it runs and while it waits. The job must see everything that was
// given to it before a wake-up.
void PostWake() {
    WithScheduler([](TaskScheduler &scheduler) {
        constexpr uint32_t kAll = 4;
        Queue queue(scheduler);
        weft::env::Atomic<uint32_t> given{0};
        uint32_t taken = 0;
        bool isBegun = false;
        Counter done(1);
        auto body = [&](auto &self) {
            Check(!isBegun, "a job began while it was running");
            isBegun = true;
            taken += given.exchange(0, std::memory_order_relaxed);
            isBegun = false;
            if (taken == kAll) return scheduler.DecrementCounter(&done);
            Random(2) != 0 ? self.PostOnWake() : self.PostOnWakeFor(std::chrono::hours(1));
        };
        BodyJob<decltype(body)> job(queue.Get(), body);
        job.Post();
        AllAtOnce(scheduler, 1, [&](TaskScheduler &, uint32_t) {
            for (uint32_t i = 0; i < kAll / 2; ++i) {
                given.fetch_add(1, std::memory_order_relaxed);
                job.Wake();
            }
        });
        scheduler.WaitForCounter(&done);
        queue.End();
        Check(taken == kAll, "a wake-up was lost");
    });
}

// As many jobs as workers are posted one after the other, at once or with a time. Each blocks its
// worker until all have begun. Otherwise the model ends in a deadlock.
void PostMeet() {
    const uint32_t workers = 2 + Random(2);
    WithWorkers(workers, [&](TaskScheduler &scheduler) {
        uint32_t begun = 0;
        auto body = [&](auto &) {
            ++begun;
            while (begun < workers) weft::env::Pause();
        };
        Queue queue(scheduler);
        {
            BodyJob<decltype(body)> jobs[3] = {
                {queue.Get(), body}, {queue.Get(), body}, {queue.Get(), body}};
            const Clock::time_point due = Now() + Soon();
            const bool isTimed = Random(2) != 0;
            RunningThread host([&] {
                for (uint32_t i = 0; i < workers; ++i)
                    isTimed ? jobs[i].PostAt(due) : jobs[i].Post();
            });
            host.Join();
            queue.End();
        }
        Check(begun == workers, "a job was lost or began twice");
    });
}

// Jobs with a time or a timeout, some of which are signalled earlier. The task that serves the
// deadlines begins, is woken and ends meanwhile. No job may begin early or be lost, and a deadline
// that is no longer needed must not delay the end of the queue.
void PostTimes() {
    WithScheduler([](TaskScheduler &scheduler) {
        struct Timed : PostedJob {
            explicit Timed(PostQueue &queue) : PostedJob(queue, Call) {}
            static void Call(TaskScheduler *, PostedJob *job) {
                Timed *self = static_cast<Timed *>(job);
                Check(!self->IsExpired() || Now() >= self->due, "a job began before its time");
                Check(self->IsExpired() || self->isCalled, "a job began without a reason");
                ++self->begun;
            }
            void Put(Clock::duration in, bool waits) {
                due = Now() + in;
                waits ? PostOnWakeUntil(due) : PostAt(due);
            }
            Clock::time_point due{};
            bool isCalled = false;
            uint32_t begun = 0;
        };
        Queue queue(scheduler);
        Timed first(queue.Get()), second(queue.Get()), called(queue.Get());
        called.isCalled = true;
        const Clock::time_point begin = Now();
        AllAtOnce(scheduler, 1, [&](TaskScheduler &, uint32_t index) {
            if (index == 0) {
                first.Put(Soon(), true);
                second.Put(Soon() * 10, false);
            } else {
                called.Put(Random(2) != 0 ? std::chrono::hours(1) : std::chrono::nanoseconds(500),
                           true);
                called.Signal();
            }
        });
        queue.End();
        Check(Now() - begin < std::chrono::minutes(1),
              "the queue's destructor waited for a deadline of a job that was woken");
        Check(first.begun == 1 && second.begun == 1 && called.begun == 1,
              "a job was lost or began twice");
    });
}

}  // namespace

std::vector<Model> PostModels() {
    return {
        {"post_order", "jobs begin in the order of their posts and end in their callbacks",
         PostOrder},
        {"post_race", "a deadline passes and the job is destroyed while a thread signals it",
         PostRace},
        {"post_end", "job and queue end before Signal has returned", PostEnd},
        {"post_goes_on", "a queue ends while its jobs post themselves and each other", PostGoesOn},
        {"post_wake", "wake-ups while a job runs and waits", PostWake},
        {"post_meet", "as many jobs as workers block until all have begun", PostMeet},
        {"post_times",
         "jobs that are delayed, time out or are woken; the dispatcher ends and restarts",
         PostTimes},
    };
}

}  // namespace simulator
