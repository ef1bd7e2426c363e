// The rows of OpenMP (libgomp): `omp task` for each task and `omp taskwait`, from a `single` inside
// a `parallel` region, as in the specification's examples. With one thread, libgomp runs a task
// where it is submitted. There are no rows of external threads, because a thread outside of the
// region cannot submit to its team.
#include "argument_batch.h"
#include "staged_frame.h"
#include "workloads.h"

#if defined(_OPENMP)

namespace bench {

namespace {

struct OpenMp : PlainSystem {
    static constexpr const char *kName = "openmp";

    template <class Body>
    static void Run(uint32_t workers, Body body) {
#pragma omp parallel num_threads(static_cast <int>(workers))
#pragma omp single
        body();
    }

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
        // Waits only for the children of the calling task. So a task that adds to the group of
        // another task waits for its children itself.
        void Wait() {
#pragma omp taskwait
        }
    };
    static constexpr bool kWaitsForOwnChildrenOnly = true;

    // Returns when all descendants of body's tasks have ended.
    template <class Body>
    static void RunWithDescendants(Body body) {
#pragma omp taskgroup
        body();
    }

    static void Both(Context, Function function, void *first, void *second) {
        Group group;
        group.Add(function, second);
        function(nullptr, first);
        group.Wait();
    }
};

}  // namespace

void AddOpenMpRows(std::vector<Row> &rows, uint32_t workers) {
    const char *name = workers == 1 ? "openmp_inlined" : "openmp";
    AddWorkloads<OpenMp>(rows, workers, name);
    AddFrameRows<OpenMp>(rows, workers, name);
}

}  // namespace bench

#else

namespace bench {
void AddOpenMpRows(std::vector<Row> &, uint32_t) {}
}  // namespace bench

#endif
