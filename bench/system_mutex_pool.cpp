// The rows of a simple baseline: one queue under a mutex, with threads that sleep on a condition
// variable. A thread that waits for a group runs other tasks meanwhile.
#include "external_rows.h"
#include "staged_frame.h"
#include "workloads.h"

#include <condition_variable>
#include <deque>
#include <mutex>

namespace bench {

namespace {

class Pool {
public:
    struct Task {
        void (*function)(Pool *pool, void *arg);
        void *arg;
        uint32_t *group;  // number of tasks that have not ended; protected by the mutex
    };

    explicit Pool(uint32_t workers) {
        for (uint32_t i = 1; i < workers; ++i)
            m_threads.emplace_back([this] { RunUntilStopped(); });
    }
    ~Pool() {
        {
            std::lock_guard<std::mutex> lock(m_mutex);
            m_stopping = true;
        }
        m_changed.notify_all();
        for (std::thread &thread : m_threads) thread.join();
    }

    void Add(uint32_t count, const Task *tasks, uint32_t *group) {
        {
            std::lock_guard<std::mutex> lock(m_mutex);
            for (uint32_t i = 0; i < count; ++i)
                m_queue.push_back({tasks[i].function, tasks[i].arg, group});
            *group += count;
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
        task.function(this, task.arg);
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

Pool *s_pool = nullptr;

struct MutexPool {
    static constexpr const char *kName = "mutex_pool";
    static constexpr bool kNestsWithoutBound = true;
    using Context = Pool *;
    using Function = void (*)(Pool *, void *);

    static Context Current() { return s_pool; }

    template <class Body>
    static void Run(uint32_t workers, Body body) {
        Pool pool(workers);
        s_pool = &pool;
        body();
    }

    class Batch {
    public:
        Batch(Function function, Cells &cells) {
            for (uint32_t i = 0; i < cells.Count(); ++i)
                tasks.push_back({function, cells.At(i), nullptr});
        }
        template <class Item>
        Batch(Function function, std::vector<Item> &items) {
            for (Item &item : items) tasks.push_back({function, &item, nullptr});
        }
        std::vector<Pool::Task> tasks;
    };

    class Group {
    public:
        explicit Group(Context pool = s_pool) : m_pool(pool) {}
        void Add(Function function, void *arg) {
            const Pool::Task task{function, arg, nullptr};
            m_pool->Add(1, &task, &m_outstanding);
        }
        void AddTwo(Function function, void *first, void *second) {
            const Pool::Task tasks[2] = {{function, first, nullptr}, {function, second, nullptr}};
            m_pool->Add(2, tasks, &m_outstanding);
        }
        void AddAll(const Batch &batch) {
            m_pool->Add(static_cast<uint32_t>(batch.tasks.size()), batch.tasks.data(),
                        &m_outstanding);
        }
        void Wait() { m_pool->Wait(m_outstanding); }

    private:
        Pool *m_pool;
        uint32_t m_outstanding = 0;
    };

    static void Both(Context pool, Function function, void *first, void *second) {
        Group group(pool);
        group.Add(function, second);
        function(pool, first);
        group.Wait();
    }
};

double External(uint32_t workers, uint32_t threads) {
    Pool pool(workers + 1);  // counts the calling thread, which runs no task here
    return ExternalCost(threads, [&](Cells &cells) {
        MutexPool::Group group(&pool);
        for (uint32_t i = 0; i < cells.Count(); ++i)
            group.Add(Workloads<MutexPool>::Write, cells.At(i));
        group.Wait();
    });
}

}  // namespace

void AddMutexPoolRows(std::vector<Row> &rows, uint32_t workers) {
    AddWorkloads<MutexPool>(rows, workers);
    AddFrameRows<MutexPool>(rows, workers);
    AddExternalRows(rows, MutexPool::kName, workers, External);
}

}  // namespace bench
