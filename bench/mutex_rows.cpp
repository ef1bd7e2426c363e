// Rows that compare weft::Mutex with std::mutex: the cost to lock it, add one to a number, and
// unlock it.
#include "bodies.h"

#include <weft/sync/mutex.h>
#include <weft/task_scheduler.h>

#include <mutex>
#include <type_traits>

namespace bench {

namespace {

constexpr uint32_t kTimes = 200000;

template <class Mutex>
struct Sum {
    Mutex &mutex;
    uint32_t times;
    uint64_t sum = 0;

    void Add() {
        for (uint32_t i = 0; i < times; ++i) {
            const std::lock_guard<Mutex> lock(mutex);
            ++sum;
        }
    }
    void Verify(uint64_t expected) const {
        if (sum != expected) Wrong("a mutex lets two in");
    }
};

template <class Mutex>
void RunSum(weft::TaskScheduler *, void *sum) {
    static_cast<Sum<Mutex> *>(sum)->Add();
}

// Calls measure(scheduler, mutex) between Start and Stop.
template <class Mutex, class Measure>
double With(uint32_t workers, Measure measure) {
    weft::SchedulerOptions options;
    options.workers = workers;
    weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok) Wrong("Start");
    double cost = 0;
    if constexpr (std::is_same_v<Mutex, std::mutex>) {
        std::mutex mutex;
        cost = measure(scheduler, mutex);
    } else {
        Mutex mutex(scheduler);
        cost = measure(scheduler, mutex);
    }
    scheduler.Stop();
    return cost;
}

template <class Mutex>
double Alone() {
    return With<Mutex>(1, [](weft::TaskScheduler &, Mutex &mutex) {
        Sum<Mutex> sum{mutex, kTimes};
        const Clock::time_point begin = Clock::now();
        sum.Add();
        const double cost = Since(begin) / kTimes;
        sum.Verify(kTimes);
        return cost;
    });
}

// `tasks` tasks lock the mutex at the same time.
template <class Mutex>
double Tasks(uint32_t workers, uint32_t tasks) {
    return With<Mutex>(workers, [=](weft::TaskScheduler &scheduler, Mutex &mutex) {
        Sum<Mutex> sum{mutex, kTimes / tasks};
        const std::vector<weft::Task> batch(tasks, {RunSum<Mutex>, &sum});
        const Clock::time_point begin = Clock::now();
        scheduler.AddTasksAndWait(tasks, batch.data());
        const double cost = Since(begin) / kTimes;
        sum.Verify(kTimes / tasks * tasks);
        return cost;
    });
}

// Two external threads lock the mutex at the same time.
template <class Mutex>
double Threads() {
    return With<Mutex>(1, [](weft::TaskScheduler &, Mutex &mutex) {
        Sum<Mutex> sum{mutex, kTimes / 2};
        const Clock::time_point begin = Clock::now();
        std::thread other([&] { sum.Add(); });
        sum.Add();
        other.join();
        const double cost = Since(begin) / kTimes;
        sum.Verify(kTimes);
        return cost;
    });
}

template <class Mutex>
void AddRows(std::vector<Row> &rows, const std::string &system) {
    const auto add = [&](const std::string &workload, uint32_t workers, auto measure) {
        rows.push_back({workload, system, workers, "ns", measure, {}});
    };
    add("mutex_alone", 1, Alone<Mutex>);
    for (uint32_t workers : {1u, 2u})
        add("mutex_8_tasks", workers, [=] { return Tasks<Mutex>(workers, 8); });
    add("mutex_2_threads", 1, Threads<Mutex>);
}

}  // namespace

void AddMutexRows(std::vector<Row> &rows) {
    AddRows<weft::Mutex>(rows, "weft");
    AddRows<std::mutex>(rows, "std_mutex");
}

}  // namespace bench
