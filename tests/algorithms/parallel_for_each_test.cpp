#include "weft/algorithms/parallel_for_each.h"

#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <algorithm>
#include <atomic>
#include <forward_list>
#include <iterator>
#include <list>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// The counts are plain, so ThreadSanitizer reports a race if an item is run twice.
struct Mark {
    uint32_t count = 0;
};

template <class Container>
size_t NotOnce(const Container &marks) {
    size_t wrong = 0;
    for (const Mark &mark : marks) wrong += mark.count != 1;
    return wrong;
}

template <class Container>
size_t MarkAll(TaskScheduler &scheduler, size_t count, const LoopOptions &options = {}) {
    Container marks(count);
    ParallelForEach(
        scheduler, marks.begin(), marks.end(), [](Mark &mark) { ++mark.count; }, options);
    return NotOnce(marks);
}

// Reads the numbers below `count` once, and checks that only one thread at a time moves it.
class Numbers {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = uint32_t;
    using difference_type = ptrdiff_t;
    using pointer = const uint32_t *;
    using reference = uint32_t;

    struct Source {
        uint32_t next = 0, count = 0, throwsAt = ~0u;
        std::atomic<uint32_t> inside{0}, overlaps{0};
    };
    explicit Numbers(Source *source) : m_source(source) {}
    uint32_t operator*() const { return m_source->next; }
    Numbers &operator++() {
        m_source->overlaps += m_source->inside++ != 0;
        test::Linger(m_source->next % 64 == 0 ? 3 : 0);
        if (++m_source->next == m_source->throwsAt) {
            --m_source->inside;
            throw std::runtime_error("broken");
        }
        --m_source->inside;
        return *this;
    }
    Numbers operator++(int) { return ++*this; }
    bool operator!=(const Numbers &end) const { return !(*this == end); }
    bool operator==(const Numbers &) const { return m_source->next == m_source->count; }

private:
    Source *m_source;
};

// Visits a tree in which each node below `depth` has `children`; returns the number of nodes that
// the body has visited. `left`: how many nodes found no free slot.
struct Tree {
    uint32_t children, depth;
    std::atomic<uint32_t> visited{0}, refused{0};

    void Visit(uint32_t level, Feeder<uint32_t> &feeder) {
        ++visited;
        if (level == depth) return;
        for (uint32_t i = 0; i < children; ++i) {
            if (feeder.Add(level + 1)) continue;
            ++refused;
            Visit(level + 1, feeder);
        }
    }
};

}  // namespace

TEST_CASE("ParallelForEach: every item once, with iterators of each kind",
          "[parallel_for_each][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        size_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (const size_t count : {0, 1, 2, 7, 64, 3000}) {
                wrong += MarkAll<std::vector<Mark>>(scheduler, count);
                wrong += MarkAll<std::list<Mark>>(scheduler, count);
                wrong += MarkAll<std::forward_list<Mark>>(scheduler, count);
            }
            LoopOptions options;
            options.grain = 50;
            options.priority = Priority::High;
            wrong += MarkAll<std::list<Mark>>(scheduler, 1234, options);

            Numbers::Source source;
            source.count = 400;
            std::vector<Mark> marks(source.count);
            ParallelForEach(scheduler, Numbers(&source), Numbers(&source),
                            [&](uint32_t number) { ++marks[number].count; });
            wrong += NotOnce(marks) + source.overlaps;
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelForEach: items that are read once are moved and destroyed",
          "[parallel_for_each]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint64_t> letters{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        std::istringstream text;
        std::string all;
        for (uint32_t i = 0; i < 500; ++i) all += std::string(1 + i % 50, 'x') + " ";
        text.str(all);
        ParallelForEach(scheduler, std::istream_iterator<std::string>(text),
                        std::istream_iterator<std::string>(),
                        [&](const std::string &word) { letters += word.size(); });
    }) == Status::Ok);
    CHECK(letters == 10 * 51 * 25);
}

TEST_CASE("ParallelForEach: all workers take part if each item takes long", "[parallel_for_each]") {
    for (const uint32_t workers : {2u, 3u}) {
        test::Runner runner(test::Options(workers));
        std::atomic<uint32_t> begun{0}, wrong{0};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            std::list<Mark> marks(workers);
            ParallelForEach(scheduler, marks.begin(), marks.end(), [&](Mark &) {
                ++begun;
                wrong += !test::SpinUntil([&] { return begun >= workers; });
            });
        }) == Status::Ok);
        CHECK(begun == workers);
        CHECK(wrong == 0);
    }
}

TEST_CASE("ParallelForEach: bodies that wait, and at most so many parts at once",
          "[parallel_for_each]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> inside{0}, most{0}, ran{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        std::list<Mark> marks(200);
        Counter gate(1);
        std::atomic<bool> isOpen{false};
        // Each call waits until five others have begun. Then all of them wait for the gate.
        ParallelForEach(scheduler, marks.begin(), marks.end(), [&](Mark &) {
            const uint32_t now = ++inside;
            uint32_t old = most;
            while (old < now && !most.compare_exchange_weak(old, now)) {
            }
            if (now >= 5 && !isOpen.exchange(true)) scheduler.DecrementCounter(&gate);
            scheduler.WaitForCounter(&gate);
            scheduler.Yield();
            --inside;
            ++ran;
        });
    }) == Status::Ok);
    CHECK(ran == 200);
    CHECK(most >= 5);   // 2 * 2 + 1 parts
    CHECK(most <= 13);  // and 4 * 2 helpers
}

TEST_CASE("ParallelForEach: cancelled", "[parallel_for_each]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> ran{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        CancelSource source(scheduler);
        LoopOptions options;
        options.cancel = source.Token();
        std::list<Mark> marks(100000);
        ParallelForEach(
            scheduler, marks.begin(), marks.end(),
            [&](Mark &) {
                if (++ran == 10) source.Cancel();
            },
            options);
        CHECK(ran >= 10);
        CHECK(ran < 100000);
        ran = 0;
        ParallelForEach(
            scheduler, marks.begin(), marks.end(), [&](Mark &) { ++ran; }, options);
    }) == Status::Ok);
    CHECK(ran == 0);
}

TEST_CASE("ParallelForEach: exceptions of the body and of the iterator reach the caller",
          "[parallel_for_each]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            const auto caught = [&](auto call) {
                try {
                    call();
                } catch (const std::runtime_error &error) {
                    return std::string(error.what());
                }
                return std::string();
            };
            std::list<Mark> marks(1000);
            std::atomic<uint32_t> ran{0};
            const auto throws = [&](Mark &) {
                if (++ran == 40) throw std::runtime_error("body");
            };
            wrong += caught([&] {
                         ParallelForEach(scheduler, marks.begin(), marks.end(), throws);
                     }) != "body";
            std::vector<Mark> array(1000);
            ran = 0;
            wrong += caught([&] {
                         ParallelForEach(scheduler, array.begin(), array.end(), throws);
                     }) != "body";
            Numbers::Source source;
            source.count = 1000;
            source.throwsAt = 333;
            wrong += caught([&] {
                         ParallelForEach(scheduler, Numbers(&source), Numbers(&source),
                                         [](uint32_t) noexcept {});
                     }) != "broken";
            FeederSlot<uint32_t> slots[16];
            const uint32_t roots[] = {0, 0};
            wrong += caught([&] {
                         ParallelForEach(scheduler, roots, roots + 2, slots, 16,
                                         [&](uint32_t level, Feeder<uint32_t> &feeder) {
                                             if (level == 5) throw std::runtime_error("deep");
                                             static_cast<void>(feeder.Add(level + 1));
                                             static_cast<void>(feeder.Add(level + 1));
                                         });
                     }) != "deep";
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelForEach: noexcept if the body and the iterator are", "[parallel_for_each]") {
    TaskScheduler *none = nullptr;
    const auto quiet = [](uint32_t) noexcept {};
    const auto loud = [](uint32_t) {};
    uint32_t *array = nullptr;
    std::list<uint32_t>::iterator item;
    static_assert(noexcept(ParallelForEach(*none, array, array, quiet)));
#if defined(__GLIBCXX__)  // libc++ does not promise it for this iterator
    static_assert(noexcept(ParallelForEach(*none, item, item, quiet)));
#endif
    static_assert(!noexcept(ParallelForEach(*none, item, item, loud)));
    static_cast<void>(none);
    static_cast<void>(array);
    static_cast<void>(item);
}

TEST_CASE("ParallelForEach: called by attached and external threads", "[parallel_for_each]") {
    for (test::Life life : {test::Life::Run, test::Life::Start}) {
        INFO(test::Describe(life));
        test::Runner runner(test::Options(2));
        size_t wrong = 0;
        Tree tree{3, 5};
        CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                  const auto both = [&] {
                      wrong += MarkAll<std::list<Mark>>(scheduler, 1000);
                      FeederSlot<uint32_t> slots[64];
                      const uint32_t root = 0;
                      ParallelForEach(scheduler, &root, &root + 1, slots, 64,
                                      [&](uint32_t level, Feeder<uint32_t> &feeder) {
                                          tree.Visit(level, feeder);
                                      });
                  };
                  both();
                  if (scheduler.AttachThread() != Status::Ok) return;
                  both();
                  scheduler.DetachThread();
              }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(tree.visited == 2 * 364);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("ParallelForEach: a stopped scheduler is reported", "[parallel_for_each][report]") {
    test::Runner runner(test::Options(2));
    std::list<Mark> marks(3);
    ParallelForEach(runner.scheduler, marks.begin(), marks.end(), [](Mark &) { std::abort(); });
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(runner.log.Count() == 1);
}

TEST_CASE("Feeder: every added item once, with storage of any size",
          "[parallel_for_each][feeder][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        for (const uint32_t room : {0u, 1u, 3u, 1000u}) {
            Tree tree{3, 7};
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                std::vector<FeederSlot<uint32_t>> slots(room);
                const std::list<uint32_t> roots = {0, 1, 2, 7};
                ParallelForEach(
                    scheduler, roots.begin(), roots.end(), slots.data(), room,
                    [&](uint32_t level, Feeder<uint32_t> &feeder) { tree.Visit(level, feeder); });
            }) == Status::Ok);
            CHECK(tree.visited == 3280 + 1093 + 364 + 1);
            if (room == 0) CHECK(tree.refused == tree.visited - 4);
            if (room == 1000) CHECK(tree.refused == 0);
        }
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("Feeder: Add returns false exactly when all slots hold items that have not begun",
          "[parallel_for_each][feeder]") {
    test::Runner runner(test::Options(1));
    uint32_t added = 0, addedByItem = 0, ran = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        FeederSlot<int> slots[5];
        const int root = 0;
        ParallelForEach(scheduler, &root, &root + 1, slots, 5, [&](int item, Feeder<int> &feeder) {
            ++ran;
            if (item == 0) {
                for (int i = 0; i < 9; ++i) added += feeder.Add(1);
            } else if (item == 1 && added == 5) {
                // The slot of this item is free again, the others are not.
                for (int i = 0; i < 9; ++i) addedByItem += feeder.Add(2);
                added = 0;
            }
        });
    }) == Status::Ok);
    CHECK(addedByItem == 1);
    CHECK(ran == 7);
}

TEST_CASE("Feeder: AddAll adds as many items as there are slots, from the front",
          "[parallel_for_each][feeder]") {
    test::Runner runner(test::Options(1));
    uint32_t fitting = 0, many = 0;
    std::vector<int> order;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        std::vector<FeederSlot<int>> slots(40);
        const int root = 0;
        ParallelForEach(scheduler, &root, &root + 1, slots.data(), 40,
                        [&](int item, Feeder<int> &feeder) {
                            if (item != 0) return order.push_back(item);
                            int items[50];
                            for (int i = 0; i < 50; ++i) items[i] = i + 1;
                            fitting = feeder.AddAll(items, 3);
                            many = feeder.AddAll(items + 3, 47);
                        });
    }) == Status::Ok);
    CHECK(fitting == 3);
    CHECK(many == 37);
    std::sort(order.begin(), order.end());
    CHECK(order.size() == 40);
    for (uint32_t i = 0; i < order.size(); ++i) CHECK(order[i] == static_cast<int>(i + 1));
}

TEST_CASE("Feeder: slots are used again, in depth", "[parallel_for_each][feeder]") {
    // A chain needs one slot. A tree needs about one for each child on the way to a leaf, and some
    // more because fair picks begin other branches.
    test::Runner runner(test::Options(1));
    Tree chain{1, 5000}, tree{2, 12};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        FeederSlot<uint32_t> slots[200];
        const uint32_t root = 0;
        for (Tree *each : {&chain, &tree}) {
            ParallelForEach(
                scheduler, &root, &root + 1, slots, each == &chain ? 1 : 200,
                [&](uint32_t level, Feeder<uint32_t> &feeder) { each->Visit(level, feeder); });
        }
    }) == Status::Ok);
    CHECK(chain.visited == 5001);
    CHECK(chain.refused == 0);
    CHECK(tree.visited == 8191);
    CHECK(tree.refused == 0);
}

TEST_CASE("Feeder: a refused item stays as it is, and all items are destroyed",
          "[parallel_for_each][feeder]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> ran{0}, kept{0};
    auto shared = std::make_shared<int>(1);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        using Item = std::shared_ptr<int>;
        FeederSlot<Item> slots[2];
        CancelSource source(scheduler);
        LoopOptions options;
        options.cancel = source.Token();
        Item roots[] = {shared, shared};
        const auto body = [&](Item &item, Feeder<Item> &feeder) {
            if (++ran >= 50) source.Cancel();
            for (int i = 0; i < 4; ++i) {
                Item copy = item;
                if (!feeder.Add(std::move(copy))) kept += copy == shared;
            }
            static_cast<void>(feeder.Add(item));
        };
        ParallelForEach(scheduler, roots, roots + 2, slots, 2, body, options);
    }) == Status::Ok);
    CHECK(ran >= 50);
    CHECK(kept != 0);
    CHECK(shared.use_count() == 1);
}
