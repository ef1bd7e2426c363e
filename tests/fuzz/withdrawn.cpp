// Deferred tasks that are withdrawn, and tasks that run again and again until they are cancelled.
#include "fuzz/script.h"
#include "weft/deferred.h"
#include "weft/periodic_task.h"

namespace fuzz {

using namespace weft;

namespace {

constexpr std::chrono::hours kForEver{10};

void Lowering(TaskScheduler *scheduler, void *cell) {
    Leaf(scheduler, cell);
    scheduler->DecrementCounter(static_cast<Counter *>(static_cast<Cell *>(cell)->target));
}

// The task of a PeriodicTask. Its last run ends the PeriodicTask.
struct Repeated {
    PeriodicTask *periodic;
    uint32_t last;
    bool throws;
    std::atomic<uint32_t> runs{0}, inside{0};

    static void Run(TaskScheduler *scheduler, void *arg) {
        Repeated &self = *static_cast<Repeated *>(arg);
        Require(self.inside.fetch_add(1) == 0, "two runs of a periodic task at a time");
        const uint32_t run = self.runs.fetch_add(1) + 1;
        Require(run <= self.last, "a periodic task ran after it was cancelled");
        if (run % 2 == 0) scheduler->Yield();
        self.inside.fetch_sub(1);
        if (run != self.last) return;
        if (self.throws) throw run;
        self.periodic->Cancel();
    }
};

}  // namespace

// Batches that wait for a gate or for a time. Some are withdrawn, perhaps while the gate opens.
void Script::WithdrawTasks() {
    constexpr uint32_t kMost = 8, kBatch = 3;
    const uint32_t count = 1 + m_bytes.Below(kMost), withdrawn = m_bytes.Next(),
                   kinds = m_bytes.Next();
    const bool races = m_bytes.Below(2) != 0;
    const TaskOptions options = Options();
    Cell *cells = m_mayWait ? m_world.NewCells(count * kBatch) : nullptr;
    if (cells == nullptr) return;
    DeferredHandle handles[kMost];
    Counter gate(1), done;
    for (uint32_t i = 0; i < count * kBatch; ++i) Accept(cells[i], options);
    for (uint32_t i = 0; i < count; ++i) {
        Cell *const own = cells + i * kBatch;
        const Task tasks[kBatch] = {{Leaf, own}, {Leaf, own + 1}, {Leaf, own + 2}};
        if ((kinds >> i & 1) == 0) {
            AddTasksAfter(m_scheduler, &gate, 0, kBatch, tasks, &done, options, &handles[i]);
        } else {
            own[1].accepted = own[2].accepted = false;
            const bool never = (withdrawn >> i & 1) != 0 && i % 2 == 0;
            AddTaskAt(m_scheduler, never ? Now() + kForEver : Soon(), tasks[0], &done, options,
                      &handles[i]);
        }
    }
    if (races && AddHelpers(1, Lowering, &gate, &done) == nullptr)
        m_scheduler.DecrementCounter(&gate);
    for (uint32_t i = 0; i < count; ++i) {
        if ((withdrawn >> i & 1) == 0) continue;
        const bool isTimed = (kinds >> i & 1) != 0, isExact = isTimed ? i % 2 == 0 : !races;
        const bool inTime = Withdraw(m_scheduler, handles[i]);
        Require(inTime || !isExact, "tasks that wait were not withdrawn");
        Require(!Withdraw(m_scheduler, handles[i]), "tasks were withdrawn twice");
        Cell *const own = cells + i * kBatch;
        for (uint32_t task = 0; inTime && task < kBatch; ++task) own[task].accepted = false;
    }
    if (!races) m_scheduler.DecrementCounter(&gate);
    m_scheduler.WaitForCounter(&done);
    for (uint32_t i = 0; i < count * kBatch; ++i)
        Require(cells[i].ran.load() == (cells[i].accepted ? 1 : 0),
                "a withdrawn task has run, or another one has not");
    for (const DeferredHandle &handle : handles)
        Require(!Withdraw(m_scheduler, handle), "tasks that have ended were withdrawn");
}

void Script::RepeatTask() {
    const uint32_t kind = m_bytes.Below(4), last = 1 + m_bytes.Below(4);
    const Clock::duration period = std::chrono::microseconds(1 + m_bytes.Next());
    const TaskOptions options = Options();
    if (!m_mayWait) return;
    Repeated repeated{nullptr, kind < 2 ? last : 0, kind == 1};
    {
        PeriodicTask periodic(m_scheduler, period, {Repeated::Run, &repeated}, options);
        repeated.periodic = &periodic;
        Require(periodic.Start(kind < 2 ? Soon() : Now() + kForEver), "a periodic task is refused");
        // Otherwise its end cancels it.
        if (kind == 2) periodic.Cancel();
        if (kind != 3) {
            const GroupResult result = periodic.Wait();
            Require(result == (kind == 1 ? GroupResult::Failed : GroupResult::Cancelled) &&
                        (periodic.FirstException() != nullptr) == (kind == 1),
                    "how a periodic task has ended");
            Require(periodic.RunCount() == repeated.last, "the number of runs");
        }
    }
    Require(repeated.runs.load() == repeated.last, "how often a periodic task ran");
}

void Script::MistakeInWithdrawn() {
    const uint32_t kind = m_bytes.Below(6);
    Oracle &oracle = m_world.oracle;
    Repeated never{nullptr, 0, false};
    if (kind == 0) {
        const DeferredHandle handle{m_bytes.Next(), m_bytes.Next(), m_bytes.Next()};
        return oracle.Expect(ReportCode::NotRunning, [&] {
            Require(!Withdraw(*m_world.idle, handle), "one that does not run withdraws tasks");
        });
    }
    const bool isIdle = kind == 1;
    const Clock::duration period = std::chrono::microseconds(kind == 2 ? 0 : kind == 3 ? -5 : 5);
    TaskOptions options;
    TaskGroup group(m_scheduler);
    if (kind == 4) options.taskGroup = &group;
    PeriodicTask periodic(isIdle ? *m_world.idle : m_scheduler, period, {Repeated::Run, &never},
                          options);
    if (kind == 5) {
        if (!m_mayWait) return;
        Require(periodic.Start(Now() + kForEver), "a periodic task is refused");
    }
    oracle.Expect(isIdle ? ReportCode::NotRunning : ReportCode::BadOption,
                  [&] { Require(!periodic.Start(), "a wrong Start of a periodic task"); });
    Require(periodic.RunCount() == 0 && group.IsZero(), "a wrong Start has an effect");
}

}  // namespace fuzz
