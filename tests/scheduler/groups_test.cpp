#include "weft/task_scheduler.h"

#include "platform/compiler.h"
#include "support/group_layouts.h"
#include "support/quiet_run.h"
#include "support/trace_log.h"
#include "weft/closure.h"
#include "weft/deferred.h"
#include "weft/time.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#if defined(WEFT_LINUX)
#include "support/thread_cpus.h"

#include <map>
#include <mutex>
#endif

#include <catch2/catch.hpp>

using namespace weft;
using test::Group;
using test::GroupLayout;
using test::GroupWitness;
using test::InGroup;

namespace {

constexpr IdlePolicy kIdlePolicies[] = {IdlePolicy::Balanced, IdlePolicy::Spin, IdlePolicy::Sleep};
constexpr test::Life kLives[] = {test::Life::Run, test::Life::Start};
constexpr Priority kPriorities[] = {Priority::High, Priority::Normal, Priority::Low};

// Each layout with many fibers and with few, and each idle policy. Spin runs only with two workers,
// because more would be slow on few CPUs.
void ForEachCase(const std::function<void(const GroupLayout &, const SchedulerOptions &)> &body) {
    for (const GroupLayout *layout : test::GroupLayouts()) {
        for (const IdlePolicy idle : kIdlePolicies) {
            if (idle == IdlePolicy::Spin && layout->Workers() > 2) continue;
            const bool few = idle != IdlePolicy::Balanced;
            const SchedulerOptions options =
                layout->Options(few ? layout->Workers() + 3 : 160, idle);
            INFO(layout->Text() << ", " << options.fibers << " fibers, idle policy "
                                << static_cast<int>(idle));
            body(*layout, options);
        }
    }
}

// Calls `body` with each kind of task, for each group, and for tasks that name none.
void ForEachKind(const GroupLayout &layout, bool withNone,
                 const std::function<void(const TaskOptions &)> &body) {
    std::vector<uint8_t> groups = layout.Groups();
    if (withNone) groups.push_back(kAnyGroup);
    for (const uint8_t group : groups) {
        for (const Priority priority : kPriorities) body(InGroup(group, priority));
    }
}

// Calls `body` with each group and each group.
void ForEachPair(const GroupLayout &layout, const std::function<void(uint32_t, uint32_t)> &body) {
    for (uint32_t from = 0; from < layout.GroupCount(); ++from) {
        for (uint32_t to = 0; to < layout.GroupCount(); ++to) body(from, to);
    }
}

// Tasks that check where they run: before and after a yield, and before and after waits for tasks
// of the same group. Only every tenth task checks more than once, so few fibers are enough.
class Visitors {
public:
    Visitors(GroupWitness &witness, uint32_t count, uint32_t group)
        : m_witness(witness),
          m_group(group),
          m_batch(count, [this](TaskScheduler &scheduler, uint32_t i) { Visit(scheduler, i); }) {}
    const Task *Tasks() const { return m_batch.Tasks(); }
    uint32_t Count() const { return m_batch.Count(); }

private:
    void Visit(TaskScheduler &scheduler, uint32_t i) {
        m_witness.See(scheduler, m_group);
        if (i % 10 == 3) {
            scheduler.Yield();
            m_witness.See(scheduler, m_group);
        }
        if (i % 30 == 7) {
            test::Batch inner(
                3, [this](TaskScheduler &inside, uint32_t) { m_witness.See(inside, m_group); });
            // They name no group, so they run in the group of this task.
            scheduler.AddTasksAndWait(3, inner.Tasks());
            m_witness.See(scheduler, m_group);
            test::AddAndWait(scheduler, inner);
            m_witness.See(scheduler, m_group);
        }
        m_witness.ran.fetch_add(1);
    }
    GroupWitness &m_witness;
    const uint32_t m_group;
    test::Batch m_batch;
};

// The ways to submit tasks. Each one returns when the tasks have finished.
enum class Way {
    AddTask,
    AddTasks,
    AddTasksAndWait,
    AddChildTasks,
    AddTaskAfter,
    AddTaskAt,
    Closure
};
constexpr Way kWays[] = {Way::AddTask,       Way::AddTasks,     Way::AddTasksAndWait,
                         Way::AddChildTasks, Way::AddTaskAfter, Way::AddTaskAt,
                         Way::Closure};

void SubmitEach(TaskScheduler &scheduler, Way way, uint32_t count, const Task *tasks,
                const TaskOptions &options) {
    Counter counter, before(1);
    for (uint32_t i = 0; i < count; ++i) {
        const Task task = tasks[i];
        if (way == Way::AddTask) scheduler.AddTask(task, &counter, options);
        if (way == Way::AddTaskAfter) AddTaskAfter(scheduler, &before, 0, task, &counter, options);
        if (way == Way::AddTaskAt) AddTaskAt(scheduler, Now(), task, &counter, options);
        if (way == Way::Closure)
            AddTask(
                scheduler, [task](TaskScheduler *inside) { task.function(inside, task.arg); },
                &counter, options);
    }
    scheduler.DecrementCounter(&before);
    scheduler.WaitForCounter(&counter);
}

void SubmitBy(TaskScheduler &scheduler, Way way, uint32_t count, const Task *tasks,
              const TaskOptions &options) {
    if (way == Way::AddTasksAndWait) return scheduler.AddTasksAndWait(count, tasks, options);
    Counter counter;
    if (way == Way::AddTasks) {
        scheduler.AddTasks(count, tasks, &counter, options);
        return scheduler.WaitForCounter(&counter);
    }
    if (way != Way::AddChildTasks) return SubmitEach(scheduler, way, count, tasks, options);
    test::Batch parent(
        1, [&](TaskScheduler &inside, uint32_t) { inside.AddChildTasks(count, tasks, options); });
    scheduler.AddTask(parent[0], &counter);
    scheduler.WaitForCounter(&counter);
}

// Submits tasks in every way. They must run only where they may.
void SubmitInAllWays(TaskScheduler &scheduler, GroupWitness &witness, uint32_t count,
                     const TaskOptions &kind) {
    Visitors visitors(witness, count, kind.group);
    for (const Way way : kWays) SubmitBy(scheduler, way, count, visitors.Tasks(), kind);
}

// The same for tasks of every kind.
void SubmitAllKinds(TaskScheduler &scheduler, GroupWitness &witness, uint32_t count) {
    ForEachKind(witness.layout, true, [&](const TaskOptions &kind) {
        // They would inherit the group of the calling task.
        if (kind.group == kAnyGroup && TaskScheduler::Current() != nullptr) return;
        SubmitInAllWays(scheduler, witness, count, kind);
    });
}

uint32_t KindsOf(const GroupLayout &layout, bool withNone) {
    uint32_t kinds = 0;
    ForEachKind(layout, withNone, [&](const TaskOptions &) { ++kinds; });
    return kinds * static_cast<uint32_t>(std::size(kWays));
}

// Tasks that meet, so each one needs a thread of its own. They must run where they may.
void MeetIn(TaskScheduler &scheduler, GroupWitness &witness, uint32_t count,
            const TaskOptions &kind, const test::RunBody &after = {}) {
    const auto see = [&](TaskScheduler &running) { witness.See(running, kind.group); };
    witness.wrong.fetch_add(test::Meet(scheduler, count, kind, see, after));
}

void CheckSeen(const GroupWitness &witness, uint32_t ran) {
    CHECK(witness.wrong.load() == 0);
    CHECK(witness.ran.load() == ran);
}

}  // namespace

TEST_CASE("groups: batches of a thousand run only in the group that they name", "[groups]") {
    ForEachCase([](const GroupLayout &layout, const SchedulerOptions &options) {
        GroupWitness witness(layout);
        uint32_t kinds = 0;
        test::RunMayStall(options, [&](TaskScheduler &scheduler) {
            ForEachKind(layout, false, [&](const TaskOptions &kind) {
                ++kinds;
                Visitors visitors(witness, 1000, kind.group);
                SubmitBy(scheduler, kinds % 2 == 0 ? Way::AddTasks : Way::AddTasksAndWait, 1000,
                         visitors.Tasks(), kind);
            });
        });
        CheckSeen(witness, 1000 * kinds);
    });
}

TEST_CASE("groups: tasks of all kinds run in their group, submitted by all groups at once",
          "[groups]") {
    for (const GroupLayout *layout : test::GroupLayouts()) {
        INFO(layout->Text());
        GroupWitness witness(*layout);
        test::Batch submitters(2 * layout->GroupCount(), [&](TaskScheduler &scheduler, uint32_t i) {
            for (int round = 0; round < 3; ++round) SubmitAllKinds(scheduler, witness, 3);
            witness.See(scheduler, i / 2);
        });
        test::RunMayStall(layout->Options(), [&](TaskScheduler &scheduler) {
            Counter counter;
            for (uint32_t i = 0; i < submitters.Count(); ++i)
                scheduler.AddTask(submitters[i], &counter, InGroup(i / 2));
            scheduler.WaitForCounter(&counter);
        });
        CheckSeen(witness, 3 * 3 * submitters.Count() * KindsOf(*layout, false));
    }
}

TEST_CASE("groups: tasks of all kinds run in their group, submitted by an external thread",
          "[groups]") {
    ForEachCase([](const GroupLayout &layout, const SchedulerOptions &options) {
        for (const test::Life life : kLives) {
            GroupWitness witness(layout);
            test::HostMayStall(options, life, [&](TaskScheduler &scheduler) {
                SubmitAllKinds(scheduler, witness, 8);
            });
            CheckSeen(witness, 8 * KindsOf(layout, true));
        }
    });
}

// While the attached thread waits, it runs tasks itself, but only tasks of no group.
TEST_CASE("groups: an attached thread runs only tasks of no group", "[groups]") {
    ForEachCase([](const GroupLayout &layout, const SchedulerOptions &options) {
        GroupWitness witness(layout);
        test::HostMayStall(options, [&](TaskScheduler &scheduler) {
            REQUIRE(scheduler.AttachThread() == Status::Ok);
            ForEachKind(layout, true, [&](const TaskOptions &kind) {
                SubmitInAllWays(scheduler, witness, 8, kind);
            });
            // There is one task more than there are workers that may run them. The tasks can meet
            // only if the attached thread runs one.
            MeetIn(scheduler, witness, layout.WorkersIn(layout.Open()) + 1, {});
            scheduler.DetachThread();
        });
        CheckSeen(witness, 8 * KindsOf(layout, true));
    });
}

// There is one task more than there are workers that may run them.
TEST_CASE("groups: an attached thread runs Low tasks of no group, whichever groups have runsLow",
          "[groups]") {
    for (const GroupLayout *each : test::GroupLayouts()) {
        for (uint32_t low = 0; low < 1u << each->GroupCount(); ++low) {
            const GroupLayout layout(*each, low);
            INFO(layout.Text());
            test::HostMayStall(layout.Options(), [&](TaskScheduler &scheduler) {
                REQUIRE(scheduler.AttachThread() == Status::Ok);
                const uint32_t count = layout.WorkersIn(low != 0 ? low : layout.Open()) + 1;
                CHECK(test::Meet(scheduler, count, test::kLow) == 0);
                scheduler.DetachThread();
            });
        }
    }
}

// There are as many tasks as the group has workers. The tasks meet, so each worker of the group
// must be woken.
TEST_CASE("groups: all workers of a group run its tasks at once", "[groups]") {
    ForEachCase([](const GroupLayout &layout, const SchedulerOptions &options) {
        for (const test::Life life : kLives) {
            GroupWitness witness(layout);
            test::HostMayStall(options, life, [&](TaskScheduler &scheduler) {
                ForEachKind(layout, false, [&](const TaskOptions &kind) {
                    MeetIn(scheduler, witness, layout.WorkersOf(kind.group), kind);
                });
            });
            CHECK(witness.wrong.load() == 0);
        }
    });
}

// Groups with workers on both sides of index 64, and the largest number of groups.
TEST_CASE("groups: all workers of each group are woken, with many workers or groups", "[groups]") {
    const std::vector<WorkerGroup> many{Group(60), Group(6), Group(3)};
    std::vector<WorkerGroup> most(8, Group(1));
    most[7].workers = 2;
    for (const std::vector<WorkerGroup> &groups : {many, most}) {
        const GroupLayout layout(groups);
        INFO(layout.Text());
        GroupWitness witness(layout);
        const SchedulerOptions options = layout.Options(layout.Workers() + 16, IdlePolicy::Sleep);
        test::HostMayStall(options, [&](TaskScheduler &scheduler) {
            for (uint32_t group = layout.GroupCount(); group-- != 0;) {
                for (const Priority priority : kPriorities) {
                    MeetIn(scheduler, witness, layout.WorkersOf(group), InGroup(group, priority),
                           [&](TaskScheduler &running) {
                               running.Yield();
                               witness.See(running, group);
                           });
                }
            }
        });
        CHECK(witness.wrong.load() == 0);
    }
}

// Fibers become ready. A worker of their group, a worker of another group or an external thread
// wakes them.
TEST_CASE("groups: tasks that wait continue in their group, also when woken from outside",
          "[groups]") {
    ForEachCase([](const GroupLayout &layout, const SchedulerOptions &options) {
        if (options.fibers < 128) return;
        GroupWitness witness(layout);
        bool met = true;
        test::HostMayStall(options, [&](TaskScheduler &scheduler) {
            for (const uint8_t group : layout.Groups()) {
                for (uint32_t waker = 0; waker <= layout.GroupCount(); ++waker) {
                    Counter gate(1), counter;
                    std::atomic<uint32_t> waiting{0};
                    test::Batch waiters(12, [&](TaskScheduler &running, uint32_t i) {
                        waiting.fetch_add(1);
                        const uint32_t before = running.CurrentWorker();
                        running.WaitForCounter(
                            &gate, 0, i % 4 == 1 ? ResumeOn::SameWorker : ResumeOn::AnyWorker);
                        witness.See(running, group);
                        if (i % 4 == 1) witness.wrong.fetch_add(running.CurrentWorker() != before);
                        if (i % 4 == 2) SleepFor(running, std::chrono::microseconds(1));
                        running.Yield();
                        witness.See(running, group);
                        witness.ran.fetch_add(1);
                    });
                    for (uint32_t i = 0; i < 12; ++i)
                        scheduler.AddTask(waiters[i], &counter, InGroup(group, kPriorities[i % 3]));
                    met = met && test::SpinUntil([&] { return waiting.load() == 12; });
                    test::Batch opener = test::Lowers(gate);
                    if (waker == layout.GroupCount())
                        scheduler.DecrementCounter(&gate);
                    else
                        scheduler.AddTask(opener[0], &counter, InGroup(waker));
                    scheduler.WaitForCounter(&counter);
                }
            }
        });
        CHECK(met);
        CheckSeen(witness, 12 * layout.GroupCount() * (layout.GroupCount() + 1));
    });
}

TEST_CASE("groups: tasks of no group run in all groups except namedOnly ones", "[groups]") {
    ForEachCase([](const GroupLayout &layout, const SchedulerOptions &options) {
        GroupWitness witness(layout);
        test::HostMayStall(options, [&](TaskScheduler &scheduler) {
            for (const Priority priority : kPriorities) {
                Visitors visitors(witness, 300, kAnyGroup);
                const TaskOptions kind = InGroup(kAnyGroup, priority);
                scheduler.AddTasksAndWait(300, visitors.Tasks(), kind);
                MeetIn(scheduler, witness, layout.WorkersIn(layout.Open()), kind);
            }
        });
        CheckSeen(witness, 900);
    });
}

TEST_CASE("groups: Low tasks of no group run in groups with runsLow, and SetRunsLow changes them",
          "[groups]") {
    ForEachCase([](const GroupLayout &given, SchedulerOptions options) {
        const uint32_t all = (1u << given.GroupCount()) - 1;
        for (uint32_t first = 0; first <= all; ++first) {
            const GroupLayout layout(given, first);
            layout.AddTo(options);
            GroupWitness witness(layout);
            uint32_t asked = 0;
            test::HostMayStall(options, [&](TaskScheduler &scheduler) {
                for (uint32_t step = 0; step < 4; ++step) {
                    const uint32_t low = (first + step) & all;
                    if (step != 0) test::SetRunsLow(scheduler, layout, low);
                    const uint32_t expected = low != 0 ? low : layout.Open();
                    const auto see = [&](TaskScheduler &its) { witness.SeeIn(its, expected); };
                    witness.wrong.fetch_add(
                        test::Meet(scheduler, layout.WorkersIn(expected), test::kLow, see));
                    test::Batch low20(20, [&](TaskScheduler &running, uint32_t i) {
                        see(running);
                        if (i % 5 == 2) running.Yield();
                        see(running);
                    });
                    scheduler.AddTasksAndWait(20, low20.Tasks(), test::kLow);
                    Visitors normal(witness, 20, kAnyGroup);  // not Low, so not affected
                    scheduler.AddTasksAndWait(20, normal.Tasks());
                    ++asked;
                }
            });
            CheckSeen(witness, 20 * asked);
        }
    });
}

// A task that waits for the Low task raises it. A raised task must go where Low tasks run, too. Its
// worker notices the change at the latest in the first wait.
TEST_CASE("groups: SetRunsLow applies to a Low task that was raised, after its next waits",
          "[groups]") {
    const GroupLayout layout({Group(1), Group(1)});
    uint32_t wrong = 0;
    test::RunQuietly(layout.Options(), [&](TaskScheduler &scheduler) {
        const auto waits = [](TaskScheduler &running) {
            Counter gate(1), over;
            test::Batch opens = test::Lowers(gate);
            running.AddTask(opens[0], &over, InGroup(0));
            running.WaitForCounter(&gate);
            running.WaitForCounter(&over);
        };
        for (uint32_t round = 0; round < 30; ++round) {
            Counter ran;
            std::atomic<bool> hasBegun{false};
            test::Batch raised(1, [&](TaskScheduler &running, uint32_t) {
                hasBegun.store(true);
                waits(running);
                running.SetRunsLow(1, true);
                for (int i = 0; i < 3; ++i) waits(running);
                wrong += running.CurrentWorker() != 1;
            });
            scheduler.AddTask(raised[0], &ran, test::kLow);
            // A task that has not begun would become a Normal one.
            while (!hasBegun.load()) scheduler.Yield();
            // With a deadline, so that the task does not run on top of this one.
            wrong += !WaitForCounterFor(scheduler, &ran, std::chrono::hours(1));
            scheduler.SetRunsLow(1, false);
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("groups: SetRunsLow applies to queued Low tasks, except those that name a group",
          "[groups]") {
    for (const IdlePolicy idle : kIdlePolicies) {
        const GroupLayout layout(*test::GroupLayouts()[2], 2);  // 1, 1 (named only), 2
        GroupWitness witness(layout);
        std::atomic<uint32_t> ran{0}, moved{0};
        std::atomic<bool> isHeld{false}, isFree{false};
        bool met = false;
        test::RunQuietly(layout.Options(160, idle), [&](TaskScheduler &scheduler) {
            // The only worker of group 1 is busy, so all Low tasks wait in queues.
            test::Batch holder(1, [&](TaskScheduler &, uint32_t) {
                isHeld.store(true);
                witness.wrong.fetch_add(!test::SpinUntil([&] { return isFree.load(); }));
            });
            test::Batch low(40, [&](TaskScheduler &running, uint32_t) {
                moved.fetch_add(layout.GroupOf(running.CurrentWorker()) == 2);
                ran.fetch_add(1);
            });
            Visitors named(witness, 40, 1);
            Counter counter, lowCounter;
            scheduler.AddTask(holder[0], &counter, InGroup(1));
            met = test::YieldUntil(scheduler, [&] { return isHeld.load(); });
            scheduler.AddTasks(40, low.Tasks(), &lowCounter, test::kLow);
            scheduler.AddTasks(40, named.Tasks(), &counter, InGroup(1, Priority::Low));
            witness.wrong.fetch_add(ran.load());  // no task has run yet
            scheduler.SetRunsLow(2, true);
            scheduler.SetRunsLow(1, false);
            scheduler.WaitForCounter(&lowCounter);
            isFree.store(true);
            scheduler.WaitForCounter(&counter);
        });
        CHECK(met);
        CHECK(ran.load() == 40);
        CHECK(moved.load() == 40);
        CheckSeen(witness, 40);
    }
}

TEST_CASE("groups: submitted tasks inherit the group of their submitter, in several generations",
          "[groups]") {
    ForEachCase([](const GroupLayout &layout, const SchedulerOptions &options) {
        GroupWitness witness(layout);
        test::RunMayStall(options, [&](TaskScheduler &scheduler) {
            for (const uint8_t group : layout.Groups()) {
                for (const Way way : kWays) {
                    test::Batch grandchildren(3, [&](TaskScheduler &running, uint32_t) {
                        witness.See(running, group);
                        witness.ran.fetch_add(1);
                    });
                    test::Batch children(2, [&](TaskScheduler &running, uint32_t i) {
                        witness.See(running, group);
                        const TaskOptions none = InGroup(kAnyGroup, kPriorities[i]);
                        i == 0 ? SubmitBy(running, way, 3, grandchildren.Tasks(), none)
                               : running.AddTasks(3, grandchildren.Tasks(), nullptr, none);
                        witness.See(running, group);
                    });
                    test::Batch parent(1, [&](TaskScheduler &running, uint32_t) {
                        SubmitBy(running, way, 2, children.Tasks(),
                                 InGroup(kAnyGroup, Priority::Low));
                        witness.See(running, group);
                        running.Yield();
                        witness.See(running, group);
                    });
                    SubmitBy(scheduler, Way::AddTasks, 1, parent.Tasks(), InGroup(group));
                    scheduler.WaitIdle();
                }
            }
        });
        CheckSeen(witness, 6 * layout.GroupCount() * uint32_t{std::size(kWays)});
    });
}

TEST_CASE("groups: tasks inherit the group of the main task", "[groups]") {
    for (const GroupLayout *layout : test::GroupLayouts()) {
        INFO(layout->Text());
        test::Runner runner(layout->Options());
        GroupWitness witness(*layout);
        const auto main = [&](TaskScheduler &scheduler) {
            witness.wrong.fetch_add(scheduler.CurrentWorker() != 0);
            Visitors visitors(witness, 300, 0);
            scheduler.AddTasksAndWait(300, visitors.Tasks());
            witness.See(scheduler, 0);
            scheduler.Yield();
            witness.See(scheduler, 0);
        };
        CHECK(runner.Run(main, InGroup(0)) == Status::Ok);
        CheckSeen(witness, 300);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("groups: waits for tasks of other groups in every mode of Meanwhile", "[groups]") {
    ForEachCase([](const GroupLayout &layout, const SchedulerOptions &options) {
        GroupWitness witness(layout);
        const auto wait = [&](TaskScheduler &scheduler, Meanwhile meanwhile, uint32_t from,
                              uint32_t to) {
            test::Batch there(6, [&](TaskScheduler &running, uint32_t) {
                witness.See(running, to);
                witness.ran.fetch_add(1);
            });
            test::Batch first(1, [&](TaskScheduler &running, uint32_t) {
                const uint32_t before = running.CurrentWorker();
                Counter counter;
                running.AddTasks(6, there.Tasks(), &counter, InGroup(to, Priority::High));
                running.WaitForCounter(&counter, meanwhile);
                witness.See(running, from);
                if (meanwhile != Meanwhile::AnyTask)
                    witness.wrong.fetch_add(running.CurrentWorker() != before);
            });
            scheduler.AddTasksAndWait(1, first.Tasks(), InGroup(from));
        };
        test::RunMayStall(options, [&](TaskScheduler &scheduler) {
            for (const Meanwhile meanwhile :
                 {Meanwhile::AnyTask, Meanwhile::NormalOrHigher, Meanwhile::HighOnly,
                  Meanwhile::OwnTasks, Meanwhile::Nothing}) {
                ForEachPair(layout, [&](uint32_t from, uint32_t to) {
                    // The waiting worker may be the only one that could run the task.
                    if (from != to || meanwhile != Meanwhile::Nothing)
                        wait(scheduler, meanwhile, from, to);
                });
            }
        });
        const uint32_t groups = layout.GroupCount();
        CheckSeen(witness, 6 * (5 * groups * groups - groups));
    });
}

TEST_CASE("groups: pinned tasks run on their worker, and their children inherit the group",
          "[groups]") {
    ForEachCase([](const GroupLayout &layout, const SchedulerOptions &options) {
        GroupWitness witness(layout);
        uint32_t pinnedParents = 0;
        std::vector<uint8_t> groups = layout.Groups();
        groups.push_back(kAnyGroup);
        test::RunMayStall(options, [&](TaskScheduler &scheduler) {
            for (const uint8_t group : groups) {
                for (uint32_t worker = 0; worker < layout.Workers(); ++worker) {
                    // See groups_inherit_test.cpp.
                    if (group == kAnyGroup && !layout.MayRun(worker, kAnyGroup)) continue;
                    pinnedParents += 1;
                    Visitors children(witness, 8, group);
                    test::Batch pinned(1, [&](TaskScheduler &running, uint32_t) {
                        witness.wrong.fetch_add(running.CurrentWorker() != worker);
                        running.AddTasksAndWait(8, children.Tasks());
                        witness.wrong.fetch_add(running.CurrentWorker() != worker);
                        test::AddAndWait(running, children);
                        running.Yield();
                        witness.wrong.fetch_add(running.CurrentWorker() != worker);
                    });
                    test::Batch parent(1, [&](TaskScheduler &running, uint32_t) {
                        running.AddTasksAndWait(1, pinned.Tasks(), test::PinnedTo(worker));
                    });
                    scheduler.AddTasksAndWait(1, parent.Tasks(), InGroup(group));
                }
            }
        });
        CheckSeen(witness, 16 * pinnedParents);
    });
}

// A worker may still be busy with a task. Once it has run a pinned task, it has seen
// SetActiveWorkers.
static void Notice(TaskScheduler &scheduler, uint32_t worker) {
    test::Batch notice(1, [](TaskScheduler &, uint32_t) {});
    scheduler.AddTasksAndWait(1, notice.Tasks(), test::PinnedTo(worker));
}

TEST_CASE("groups: SetActiveWorkers(1) leaves one active worker in each group", "[groups]") {
    ForEachCase([](const GroupLayout &layout, const SchedulerOptions &options) {
        GroupWitness witness(layout);
        std::atomic<uint32_t> notFirst{0};
        uint32_t kinds = 0;
        test::RunMayStall(options, [&](TaskScheduler &scheduler) {
            scheduler.SetActiveWorkers(1);
            for (uint32_t worker = 0; worker < layout.Workers(); ++worker)
                Notice(scheduler, worker);
            ForEachKind(layout, false, [&](const TaskOptions &kind) {
                ++kinds;
                Visitors visitors(witness, 40, kind.group);
                scheduler.AddTasksAndWait(40, visitors.Tasks(), kind);
                SubmitBy(scheduler, Way::AddTask, 10, visitors.Tasks(), kind);
            });
            for (uint32_t group = 0; group < layout.GroupCount(); ++group) {
                test::Batch batch(40, [&](TaskScheduler &running, uint32_t) {
                    notFirst.fetch_add(running.CurrentWorker() != layout.FirstOf(group));
                });
                scheduler.AddTasksAndWait(40, batch.Tasks(), InGroup(group));
            }
            scheduler.SetActiveWorkers(layout.Workers());
        });
        CHECK(notFirst.load() == 0);
        CheckSeen(witness, 50 * kinds);
    });
}

// Nothing else runs. So the test shows that the workers no longer sleep.
TEST_CASE("groups: SetActiveWorkers counts over all groups, and can activate workers again",
          "[groups]") {
    const GroupLayout &layout = *test::GroupLayouts()[2];  // 1, 1 (named only), 2
    for (const IdlePolicy idle : kIdlePolicies) {
        GroupWitness witness(layout);
        std::atomic<uint32_t> last{0};
        test::HostMayStall(layout.Options(160, idle), [&](TaskScheduler &scheduler) {
            for (int round = 0; round < 5; ++round) {
                for (const uint32_t active : {1u, 3u}) {  // worker 3 is inactive with both
                    scheduler.SetActiveWorkers(active);
                    Notice(scheduler, 3);
                    test::Batch batch(100, [&](TaskScheduler &running, uint32_t) {
                        witness.See(running, 2);
                        last.fetch_add(running.CurrentWorker() == 3);
                    });
                    scheduler.AddTasksAndWait(100, batch.Tasks(), InGroup(2));
                }
                scheduler.SetActiveWorkers(4);
                MeetIn(scheduler, witness, 2, InGroup(2));
            }
        });
        CHECK(witness.wrong.load() == 0);
        CHECK(last.load() == 0);
    }
}

TEST_CASE("groups: with at most one group, naming it is the same as naming none", "[groups]") {
    for (const bool given : {false, true}) {
        const GroupLayout layout({Group(3, false, true)});
        test::Marks marks(300);
        const SchedulerOptions options = given ? layout.Options() : test::Options(3);
        test::HostQuietly(options, [&](TaskScheduler &scheduler) {
            CHECK(scheduler.AttachThread() == Status::Ok);
            // The meeting needs the attached thread, which runs only tasks of no group.
            CHECK(test::Meet(scheduler, 4, InGroup(0)) == 0);
            for (const Priority priority : kPriorities)
                scheduler.AddTasksAndWait(300, marks.Tasks(), InGroup(0, priority));
            scheduler.SetRunsLow(0, true);
            scheduler.AddTasksAndWait(300, marks.Tasks(), InGroup(kAnyGroup, Priority::Low));
            scheduler.DetachThread();
        });
        CHECK(marks.Wrong(4) == 0);
    }
}

TEST_CASE("groups: Run and Start copy the groups", "[groups]") {
    for (int round = 0; round < 20; ++round) {
        std::vector<WorkerGroup> groups{Group(2), Group(2, true)};
        SchedulerOptions options = test::Options(4);
        options.groups = groups.data();
        options.groupCount = 2;
        test::HostQuietly(options, [&](TaskScheduler &scheduler) {
            groups.assign(2, WorkerGroup());
            groups.clear();
            groups.shrink_to_fit();
            std::atomic<uint32_t> wrong{0};
            test::Batch open(20, [&](TaskScheduler &running, uint32_t) {
                wrong.fetch_add(running.CurrentWorker() >= 2);
            });
            test::Batch named(20, [&](TaskScheduler &running, uint32_t) {
                wrong.fetch_add(running.CurrentWorker() < 2);
            });
            scheduler.AddTasksAndWait(20, open.Tasks());
            scheduler.AddTasksAndWait(20, named.Tasks(), InGroup(1));
            scheduler.SetRunsLow(1, true);
            scheduler.AddTasksAndWait(20, named.Tasks(), test::kLow);
            scheduler.SetRunsLow(1, false);
            scheduler.AddTasksAndWait(20, open.Tasks(), test::kLow);
            CHECK(wrong.load() == 0);
        });
    }
}

namespace {

// Submits in every way. Each call must be refused: it runs nothing, raises no counter, and returns.
// Adds the number of expected reports to `calls`.
void RefusedByEachCall(TaskScheduler &scheduler, const TaskOptions &options,
                       std::atomic<uint32_t> &ran, Counter &counter, uint32_t &calls) {
    test::Batch batch(3, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    scheduler.AddTask(batch[0], &counter, options);
    scheduler.AddTasks(3, batch.Tasks(), &counter, options);
    scheduler.AddTasksAndWait(3, batch.Tasks(), options);
    Counter zero;
    const bool after = AddTaskAfter(scheduler, &zero, 0, batch[0], &counter, options);
    const bool at = AddTaskAt(scheduler, Now(), batch[0], &counter, options);
    const bool closure = AddTask(
        scheduler, [&ran] { ran.fetch_add(1); }, &counter, options);
    calls += 6;
    if (TaskScheduler::Current() != nullptr &&
        scheduler.CurrentWorker() < scheduler.WorkerCount()) {
        scheduler.AddChildTasks(3, batch.Tasks(), options);
        ++calls;
    }
    ran.fetch_add(after || at || closure);
    scheduler.WaitForCounter(&counter);
}

void CheckRefused(const SchedulerOptions &options, const TaskOptions &kind, const char *what,
                  const char *hint) {
    for (const test::Life life : kLives) {
        test::Runner runner(options);
        std::atomic<uint32_t> ran{0};
        Counter counter;
        uint32_t calls = 0;
        bool atEnd = false;
        CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                  RefusedByEachCall(scheduler, kind, ran, counter, calls);
                  test::Batch task(1, [&](TaskScheduler &running, uint32_t) {
                      RefusedByEachCall(running, kind, ran, counter, calls);
                  });
                  scheduler.AddTasksAndWait(1, task.Tasks());
                  test::Marks marks(20);  // later tasks run as usual
                  scheduler.AddTasksAndWait(20, marks.Tasks());
                  atEnd = marks.Wrong() == 0;
              }) == Status::Ok);
        CHECK(atEnd);
        CHECK(ran.load() == 0);
        CHECK(counter.IsZero());
        CHECK(calls == 13);
        CHECK(runner.log.CountOf(ReportCode::BadOption) == calls);
        const test::LoggedReport report = runner.log.First(ReportCode::BadOption);
        CHECK(test::Names(report.what, what));
        CHECK(test::Names(report.hint, hint));
        CHECK(!report.fatal);
    }
}

}  // namespace

TEST_CASE("report BadOption: a task names a group that does not exist", "[groups]") {
    const GroupLayout &two = *test::GroupLayouts()[0];
    const char *const hint = "Give an index of SchedulerOptions::groups.";
    CheckRefused(two.Options(), InGroup(2), "the group is 2, and there are 2", hint);
    CheckRefused(two.Options(), InGroup(0x81), "the group is 129, and there are 2", hint);
    CheckRefused(test::Options(2), InGroup(1), "the group is 1, and there are 1", hint);
}

TEST_CASE("report BadOption: a task names a worker and a group", "[groups]") {
    TaskOptions both = InGroup(0);
    both.worker = 0;
    for (const SchedulerOptions &options : {test::GroupLayouts()[0]->Options(), test::Options(2)}) {
        CheckRefused(options, both, "TaskOptions::worker and ::group are both given",
                     "Name either a worker or a group.");
    }
}

TEST_CASE("report BadOption: the main task in a group that is not the first, or does not exist",
          "[groups]") {
    struct Case {
        uint8_t group;
        const char *what, *hint;
    };
    for (const Case &given :
         {Case{1, "worker 0, which is not in its group", "Name the first group, or none"},
          Case{9, "the group is 9, and there are 3",
               "Give an index of SchedulerOptions::groups."}}) {
        test::Runner runner(test::GroupLayouts()[2]->Options());
        bool ran = false;
        CHECK(runner.Run([&](TaskScheduler &) { ran = true; }, InGroup(given.group)) ==
              Status::BadOption);
        CHECK(!ran);
        CHECK(runner.log.Count() == 1);
        const test::LoggedReport report = runner.log.First(ReportCode::BadOption);
        CHECK(test::Names(report.what, given.what));
        CHECK(test::Names(report.hint, given.hint));
        CHECK(runner.Run([](TaskScheduler &) {}) == Status::Ok);  // it can run afterwards
    }
}

TEST_CASE("report BadOption: invalid groups are reported by Run and by Start", "[groups]") {
    static const uint64_t kCpus[1] = {~uint64_t{0}};
    const char *const asMany = "as many workers together as SchedulerOptions::workers says";
    struct Case {
        const char *what, *hint;
        std::function<void(SchedulerOptions &, std::vector<WorkerGroup> &)> spoil;
    };
    using Groups = std::vector<WorkerGroup>;
    const Case cases[] = {
        {"groupCount is 9", "Give up to 8.",
         [](SchedulerOptions &options, Groups &) { options.groupCount = 9; }},
        {"groups is not complete", "Give groupCount groups.",
         [](SchedulerOptions &options, Groups &) { options.groups = nullptr; }},
        {"groups is not complete", "Give each group a worker.",
         [](SchedulerOptions &options, Groups &groups) {
             groups[1].workers = 0;
             options.workers = 2;
         }},
        {"the sum of their workers is 3", asMany,
         [](SchedulerOptions &options, Groups &) { options.workers = 4; }},
        {"the sum of their workers is 3", asMany,
         [](SchedulerOptions &options, Groups &) { options.workers = 2; }},
        {"the sum of their workers is 4294967297", asMany,
         [](SchedulerOptions &options, Groups &groups) {
             groups[0].workers = ~0u;
             groups[1].workers = 2;
             options.workers = 1;
         }},
        {"groups is not complete", "Let the first group run tasks that name none.",
         [](SchedulerOptions &, Groups &groups) { groups[0].namedOnly = true; }},
        {"groups.nice is 20", "Give -20 to 19.",
         [](SchedulerOptions &, Groups &groups) { groups[1].nice = 20; }},
        {"groups.nice is -21", "Give -20 to 19.",
         [](SchedulerOptions &, Groups &groups) { groups[1].nice = -21; }},
        {"groups.cpuWords is 0", "Give 1 to 1024.",
         [](SchedulerOptions &, Groups &groups) { groups[1].cpus = kCpus; }},
        {"groups.cpuWords is 1025", "Give 1 to 1024.",
         [](SchedulerOptions &, Groups &groups) {
             groups[1].cpus = kCpus;
             groups[1].cpuWords = 1025;
         }},
    };
    for (const Case &given : cases) {
        INFO(given.what);
        Groups groups(9, Group(1));
        groups[0].workers = 2;
        SchedulerOptions options = test::Options(3);
        options.groups = groups.data();
        options.groupCount = 2;
        CHECK(test::Runner(options).Run([](TaskScheduler &) {}) == Status::Ok);
        given.spoil(options, groups);
        test::Runner runner(options);
        bool ran = false;
        CHECK(runner.Run([&](TaskScheduler &) { ran = true; }) == Status::BadOption);
        CHECK(runner.scheduler.Start() == Status::BadOption);
        CHECK(!ran);
        test::CheckOnly(runner.log, ReportCode::BadOption, 2);
        const test::LoggedReport report = runner.log.First(ReportCode::BadOption);
        CHECK(test::Names(report.what, given.what));
        CHECK(test::Names(report.hint, given.hint));
    }
}

TEST_CASE("report BadOption: SetRunsLow with a group that does not exist changes nothing",
          "[groups]") {
    const GroupLayout layout(*test::GroupLayouts()[1], 2);  // 2, 1 (named only)
    for (const test::Life life : kLives) {
        test::Runner runner(layout.Options());
        std::atomic<uint32_t> wrong{0}, ran{0};
        CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                  test::Batch low(30, [&](TaskScheduler &running, uint32_t) {
                      wrong.fetch_add(running.CurrentWorker() != 2);
                      ran.fetch_add(1);
                  });
                  for (const uint32_t group : {2u, 32u, 255u}) {
                      scheduler.SetRunsLow(group, true);
                      scheduler.AddTasksAndWait(30, low.Tasks(), test::kLow);
                  }
                  test::Batch task(
                      1, [](TaskScheduler &running, uint32_t) { running.SetRunsLow(33, false); });
                  scheduler.AddTasksAndWait(1, task.Tasks());
                  scheduler.AddTasksAndWait(30, low.Tasks(), test::kLow);
              }) == Status::Ok);
        CHECK(wrong.load() == 0);
        CHECK(ran.load() == 120);
        CHECK(runner.log.CountOf(ReportCode::BadOption) == 4);
        const test::LoggedReport report = runner.log.First(ReportCode::BadOption);
        test::CheckNames(report.what, {"SetRunsLow", "the group is 2, and there are 2"});
        CHECK(test::Names(report.hint, "Give an index of SchedulerOptions::groups."));
    }
}

TEST_CASE("report NotRunning: SetRunsLow while the scheduler does not run", "[groups]") {
    test::Runner runner(test::GroupLayouts()[0]->Options());
    runner.scheduler.SetRunsLow(0, true);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(test::Names(runner.log.First(ReportCode::NotRunning).what, "SetRunsLow"));
}

TEST_CASE("groups: trace hooks and reports name tasks of groups as usual", "[groups]") {
    for (const GroupLayout *layout : test::GroupLayouts()) {
        INFO(layout->Text());
        test::TraceLog trace;
        test::Runner runner(trace.In(layout->Options()));
        const uint32_t other = layout->GroupCount() - 1;
        TaskOptions kind = InGroup(other);
        kind.name = "far";
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            test::Batch batch(20, [](TaskScheduler &running, uint32_t i) {
                if (i % 5 == 1) running.Yield();
                if (i == 7) running.WaitForCounter(nullptr);
            });
            scheduler.AddTasksAndWait(20, batch.Tasks(), kind);
        }) == Status::Ok);
        uint32_t begun = 0, elsewhere = 0;
        for (const test::LoggedEvent &event : trace.Events(test::Traced::TaskBegin)) {
            begun += event.task == "far";
            elsewhere += event.task == "far" && !layout->MayRun(event.event.worker, other);
        }
        CHECK(begun == 20);
        CHECK(elsewhere == 0);
        CHECK(test::Inconsistencies(trace.Events()) == "");
        CHECK(runner.log.Count() == 1);
        CHECK(runner.log.First(ReportCode::NullCounter).task == "far");
    }
}

#if defined(WEFT_LINUX)

namespace {

using test::CpusOfThread;
using test::NiceOfThread;
using test::Place;

template <size_t kCount>
SchedulerOptions OptionsOf(const WorkerGroup (&groups)[kCount]) {
    SchedulerOptions options = test::Options(0);
    options.groups = groups;
    options.groupCount = uint32_t{kCount};
    for (const WorkerGroup &group : groups) options.workers += group.workers;
    return options;
}

std::vector<uint64_t> MaskOf(const std::vector<uint32_t> &cpus) {
    std::vector<uint64_t> words(1 + *std::max_element(cpus.begin(), cpus.end()) / 64);
    for (const uint32_t cpu : cpus) words[cpu / 64] |= uint64_t{1} << cpu % 64;
    return words;
}

// Runs a scheduler once. Returns what each thread of weft finds in onStart.
std::map<uint32_t, Place> PlacesOf(SchedulerOptions options, test::Life life) {
    struct Places {
        std::mutex mutex;
        std::map<uint32_t, Place> of;
    } places;
    options.threads.user = &places;
    options.threads.onStart = [](uint32_t worker, void *user) {
        const std::lock_guard<std::mutex> lock(static_cast<Places *>(user)->mutex);
        static_cast<Places *>(user)->of[worker] = test::PlaceOfThread();
    };
    const int nice = NiceOfThread();
    const std::vector<uint32_t> cpus = CpusOfThread();
    test::HostMayStall(options, life, [](TaskScheduler &) {});
    CHECK(NiceOfThread() == nice);  // the caller keeps its nice value
    CHECK(CpusOfThread() == cpus);
    CHECK(places.of.size() == options.workers - (life == test::Life::Run ? 1 : 0));
    return places.of;
}

}  // namespace

TEST_CASE("groups: threads are named after their group, or else by threadName", "[groups]") {
    WorkerGroup groups[] = {Group(2), Group(1), Group(2)};
    groups[0].name = "big";
    groups[2].name = "a name that is far too long";
    for (const test::Life life : kLives) {
        SchedulerOptions options = OptionsOf(groups);
        options.threadName = "jobs";
        for (const auto &[worker, place] : PlacesOf(options, life)) {
            const char *const name = worker < 2 ? "big " : worker < 3 ? "jobs " : "a name tha ";
            CHECK(place.name == name + std::to_string(worker));
        }
    }
}

TEST_CASE("groups: a group's nice value is added to threadNice and to the caller's", "[groups]") {
    WorkerGroup groups[] = {Group(1), Group(1), Group(2)};
    groups[1].nice = 4;
    groups[2].nice = 7;
    const int own = NiceOfThread();
    for (const test::Life life : kLives) {
        for (const int32_t nice : {0, 3}) {
            SchedulerOptions options = OptionsOf(groups);
            options.threadNice = nice;
            for (const auto &[worker, place] : PlacesOf(options, life)) {
                const int added = worker == 0 ? 0 : worker == 1 ? 4 : 7;
                CHECK(place.nice == std::min(own + nice + added, 19));
            }
        }
    }
}

TEST_CASE("groups: threads of a group run on its CPUs, others as `affinity` says", "[groups]") {
    const std::vector<uint32_t> usable = CpusOfThread();
    const std::vector<uint64_t> last = MaskOf({usable.back()});
    for (const test::Life life : kLives) {
        for (const Affinity::Kind kind : {Affinity::Kind::None, Affinity::Kind::Compact}) {
            WorkerGroup groups[] = {Group(1), Group(2), Group(1)};
            groups[1].cpus = last.data();
            groups[1].cpuWords = static_cast<uint32_t>(last.size());
            SchedulerOptions options = OptionsOf(groups);
            options.affinity.kind = kind;
            for (const auto &[worker, place] : PlacesOf(options, life)) {
                const std::vector<uint32_t> compact{usable[worker % usable.size()]};
                const bool inGroup = worker == 1 || worker == 2;
                CHECK(place.cpus == (inGroup ? std::vector<uint32_t>{usable.back()}
                                     : kind == Affinity::Kind::Compact ? compact
                                                                       : usable));
            }
        }
    }
}

// The words of all groups are copied, one group after the other.
TEST_CASE("groups: CPUs of several groups are copied by Run and Start", "[groups]") {
    const std::vector<uint32_t> usable = CpusOfThread();
    for (const test::Life life : kLives) {
        std::vector<uint64_t> first = MaskOf({usable.front()}), second = MaskOf({usable.back()});
        first.resize(first.size() + 3);  // the lengths differ
        WorkerGroup groups[] = {Group(1), Group(1), Group(1)};
        groups[1].cpus = first.data();
        groups[1].cpuWords = static_cast<uint32_t>(first.size());
        groups[2].cpus = second.data();
        groups[2].cpuWords = static_cast<uint32_t>(second.size());
        const std::map<uint32_t, Place> places = PlacesOf(OptionsOf(groups), life);
        CHECK(places.at(1).cpus == std::vector<uint32_t>{usable.front()});
        CHECK(places.at(2).cpus == std::vector<uint32_t>{usable.back()});
    }
}

TEST_CASE("report BadOption: a group whose CPUs the system refuses; the run continues",
          "[groups]") {
    const std::vector<uint64_t> none(16);
    WorkerGroup groups[] = {Group(1), Group(1)};
    groups[1].cpus = none.data();
    groups[1].cpuWords = 16;
    test::Runner runner(OptionsOf(groups));
    test::Marks marks(20);
    CHECK(runner.Run(test::RunsAll(marks, InGroup(1))) == Status::Ok);
    CHECK(marks.Wrong() == 0);
    test::CheckOnly(runner.log, ReportCode::BadOption, 1);
    CHECK(test::Names(runner.log.First(ReportCode::BadOption).what, "worker 1"));
}

#endif
