// The rows of Boost.Fiber. Each task is a fiber on a pooled stack, which is posted and joined, as
// in the manual and its skynet example. A task has a stack from its submission on, so the rows with
// tens of thousands of tasks at once are left out. The rows have one worker, because the
// work-stealing scheduler of Boost 1.81 crashed in every row with two. The rows of external threads
// do not use that scheduler.
#include "argument_batch.h"
#include "external_rows.h"
#include "sleep_late.h"
#include "staged_frame.h"
#include "workloads.h"

#if __has_include(<boost/fiber/all.hpp>)

#include <boost/fiber/all.hpp>

#include <condition_variable>
#include <mutex>

namespace bench {

namespace {

namespace fibers = boost::fibers;

struct BoostFiber : PlainSystem {
    static constexpr const char *kName = "boost_fiber";

    template <class Body>
    static void Run(uint32_t, Body body) {
        std::thread(body).join();  // the fiber scheduler ends with its thread
    }

    class Group {
    public:
        explicit Group(Context = nullptr) {}
        void Add(Function function, void *arg) {
            static fibers::pooled_fixedsize_stack stacks(64 << 10);
            m_fibers.emplace_back(fibers::launch::post, std::allocator_arg, stacks,
                                  [=] { function(nullptr, arg); });
        }
        void AddTwo(Function function, void *first, void *second) {
            Add(function, first);
            Add(function, second);
        }
        void AddAll(const Batch &batch) {
            for (void *arg : batch.args) Add(batch.function, arg);
        }
        void Wait() {
            // tasks may add others during a join
            for (size_t i = 0; i < m_fibers.size(); ++i) {
                fibers::fiber fiber = std::move(m_fibers[i]);
                fiber.join();
            }
            m_fibers.clear();
        }

    private:
        std::vector<fibers::fiber> m_fibers;
    };

    static void Both(Context, Function function, void *first, void *second) {
        Group group;
        group.Add(function, second);
        function(nullptr, first);
        group.Wait();
    }
};

// As the row of weft: two fibers that pass a turn to each other.
double HandOver(uint32_t workers) {
    constexpr uint32_t kTurns = 20000;
    double cost = 0;
    BoostFiber::Run(workers, [&] {
        for (int round = 0; round < 2; ++round) {
            fibers::unbuffered_channel<uint32_t> there, back;
            fibers::fiber other([&] {
                uint32_t turn;
                while (there.pop(turn) == fibers::channel_op_status::success) back.push(turn);
            });
            const Clock::time_point begin = Clock::now();
            for (uint32_t i = 0; i < kTurns / 2; ++i) {
                uint32_t turn;
                there.push(i);
                back.pop(turn);
            }
            cost = Since(begin) / kTurns;
            there.close();
            other.join();
        }
    });
    return cost;
}

// Fibers that wait until this object is destroyed. Their stacks come from the library's default
// allocator.
class Blocked {
public:
    explicit Blocked(uint32_t count) {
        for (uint32_t i = 0; i < count; ++i) {
            m_fibers.emplace_back([this] {
                ++m_waiting;
                m_open.wait();
            });
        }
        while (m_waiting != count) boost::this_fiber::yield();
    }
    ~Blocked() {
        m_gate.set_value();
        for (fibers::fiber &fiber : m_fibers) fiber.join();
    }

private:
    fibers::promise<void> m_gate;
    fibers::shared_future<void> m_open = m_gate.get_future().share();
    uint32_t m_waiting = 0;
    std::vector<fibers::fiber> m_fibers;
};

double BesideBlocked(uint32_t workers) {
    constexpr uint32_t kCount = 1000;
    Cells cells(kCount);
    const ArgumentBatch batch(Workloads<BoostFiber>::Write, cells);
    double cost = 0;
    BoostFiber::Run(workers, [&] {
        const Blocked blocked(1000);
        cost = PerTaskHere(BulkRepeats(kCount), kCount, [&] {
            BoostFiber::Group group;
            group.AddAll(batch);
            group.Wait();
        });
    });
    cells.Verify();
    return cost;
}

double ResidentWith(uint32_t count) {
    double bytes = 0;
    BoostFiber::Run(1, [&] {
        const Blocked blocked(count);
        bytes = ResidentBytes();
    });
    return bytes;
}

double BytesPerFiber() {
    ResidentWith(8);
    return (ResidentWith(1008) - ResidentWith(8)) / 1000;
}

// Threads whose fibers take tasks out of a channel. The manual describes this under "Running with
// worker threads". The numbers of fibers and of channel places are the same.
class ChannelWorkers {
public:
    using Task = std::function<void()>;

    explicit ChannelWorkers(uint32_t workers) {
        for (uint32_t i = 0; i < workers; ++i) {
            m_threads.emplace_back([this] {
                for (int fiber = 0; fiber < 10; ++fiber)
                    fibers::fiber([this] { RunUntilClosed(); }).detach();
                RunUntilClosed();
            });
        }
    }
    ~ChannelWorkers() {
        m_tasks.close();
        for (std::thread &thread : m_threads) thread.join();
    }

    void Add(Task task) { m_tasks.push(std::move(task)); }

private:
    void RunUntilClosed() {
        Task task;
        while (m_tasks.pop(task) == fibers::channel_op_status::success) task();
    }

    fibers::buffered_channel<Task> m_tasks{1024};
    std::vector<std::thread> m_threads;
};

// A countdown for which a thread without fibers can wait.
class Countdown {
public:
    explicit Countdown(uint32_t count) : m_count(count) {}
    void Decrement() {
        if (m_count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        std::lock_guard<std::mutex> lock(m_mutex);
        m_isZero = true;
        m_changed.notify_one();
    }
    void Wait() {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_changed.wait(lock, [this] { return m_isZero; });
    }

private:
    std::atomic<uint32_t> m_count;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    bool m_isZero = false;
};

double External(uint32_t workers, uint32_t threads) {
    ChannelWorkers running(workers);
    return ExternalCost(threads, [&](Cells &cells) {
        Countdown countdown(cells.Count());
        for (uint32_t i = 0; i < cells.Count(); ++i) {
            running.Add([cell = cells.At(i), &countdown] {
                WriteCell(cell);
                countdown.Decrement();
            });
        }
        countdown.Wait();
    });
}

// As the row of weft: waits beside a fiber that works for one millisecond at a time.
Quantiles WaitUntil() {
    Quantiles late{};
    BoostFiber::Run(1, [&] {
        bool isOver = false;
        fibers::fiber load([&] {
            while (!isOver) {
                Spin(1e6);
                boost::this_fiber::yield();
            }
        });
        late = TimedWaitsLate(
            [](Clock::time_point deadline) { boost::this_fiber::sleep_until(deadline); });
        isOver = true;
        load.join();
    });
    return InMicroseconds(late);
}

}  // namespace

void AddBoostFiberRows(std::vector<Row> &rows, uint32_t workers) {
    using All = Workloads<BoostFiber>;
    const auto add = [&](const std::string &workload, auto measure) {
        rows.push_back({workload, BoostFiber::kName, workers, "ns", measure, {}});
    };
    AddExternalRows(rows, BoostFiber::kName, workers, External);
    if (workers != 1) return;
    for (uint32_t count : {1u, 8u, 64u, 1000u}) {
        add("bulk_" + std::to_string(count), [=] { return All::Bulk(workers, count); });
    }
    AddFrameRows<BoostFiber>(rows, workers);
    add("hand_over", [] { return HandOver(1); });
    add("1000_beside_1000_blocked", [] { return BesideBlocked(1); });
    rows.push_back({"bytes_per_fiber", BoostFiber::kName, 1, "bytes", BytesPerFiber, {}});
    AddQuantiles(rows, "sleep_late", BoostFiber::kName, 1, [] {
        Quantiles late{};
        BoostFiber::Run(1, [&] {
            late =
                SleepLate([](Clock::duration duration) { boost::this_fiber::sleep_for(duration); });
        });
        return late;
    });
    AddQuantiles(rows, "loaded_wait_until", BoostFiber::kName, 1, WaitUntil, "us");
}

}  // namespace bench

#else

namespace bench {
void AddBoostFiberRows(std::vector<Row> &, uint32_t) {}
}  // namespace bench

#endif
