// WorkerLocal, FiberLocal, and exceptions that are thrown again.
#include "fuzz/script.h"
#include "fuzz/shared.h"
#include "weft/data/exception_collector.h"

#include <functional>
#include <vector>

namespace fuzz {

using namespace weft;

void Script::UseLocals() {
    const uint32_t count = m_bytes.Below(8);
    Shared &shared = *m_world.shared;
    uint64_t *const mine = shared.hits.Get();
    Require((mine == nullptr) == (m_caller == Caller::External), "WorkerLocal of this thread");
    const auto hit = [](TaskScheduler *scheduler, void *cell) {
        Shared &of = *static_cast<Shared *>(static_cast<Cell *>(cell)->target);
        ++*of.hits.Get();
        of.allHits.fetch_add(1);
        Leaf(scheduler, cell);
    };
    if (mine != nullptr) {
        *mine += count;
        shared.allHits.fetch_add(count);
    }
    AddHelpers(count, hit, &shared, SomeCounter());
}

void Script::Rethrow() {
    const uint32_t count = m_bytes.Below(6), failing = m_bytes.Next();
    Cell *cells = m_mayWait ? m_world.NewCells(count) : nullptr;
    if (cells == nullptr) return;
    ExceptionCollector failures;
    Counter counter;
    uint32_t expected = 0;
    std::vector<std::function<void(TaskScheduler *)>> tasks;
    for (uint32_t i = 0; i < count; ++i) {
        const bool fails = (failing >> i & 1) != 0;
        expected += fails ? 1 : 0;
        cells[i].accepted = true;
        tasks.push_back(failures.Wrap([cell = &cells[i], fails](TaskScheduler *scheduler) {
            Leaf(scheduler, cell);
            if (fails) throw cell;
        }));
    }
    for (auto &task : tasks) m_scheduler.AddTask(MakeTask(task), &counter);
    const Cell *thrown = nullptr;
    try {
        WaitAndRethrow(m_scheduler, &counter, failures);
    } catch (Cell *of) {
        thrown = of;
    }
    Require(failures.Count() == expected && (thrown != nullptr) == (expected != 0),
            "exceptions that were kept");
    Require(thrown == nullptr || (failing >> (thrown - cells) & 1) != 0,
            "an exception that nobody threw");
}

}  // namespace fuzz
