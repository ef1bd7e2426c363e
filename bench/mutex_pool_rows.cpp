// The trivial baseline: one queue under a mutex, threads that sleep on a condition variable. A thread that waits for a
// group runs other tasks meanwhile.
#include "rounds.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;

class MutexPool {
public:
    struct Task {
        void (*function)(MutexPool &pool, void *arg);
        void *arg;
        uint32_t *group;  // how many are outstanding; under the mutex
    };

    explicit MutexPool(uint32_t workers) {
        for (uint32_t i = 1; i < workers; ++i) m_threads.emplace_back([this] { RunUntilStopped(); });
    }
    ~MutexPool() {
        {
            std::lock_guard<std::mutex> lock(m_mutex);
            m_stopping = true;
        }
        m_changed.notify_all();
        for (std::thread &thread : m_threads) thread.join();
    }

    void Add(uint32_t count, const Task *tasks) {
        {
            std::lock_guard<std::mutex> lock(m_mutex);
            for (uint32_t i = 0; i < count; ++i) {
                m_queue.push_back(tasks[i]);
                ++*tasks[i].group;
            }
        }
        if (count > 1)
            m_changed.notify_all();
        else
            m_changed.notify_one();
    }

    void Wait(const uint32_t &group) {
        std::unique_lock<std::mutex> lock(m_mutex);
        while (group != 0) {
            if (!RunOne(lock)) m_changed.wait(lock);
        }
    }

private:
    bool RunOne(std::unique_lock<std::mutex> &lock) {
        if (m_queue.empty()) return false;
        const Task task = m_queue.back();
        m_queue.pop_back();
        lock.unlock();
        task.function(*this, task.arg);
        lock.lock();
        if (--*task.group == 0) m_changed.notify_all();
        return true;
    }
    void RunUntilStopped() {
        std::unique_lock<std::mutex> lock(m_mutex);
        while (!m_stopping) {
            if (!RunOne(lock)) m_changed.wait(lock);
        }
    }

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Task> m_queue;
    std::vector<std::thread> m_threads;
    bool m_stopping = false;
};

void WriteCell(MutexPool &, void *cell) { *static_cast<uint8_t *>(cell) = 1; }

double Bulk(MutexPool &pool, uint32_t count, bool oneByOne) {
    std::vector<uint8_t> cells(count);
    uint32_t group = 0;
    std::vector<MutexPool::Task> tasks;
    for (uint8_t &cell : cells) tasks.push_back({WriteCell, &cell, &group});
    const uint32_t repeats = kBulk / count;
    const Clock::time_point begin = Clock::now();
    for (uint32_t i = 0; i < repeats; ++i) {
        if (oneByOne) {
            for (const MutexPool::Task &task : tasks) pool.Add(1, &task);
        } else {
            pool.Add(count, tasks.data());
        }
        pool.Wait(group);
    }
    const double cost = Since(begin) / (repeats * count);
    for (uint8_t cell : cells) {
        if (cell != 1) Wrong("a task did not run");
    }
    return cost;
}

struct Fibonacci {
    uint32_t n;
    uint64_t result;
};

void RunFibonacci(MutexPool &pool, void *arg) {
    Fibonacci &call = *static_cast<Fibonacci *>(arg);
    if (call.n < 2) {
        call.result = call.n;
        return;
    }
    Fibonacci calls[2] = {{call.n - 1, 0}, {call.n - 2, 0}};
    uint32_t group = 0;
    const MutexPool::Task tasks[2] = {{RunFibonacci, &calls[0], &group}, {RunFibonacci, &calls[1], &group}};
    pool.Add(2, tasks);
    pool.Wait(group);
    call.result = calls[0].result + calls[1].result;
}

double ForkJoin(MutexPool &pool) {
    Fibonacci root{kFibonacci, 0};
    const Clock::time_point begin = Clock::now();
    RunFibonacci(pool, &root);
    const double cost = Since(begin) / kFibonacciTasks;
    if (root.result != 6765) Wrong("fib(20)");
    return cost;
}

// Two threads, because a thread that waits cannot do anything else: what a hand-over costs without fibers.
double HandOver() {
    std::mutex mutex;
    std::condition_variable changed;
    uint32_t turn = 0;
    const auto play = [&](uint32_t me) {
        for (uint32_t i = 0; i < kHandOvers / 2; ++i) {
            std::unique_lock<std::mutex> lock(mutex);
            changed.wait(lock, [&] { return turn % 2 == me; });
            ++turn;
            changed.notify_one();
        }
    };
    const Clock::time_point begin = Clock::now();
    std::thread second([&] { play(1); });
    play(0);
    second.join();
    if (turn != kHandOvers) Wrong("hand-over");
    return Since(begin) / kHandOvers;
}

}  // namespace

void AddMutexPoolRows(std::vector<Row> &rows, uint32_t workers) {
    const auto add = [&](const std::string &workload, auto body) {
        rows.push_back({workload,
                        "mutex_pool",
                        workers,
                        "ns",
                        [=] {
                            MutexPool pool(workers);
                            return body(pool);
                        },
                        {}});
    };
    for (uint32_t count : {1u, 8u, 64u, 1024u, kBulk}) {
        add("bulk_" + std::to_string(count), [count](MutexPool &pool) { return Bulk(pool, count, false); });
    }
    add("one_by_one", [](MutexPool &pool) { return Bulk(pool, kBulk, true); });
    add("fork_join", ForkJoin);
    if (workers == 2) rows.push_back({"hand_over", "mutex_pool", 2, "ns", HandOver, {}});
}

}  // namespace bench
