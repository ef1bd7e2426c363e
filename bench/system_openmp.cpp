// OpenMP (libgomp): `omp task` for each task and `omp taskwait`, from a `single` inside a `parallel` region, as in the
// specification's tasking examples. With one thread libgomp runs a task where it is submitted.
#include "workloads.h"

#if defined(_OPENMP)

namespace bench {

namespace {

struct OpenMp {
    static constexpr const char *kName = "openmp";
    using Context = void *;
    using Function = void (*)(void *, void *);

    static Context Current() { return nullptr; }

    template <class Body>
    static void Run(uint32_t workers, Body body) {
#pragma omp parallel num_threads(static_cast <int>(workers))
#pragma omp single
        body();
    }

    class Batch {
    public:
        Batch(Function body, Cells &cells) : function(body) {
            for (uint32_t i = 0; i < cells.Count(); ++i) args.push_back(cells.At(i));
        }
        template <class Item>
        Batch(Function body, std::vector<Item> &items) : function(body) {
            for (Item &item : items) args.push_back(&item);
        }
        Function function;
        std::vector<void *> args;
    };

    class Group {
    public:
        explicit Group(Context = nullptr) {}
        void Add(Function function, void *arg) {
#pragma omp task firstprivate(function, arg)
            function(nullptr, arg);
        }
        void AddTwo(Function function, void *first, void *second) {
            Add(function, first);
            Add(function, second);
        }
        void AddAll(const Batch &batch) {
            for (void *arg : batch.args) Add(batch.function, arg);
        }
        // Waits for the calling task's own children; so a task that adds to another's group waits for them itself.
        void Wait() {
#pragma omp taskwait
        }
    };
    static constexpr bool kWaitsForOwnChildrenOnly = true;

    static void Both(Context, Function function, void *first, void *second) {
        Group group;
        group.Add(function, second);
        function(nullptr, first);
        group.Wait();
    }
};

}  // namespace

void AddOpenMpRows(std::vector<Row> &rows, uint32_t workers) {
    AddWorkloads<OpenMp>(rows, workers, workers == 1 ? "openmp_inlined" : "openmp");
}

}  // namespace bench

#else

namespace bench {
void AddOpenMpRows(std::vector<Row> &, uint32_t) {}
}  // namespace bench

#endif
