// weft through its C interface (weft/weft.h), beside the rows of weft. All options but the number
// of workers are the defaults.
#include "workloads.h"

#include <weft/weft.h>

namespace bench {

namespace {

struct WeftFromC {
    static constexpr const char *kName = "weft_c";
    using Context = weft_scheduler *;
    using Function = weft_task_function;

    static inline weft_scheduler *s_running = nullptr;
    static Context Current() { return s_running; }

    template <class Body>
    static void Run(uint32_t workers, Body body) {
        weft_options options;
        weft_options_init(&options, sizeof options);
        options.workers = workers;
        s_running = weft_create(&options);
        if (s_running == nullptr) Wrong("weft_create");
        const auto main = [](weft_scheduler *, void *arg) { (*static_cast<Body *>(arg))(); };
        if (weft_run(s_running, main, &body, nullptr) != WEFT_STATUS_OK) Wrong("weft_run");
        weft_destroy(s_running);
    }

    class Batch {
    public:
        Batch(Function function, Cells &cells) {
            for (uint32_t i = 0; i < cells.Count(); ++i) m_tasks.push_back({function, cells.At(i)});
        }
        uint32_t Count() const { return static_cast<uint32_t>(m_tasks.size()); }
        const weft_task *Tasks() const { return m_tasks.data(); }

    private:
        std::vector<weft_task> m_tasks;
    };

    class Group {
    public:
        explicit Group(Context scheduler = s_running) : m_scheduler(scheduler) {}
        void Add(Function function, void *arg) {
            weft_add_task(m_scheduler, function, arg, &m_counter, nullptr);
        }
        void AddTwo(Function function, void *first, void *second) {
            const weft_task tasks[2] = {{function, first}, {function, second}};
            weft_add_tasks(m_scheduler, 2, tasks, &m_counter, nullptr);
        }
        void AddAll(const Batch &batch) {
            weft_add_tasks(m_scheduler, batch.Count(), batch.Tasks(), &m_counter, nullptr);
        }
        void Wait() { weft_wait_for_counter(m_scheduler, &m_counter, 0); }

    private:
        Context m_scheduler;
        weft_counter m_counter = WEFT_COUNTER_INIT;
    };

    static void Both(Context scheduler, Function function, void *first, void *second) {
        const weft_task tasks[2] = {{function, first}, {function, second}};
        weft_add_tasks_and_wait(scheduler, 2, tasks, nullptr);
    }
};

}  // namespace

void AddCRows(std::vector<Row> &rows, uint32_t workers) {
    using All = Workloads<WeftFromC>;
    const auto add = [&](const std::string &workload, auto measure) {
        rows.push_back({workload, WeftFromC::kName, workers, "ns", measure, {}});
    };
    for (uint32_t count : {1u, 1000u})
        add("bulk_" + std::to_string(count), [=] { return All::Bulk(workers, count); });
    add("one_by_one", [=] { return All::OneByOne(workers); });
    add("fork_join_fused", [=] { return All::ForkJoin<true>(workers); });
}

}  // namespace bench
