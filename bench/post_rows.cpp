// Posted jobs beside a trivial scheduler, one mutex over one queue: threads that are no workers post jobs, each of them
// begins once; two workers. The cost is of the whole, posts and runs, for one job.
#include "bodies.h"

#include <weft/post/posted_job.h>

#include <condition_variable>
#include <deque>
#include <mutex>

namespace bench {

namespace {

constexpr uint32_t kJobs = 40000, kWorkers = 2;

struct Tally {
    alignas(128) std::atomic<uint32_t> left;
};

void AwaitAll(const Tally &tally) {
    while (tally.left.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

// body(first, end) on each of so many threads, which share kJobs.
template <class Body>
double FromThreads(uint32_t threads, Tally &tally, Body body) {
    tally.left.store(kJobs / threads * threads);
    const Clock::time_point begin = Clock::now();
    std::vector<std::thread> posters;
    for (uint32_t i = 0; i < threads; ++i) {
        posters.emplace_back([=] { body(i * (kJobs / threads), (i + 1) * (kJobs / threads)); });
    }
    for (std::thread &poster : posters) poster.join();
    AwaitAll(tally);
    return Since(begin) / kJobs;
}

struct Counted : weft::PostedJob {
    Counted(weft::PostQueue &queue, Tally &counted) : PostedJob(queue, Run), tally(counted) {}
    static void Run(weft::TaskScheduler *, weft::PostedJob *job) {
        static_cast<Counted *>(job)->tally.left.fetch_sub(1, std::memory_order_release);
    }
    Tally &tally;
};

double WithWeft(uint32_t threads) {
    weft::SchedulerOptions options;
    options.workers = kWorkers;
    weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok) Wrong("Start");
    Tally tally{};
    double cost = 0;
    {
        std::deque<Counted> jobs;
        weft::PostQueue queue(scheduler);
        for (uint32_t i = 0; i < kJobs; ++i) jobs.emplace_back(queue, tally);
        cost = FromThreads(threads, tally, [&](uint32_t first, uint32_t end) {
            for (uint32_t i = first; i < end; ++i) jobs[i].Post();
        });
    }
    scheduler.Stop();
    return cost;
}

class MutexScheduler {
public:
    explicit MutexScheduler(uint32_t workers) {
        for (uint32_t i = 0; i < workers; ++i) m_workers.emplace_back([this] { Work(); });
    }
    ~MutexScheduler() {
        {
            const std::lock_guard<std::mutex> lock(m_mutex);
            m_isOver = true;
        }
        m_changed.notify_all();
        for (std::thread &worker : m_workers) worker.join();
    }
    void Post(Tally *job) {
        {
            const std::lock_guard<std::mutex> lock(m_mutex);
            m_jobs.push_back(job);
        }
        m_changed.notify_one();
    }

private:
    void Work() {
        for (;;) {
            std::unique_lock<std::mutex> lock(m_mutex);
            m_changed.wait(lock, [this] { return m_isOver || !m_jobs.empty(); });
            if (m_jobs.empty()) return;
            Tally *const job = m_jobs.front();
            m_jobs.pop_front();
            lock.unlock();
            job->left.fetch_sub(1, std::memory_order_release);
        }
    }
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Tally *> m_jobs;
    bool m_isOver = false;
    std::vector<std::thread> m_workers;
};

double WithMutex(uint32_t threads) {
    Tally tally{};
    MutexScheduler scheduler(kWorkers);
    return FromThreads(threads, tally, [&](uint32_t first, uint32_t end) {
        for (uint32_t i = first; i < end; ++i) scheduler.Post(&tally);
    });
}

}  // namespace

void AddPostRows(std::vector<Row> &rows) {
    for (uint32_t threads : {1u, 2u, 5u, 10u}) {
        const std::string workload = "post_" + std::to_string(threads) + "_threads";
        rows.push_back({workload, "weft", kWorkers, "ns", [=] { return WithWeft(threads); }, {}});
        rows.push_back({workload, "mutex", kWorkers, "ns", [=] { return WithMutex(threads); }, {}});
    }
}

}  // namespace bench
