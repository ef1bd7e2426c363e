// Rows that compare posted jobs with a simple scheduler of one queue under a mutex. External
// threads post jobs to two workers, and each job runs once. The rows show the cost of a job from
// post to end, how often a lock was contended, and how evenly the workers shared the jobs.
#include "bodies.h"

#include <weft/post/posted_job.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace bench {

namespace {

constexpr uint32_t kJobs = 40000, kWorkers = 2;

struct Figures {
    double cost;       // nanoseconds for each job
    double contended;  // percent of the lock operations that had to wait
    // jobs of the worker with the most, divided by jobs of the worker with the fewest
    double share;
};

struct Tally {
    alignas(128) std::atomic<uint32_t> left;
    struct alignas(128) {
        uint64_t jobs;  // only this worker writes it; read at the end
    } ran[kWorkers];

    void Count(uint32_t worker) {
        ++ran[worker].jobs;
        left.fetch_sub(1, std::memory_order_release);
    }
    double Share() const {
        const auto [least, most] = std::minmax(ran[0].jobs, ran[1].jobs);
        return static_cast<double>(most) / static_cast<double>(std::max<uint64_t>(least, 1));
    }
};

double PerHundred(uint64_t part, uint64_t whole) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void AwaitAll(const Tally &tally) {
    while (tally.left.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

// Calls body(first, end) on each of the threads. The threads share kJobs evenly.
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
    static void Run(weft::TaskScheduler *scheduler, weft::PostedJob *job) {
        static_cast<Counted *>(job)->tally.Count(scheduler->CurrentWorker());
    }
    Tally &tally;
};

Figures WithWeft(uint32_t threads) {
    weft::SchedulerOptions options;
    options.workers = kWorkers;
    weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok) Wrong("Start");
    Tally tally{};
    Figures figures{};
    {
        std::deque<Counted> jobs;
        weft::PostQueue queue(scheduler);
        for (uint32_t i = 0; i < kJobs; ++i) jobs.emplace_back(queue, tally);
        figures.cost = FromThreads(threads, tally, [&](uint32_t first, uint32_t end) {
            for (uint32_t i = first; i < end; ++i) jobs[i].Post();
        });
        const weft::PostStatistics statistics = queue.Statistics();
        figures.contended = PerHundred(statistics.contended, statistics.locks);
        scheduler.WaitIdle();
    }
    figures.share = tally.Share();
    scheduler.Stop();
    return figures;
}

class MutexScheduler {
public:
    explicit MutexScheduler(uint32_t workers) {
        for (uint32_t i = 0; i < workers; ++i) m_workers.emplace_back([this, i] { Work(i); });
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
            const std::unique_lock<std::mutex> lock = Lock();
            m_jobs.push_back(job);
        }
        m_changed.notify_one();
    }
    double Contended() {
        const std::lock_guard<std::mutex> lock(m_mutex);
        return PerHundred(m_contended, m_locks);
    }

private:
    std::unique_lock<std::mutex> Lock() {
        std::unique_lock<std::mutex> lock(m_mutex, std::try_to_lock);
        const bool wasTaken = !lock.owns_lock();
        if (wasTaken) lock.lock();
        ++m_locks;
        if (wasTaken) ++m_contended;
        return lock;
    }
    void Work(uint32_t worker) {
        for (;;) {
            std::unique_lock<std::mutex> lock = Lock();
            m_changed.wait(lock, [this] { return m_isOver || !m_jobs.empty(); });
            if (m_jobs.empty()) return;
            Tally *const job = m_jobs.front();
            m_jobs.pop_front();
            lock.unlock();
            job->Count(worker);
        }
    }
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Tally *> m_jobs;
    uint64_t m_locks = 0, m_contended = 0;
    bool m_isOver = false;
    std::vector<std::thread> m_workers;
};

Figures WithMutex(uint32_t threads) {
    Tally tally{};
    Figures figures{};
    {
        MutexScheduler scheduler(kWorkers);
        figures.cost = FromThreads(threads, tally, [&](uint32_t first, uint32_t end) {
            for (uint32_t i = first; i < end; ++i) scheduler.Post(&tally);
        });
        figures.contended = scheduler.Contended();
    }
    figures.share = tally.Share();
    return figures;
}

void AddRow(std::vector<Row> &rows, const std::string &workload, const std::string &unit,
            uint32_t threads, double Figures::*figure) {
    rows.push_back(
        {workload, "weft", kWorkers, unit, [=] { return WithWeft(threads).*figure; }, {}});
    rows.push_back(
        {workload, "mutex", kWorkers, unit, [=] { return WithMutex(threads).*figure; }, {}});
}

}  // namespace

void AddPostRows(std::vector<Row> &rows) {
    for (uint32_t threads : {1u, 2u, 5u, 10u}) {
        const std::string workload = "post_" + std::to_string(threads) + "_threads";
        AddRow(rows, workload, "ns", threads, &Figures::cost);
        AddRow(rows, workload + "_contended", "%", threads, &Figures::contended);
        AddRow(rows, workload + "_share", "x", threads, &Figures::share);
    }
}

}  // namespace bench
