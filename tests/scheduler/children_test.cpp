// Tasks that submit parts of themselves.
#include "support/quiet_run.h"
#include "weft/deferred.h"

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// The nodes of a tree in heap order: node i has the children 2i + 1 and 2i + 2. A node submits its
// children as child tasks. What it does before that depends on its number.
class Tree {
public:
    explicit Tree(uint32_t size) : m_visits(size), m_nodes(size) {
        for (uint32_t i = 0; i < size; ++i) m_nodes[i] = {this, i};
    }
    Task Root() { return {Visit, &m_nodes[0]}; }
    uint32_t Size() const { return static_cast<uint32_t>(m_nodes.size()); }
    uint32_t VisitedOnce() const {
        uint32_t count = 0;
        for (const auto &visits : m_visits) count += visits.load() == 1;
        return count;
    }
    void Clear() {
        for (auto &visits : m_visits) visits.store(0);
    }

private:
    struct Node {
        Tree *tree;
        uint32_t index;
    };
    static void Visit(TaskScheduler *scheduler, void *arg) {
        const Node &node = *static_cast<Node *>(arg);
        Tree &tree = *node.tree;
        tree.Prepare(*scheduler, node.index);
        const uint32_t first = 2 * node.index + 1;
        Task children[2];
        uint32_t count = 0;
        for (uint32_t i = first; i < first + 2 && i < tree.Size(); ++i)
            children[count++] = {Visit, &tree.m_nodes[i]};
        scheduler->AddChildTasks(count, children, {static_cast<Priority>(node.index / 3 % 3)});
        tree.m_visits[node.index].fetch_add(1);
    }
    // After a wait the task may be on another worker, and other tasks have run on top of its
    // frames.
    void Prepare(TaskScheduler &scheduler, uint32_t index) {
        auto leaf = [](TaskScheduler *) {};
        if (index % 5 == 1) scheduler.Yield();
        if (index % 5 == 2) {
            Counter counter;
            scheduler.AddTask(MakeTask(leaf), &counter);
            scheduler.WaitForCounter(&counter);
        }
        if (index % 5 == 3) {
            const Task tasks[2] = {MakeTask(leaf), MakeTask(leaf)};
            scheduler.AddTasksAndWait(2, tasks);
        }
    }

    std::vector<std::atomic<uint32_t>> m_visits;
    std::vector<Node> m_nodes;
};

#if defined(WEFT_NO_EXCEPTIONS)
constexpr uint32_t kThrows = 0;
void ThrowIfPossible() {}
#else
constexpr uint32_t kThrows = 1;
void ThrowIfPossible() { throw std::runtime_error("gone"); }
#endif

}  // namespace

TEST_CASE("children: the end of the run waits for children of uncounted tasks", "[children]") {
    Tree tree(2000);
    test::RunQuietly(test::Options(2),
                     [&](TaskScheduler &scheduler) { scheduler.AddTask(tree.Root()); });
    CHECK(tree.VisitedOnce() == tree.Size());
}

TEST_CASE("children: external threads, deferred tasks and attached threads wait for them",
          "[children]") {
    Tree tree(2000);
    Counter counter, after;
    uint32_t seen = 0;
    auto look = [&](TaskScheduler *) { seen = tree.VisitedOnce(); };
    test::HostQuietly(test::Options(2), [&](TaskScheduler &scheduler) {
        scheduler.AddTask(tree.Root(), &counter);
        CHECK(AddTaskAfter(scheduler, &counter, 0, MakeTask(look), &after));
        scheduler.WaitForCounter(&after);
        CHECK(seen == tree.Size());
        const Task root = tree.Root();
        for (int round = 0; round < 2; ++round) {
            tree.Clear();
            if (round == 1) REQUIRE(scheduler.AttachThread() == Status::Ok);
            scheduler.AddTasksAndWait(1, &root);
            CHECK(tree.VisitedOnce() == tree.Size());
        }
        scheduler.DetachThread();
    });
}

TEST_CASE("children: pinned children of a task that throws are counted", "[children]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> ran{0}, elsewhere{0}, uncounted{0};
    uint32_t seen = 0;
    Counter counter;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const auto child = [&](TaskScheduler *inside) {
            ran.fetch_add(1);
            uncounted.fetch_add(counter.Value() == 0);
            elsewhere.fetch_add(inside->CurrentWorker() != 1);
        };
        const std::vector<Task> children(40, MakeTask(child));
        // The parent is pinned there, too. So no child begins before the parent has ended.
        const TaskOptions options = test::PinnedTo(1);
        auto parent = [&](TaskScheduler *inside) {
            inside->AddChildTasks(40, children.data(), options);
            ThrowIfPossible();
        };
        scheduler.AddTask(MakeTask(parent), &counter, options);
        scheduler.WaitForCounter(&counter);
        seen = ran.load();
    }) == Status::Ok);
    CHECK(seen == 40);
    CHECK(elsewhere.load() == 0);
    CHECK(uncounted.load() == 0);
    CHECK(runner.log.CountOf(ReportCode::TaskThrew) == kThrows);
}

TEST_CASE("children: after an inner wait they count on the counter of their own task",
          "[children]") {
    std::vector<std::string> wrong;
    test::RunQuietly(test::Options(1), [&](TaskScheduler &scheduler) {
        Counter outer, inner;
        auto leaf = [](TaskScheduler *) {};
        auto child = [&](TaskScheduler *) {
            if (inner.Value() != 0)
                wrong.push_back("the counter of a wait that is over counts a child");
            if (outer.Value() == 0)
                wrong.push_back("the counter of the task does not count a child");
        };
        auto parent = [&](TaskScheduler *inside) {
            inside->AddTask(MakeTask(leaf), &inner);
            inside->WaitForCounter(&inner);
            const Task tasks[1] = {MakeTask(child)};
            inside->AddChildTasks(1, tasks);
        };
        scheduler.AddTask(MakeTask(parent), &outer);
        scheduler.WaitForCounter(&outer);
    });
    CHECK(wrong.empty());
}

TEST_CASE("report NotAWorker: AddChildTasks outside of a task", "[children][report]") {
    test::Started runner(test::Options(1));
    TaskScheduler &scheduler = runner.scheduler;
    auto leaf = [](TaskScheduler *) {};
    const Task tasks[1] = {MakeTask(leaf)};
    scheduler.AddChildTasks(0, nullptr);
    CHECK(runner.log.Count() == 0);
    scheduler.AddChildTasks(1, tasks);
    CHECK(runner.log.CountOf(ReportCode::NotAWorker) == 1);
    REQUIRE(scheduler.AttachThread() == Status::Ok);
    scheduler.AddChildTasks(1, tasks);
    CHECK(runner.log.CountOf(ReportCode::NotAWorker) == 2);
    scheduler.DetachThread();
    auto parent = [&](TaskScheduler *inside) { inside->AddChildTasks(1, nullptr); };
    Counter counter;
    scheduler.AddTask(MakeTask(parent), &counter);
    scheduler.WaitForCounter(&counter);
    CHECK(runner.log.CountOf(ReportCode::NullTask) == 1);
    scheduler.Stop();
    CHECK(runner.log.Count() == 3);
}
