// Boost.Fiber: a fiber for each task, posted and joined, on pooled stacks (the library's manual, and its skynet example).
// Every task has a stack from its submission on, so the rows with tens of thousands of tasks at once are left to the
// others. One worker only: its work-stealing scheduler (Boost 1.81) crashed here in every row with two.
#include "argument_batch.h"
#include "workloads.h"

#if __has_include(<boost/fiber/all.hpp>)

#include <boost/fiber/all.hpp>

namespace bench {

namespace {

namespace fibers = boost::fibers;

struct BoostFiber : PlainSystem {
    static constexpr const char *kName = "boost_fiber";

    template <class Body>
    static void Run(uint32_t, Body body) {
        std::thread(body).join();  // a scheduler lives as long as its thread
    }

    class Group {
    public:
        explicit Group(Context = nullptr) {}
        void Add(Function function, void *arg) {
            static fibers::pooled_fixedsize_stack stacks(64 << 10);
            m_fibers.emplace_back(fibers::launch::post, std::allocator_arg, stacks, [=] { function(nullptr, arg); });
        }
        void AddTwo(Function function, void *first, void *second) {
            Add(function, first);
            Add(function, second);
        }
        void AddAll(const Batch &batch) {
            for (void *arg : batch.args) Add(batch.function, arg);
        }
        void Wait() {
            for (fibers::fiber &fiber : m_fibers) fiber.join();
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

// As weft's row: two fibers that pass a turn to each other.
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

}  // namespace

void AddBoostFiberRows(std::vector<Row> &rows, uint32_t workers) {
    using All = Workloads<BoostFiber>;
    const auto add = [&](const std::string &workload, auto measure) {
        rows.push_back({workload, BoostFiber::kName, workers, "ns", measure, {}});
    };
    if (workers != 1) return;
    for (uint32_t count : {1u, 8u, 64u, 1000u}) {
        add("bulk_" + std::to_string(count), [=] { return All::Bulk(workers, count); });
    }
    add("hand_over", [] { return HandOver(1); });
}

}  // namespace bench

#else

namespace bench {
void AddBoostFiberRows(std::vector<Row> &, uint32_t) {}
}  // namespace bench

#endif
