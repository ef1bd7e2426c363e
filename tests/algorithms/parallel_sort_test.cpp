#include "weft/algorithms/parallel_sort.h"
#include "weft/algorithms/parallel_sort_by_key.h"
#include "weft/algorithms/parallel_stable_sort.h"

#include "support/scheduler_run.h"
#include "support/threads.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

/// `index` tells elements with equal keys apart.
struct Record {
    uint32_t key, index;
    bool operator==(const Record &other) const { return key == other.key && index == other.index; }
};
struct LessKey {
    bool operator()(const Record &a, const Record &b) const { return a.key < b.key; }
};

/// Too large to be copied cheaply.
struct Heavy {
    uint32_t key, index;
    uint64_t weight[6];
    bool operator==(const Heavy &other) const { return key == other.key && index == other.index; }
};

/// Can only be moved. A value that was moved away has no pointer.
using Owned = std::unique_ptr<uint32_t>;
struct LessOwned {
    bool operator()(const Owned &a, const Owned &b) const { return *a < *b; }
};

struct Drawn {
    uint64_t state;
    uint32_t operator()() {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<uint32_t>(state >> 33);
    }
};

// Sequences that some sorts take long for, or sort wrongly.
constexpr const char *kPatterns[] = {"random",   "few keys",           "equal",
                                     "sorted",   "reversed",           "organ",
                                     "sawtooth", "sorted, one behind", "median of 3"};

std::vector<uint32_t> Keys(const std::string &pattern, uint32_t count) {
    std::vector<uint32_t> keys(count);
    Drawn draw{count + 1};
    for (uint32_t i = 0; i < count; ++i) {
        if (pattern == "random") keys[i] = draw();
        if (pattern == "few keys") keys[i] = draw() % 7;
        if (pattern == "equal") keys[i] = 3;
        if (pattern == "sorted" || pattern == "sorted, one behind") keys[i] = i;
        if (pattern == "reversed") keys[i] = count - i;
        if (pattern == "organ") keys[i] = (std::min)(i, count - i);
        if (pattern == "sawtooth") keys[i] = i % 100;
    }
    if (pattern == "sorted, one behind" && count != 0) keys[count - 1] = 0;
    if (pattern == "median of 3") {
        // Musser 1997: each median of the first, the middle and the last element is a bad pivot.
        const uint32_t half = count / 2;
        for (uint32_t i = 0; i < half; ++i) {
            keys[i] = i % 2 == 0 ? i : half + i;
            keys[half + i] = 2 * i + 1;
        }
    }
    return keys;
}

std::vector<Record> Records(const std::string &pattern, uint32_t count) {
    const std::vector<uint32_t> keys = Keys(pattern, count);
    std::vector<Record> records(count);
    for (uint32_t i = 0; i < count; ++i) records[i] = {keys[i], i};
    return records;
}

std::vector<Owned> Owneds(const std::string &pattern, uint32_t count) {
    std::vector<Owned> owned;
    for (uint32_t key : Keys(pattern, count)) owned.push_back(std::make_unique<uint32_t>(key));
    return owned;
}

std::vector<uint32_t> ValuesOf(const std::vector<Owned> &owned) {
    std::vector<uint32_t> values;
    for (const Owned &each : owned) values.push_back(each != nullptr ? *each : ~0u);
    return values;
}

template <class Value>
std::vector<Value> Sorted(std::vector<Value> values) {
    std::sort(values.begin(), values.end());
    return values;
}

LoopOptions WithGrain(uint64_t grain) {
    LoopOptions options;
    options.grain = grain;
    return options;
}

enum class Form { Unstable, Stable };
constexpr Form kForms[] = {Form::Unstable, Form::Stable};

template <class Element, class Less>
bool SortWith(Form form, TaskScheduler &scheduler, std::vector<Element> &elements, Less &&less,
              const LoopOptions &options = {}) {
    if (form == Form::Unstable)
        return ParallelSort(scheduler, elements.begin(), elements.end(), less, options);
    std::vector<Element> scratch(elements.size());
    return ParallelStableSort(scheduler, elements.begin(), elements.end(), scratch.begin(), less,
                              options);
}

constexpr uint32_t kCounts[] = {0, 1, 2, 3, 24, 25, 49, 100, 1023, 1024, 1025, 5000};

uint32_t WrongSorts(TaskScheduler &scheduler, const std::string &pattern, uint32_t count,
                    uint64_t grain) {
    uint32_t wrong = 0;
    const LoopOptions options = WithGrain(grain);
    const std::vector<uint32_t> keys = Keys(pattern, count);
    std::vector<uint32_t> sorted = keys;
    wrong += !ParallelSort(scheduler, sorted.begin(), sorted.end(), std::less<>(), options);
    wrong += sorted != Sorted(keys);
    const std::vector<Record> records = Records(pattern, count);
    std::vector<Record> expected = records, stable = records, byKey = records, scratch(count);
    std::stable_sort(expected.begin(), expected.end(), LessKey());
    wrong += !ParallelStableSort(scheduler, stable.begin(), stable.end(), scratch.begin(),
                                 LessKey(), options);
    wrong += stable != expected;
    wrong += !ParallelSortByKey(
        scheduler, byKey.begin(), byKey.end(), scratch.begin(),
        [](const Record &record) { return record.key; }, options);
    wrong += byKey != expected;
    return wrong;
}

}  // namespace

TEST_CASE("ParallelSort: the same as std::sort and std::stable_sort", "[parallel_sort][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::string wrong;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (const char *pattern : kPatterns) {
                for (uint32_t count : kCounts) {
                    const uint64_t grain = count % 3 == 0 ? 0 : count % 3 == 1 ? 1 : 300;
                    if (WrongSorts(scheduler, pattern, count, grain) != 0)
                        wrong += std::string(pattern) + ' ' + std::to_string(count) + '\n';
                }
            }
        }) == Status::Ok);
        CHECK(wrong == "");
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelSort: long ranges and all grains", "[parallel_sort][long]") {
    for (uint32_t workers : {1u, 2u, 8u}) {
        INFO(workers << " workers");
        test::Runner runner(test::Options(workers));
        std::string wrong;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (const char *pattern : kPatterns) {
                for (uint32_t count : {20011u, 65538u, 150001u}) {
                    if (WrongSorts(scheduler, pattern, count, 0) != 0) wrong += pattern;
                }
            }
            for (uint64_t grain : {uint64_t{1}, uint64_t{2}, uint64_t{25}, uint64_t{5000},
                                   uint64_t{1} << 20, ~uint64_t{0}}) {
                if (WrongSorts(scheduler, "random", 70000, grain) != 0)
                    wrong += std::to_string(grain) + '\n';
            }
        }) == Status::Ok);
        CHECK(wrong == "");
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelSort: one input has one result, with any number of workers", "[parallel_sort]") {
    const std::vector<Record> records = Records("sawtooth", 150000);
    std::vector<Record> first;
    uint32_t different = 0;
    const auto sort = [&](TaskScheduler &scheduler) {
        std::vector<Record> own = records;
        ParallelSort(scheduler, own.begin(), own.end(), LessKey());
        if (first.empty()) first = own;
        different += own != first;
    };
    for (uint32_t workers : {1u, 2u, 3u, 8u}) {
        test::Runner runner(test::Options(workers));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (int round = 0; round < 3; ++round) sort(scheduler);
        }) == Status::Ok);
    }
    test::Runner single(test::Options(0));
    REQUIRE(single.scheduler.Start() == Status::Ok);
    REQUIRE(single.scheduler.AttachThread() == Status::Ok);
    sort(single.scheduler);
    single.scheduler.DetachThread();
    single.scheduler.Stop();
    CHECK(different == 0);
    CHECK(std::is_sorted(first.begin(), first.end(), LessKey()));
}

TEST_CASE("ParallelSort: elements that can only be moved, large ones, a deque",
          "[parallel_sort][long]") {
    test::Runner runner(test::Options(3));
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (const char *pattern : kPatterns) {
            const std::vector<uint32_t> expected = Sorted(Keys(pattern, 80000));
            for (Form form : kForms) {
                std::vector<Owned> owned = Owneds(pattern, 80000);
                wrong += !SortWith(form, scheduler, owned, LessOwned());
                wrong += ValuesOf(owned) != expected;
            }
            std::vector<Owned> byKey = Owneds(pattern, 80000), scratch(80000);
            wrong += !ParallelSortByKey(scheduler, byKey.begin(), byKey.end(), scratch.begin(),
                                        [](const Owned &owned) { return *owned; });
            wrong += ValuesOf(byKey) != expected;
        }
        std::vector<Heavy> heavy(5000);
        Drawn draw{1};
        for (uint32_t i = 0; i < heavy.size(); ++i) heavy[i] = {draw() % 500, i, {}};
        std::vector<Heavy> expected = heavy;
        const auto less = [](const Heavy &a, const Heavy &b) { return a.key < b.key; };
        std::stable_sort(expected.begin(), expected.end(), less);
        SortWith(Form::Stable, scheduler, heavy, less);
        wrong += heavy != expected;

        std::deque<uint32_t> deque;
        for (uint32_t key : Keys("random", 5000)) deque.push_back(key);
        wrong += !ParallelSort(scheduler, deque.begin(), deque.end(), std::greater<>());
        wrong += !std::is_sorted(deque.begin(), deque.end(), std::greater<>());
    }) == Status::Ok);
    CHECK(wrong == 0);
}

TEST_CASE("ParallelSort: keys of all kinds of numbers", "[parallel_sort]") {
    enum class Layer : int8_t { Back = -3, Middle = 0, Front = 2 };
    test::Runner runner(test::Options(2));
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const std::vector<uint32_t> order = [] {
            std::vector<uint32_t> indices(5000);
            std::iota(indices.begin(), indices.end(), 0u);
            return indices;
        }();
        const auto check = [&](auto key) {
            for (size_t count : {size_t{500}, order.size()}) {
                const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
                std::vector<uint32_t> own(order.begin(), end), expected(own), scratch(count);
                ParallelSortByKey(scheduler, own.begin(), own.end(), scratch.begin(), key);
                const auto less = [&](uint32_t a, uint32_t b) { return key(a) < key(b); };
                std::stable_sort(expected.begin(), expected.end(), less);
                wrong += own != expected;
            }
        };
        const auto mixed = [](uint32_t i) { return Drawn{i}() * 2654435761u ^ i << 31; };
        check([&](uint32_t i) { return static_cast<uint8_t>(mixed(i)); });
        check([&](uint32_t i) { return static_cast<int8_t>(mixed(i)); });
        check([&](uint32_t i) { return static_cast<int16_t>(mixed(i)); });
        check([&](uint32_t i) { return static_cast<int32_t>(mixed(i)); });
        check([&](uint32_t i) { return uint64_t{mixed(i)} << 32 | mixed(i + 1); });
        check([&](uint32_t i) { return static_cast<int64_t>(uint64_t{mixed(i)} << 32); });
        check([&](uint32_t i) { return mixed(i) % 2 == 0; });
        check([&](uint32_t i) {
            return std::ldexp(static_cast<float>(static_cast<int32_t>(mixed(i))),
                              static_cast<int>(i % 60) - 90);
        });
        check([&](uint32_t i) { return static_cast<double>(static_cast<int32_t>(mixed(i))); });
        check([&](uint32_t i) {
            constexpr double kInfinity = std::numeric_limits<double>::infinity();
            return i % 3 == 0 ? kInfinity : i % 3 == 1 ? -kInfinity : 0.5;
        });
        check([&](uint32_t i) {
            constexpr Layer kLayers[] = {Layer::Middle, Layer::Front, Layer::Back};
            return kLayers[mixed(i) % 3];
        });
    }) == Status::Ok);
    CHECK(wrong == 0);
}

TEST_CASE("ParallelSort: no order of the elements makes it slow", "[parallel_sort]") {
    constexpr uint32_t kCount = 100000;
    const double ideal = kCount * std::log2(kCount);
    test::Runner runner(test::Options(1));
    std::string slow;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (const char *pattern : kPatterns) {
            for (Form form : kForms) {
                uint64_t compared = 0;
                const auto less = [&](const Record &a, const Record &b) {
                    ++compared;
                    return a.key < b.key;
                };
                std::vector<Record> records = Records(pattern, kCount);
                SortWith(form, scheduler, records, less);
                if (static_cast<double>(compared) > 2 * ideal)
                    slow += std::string(pattern) + ' ' + std::to_string(compared) + '\n';
            }
        }
        // McIlroy 1999, "A Killer Adversary for Quicksort": the keys are chosen while the sort
        // compares them, so that each pivot is bad.
        constexpr uint32_t kFew = 20000, kGas = kFew;
        std::vector<uint32_t> keys(kFew, kGas), order(kFew);
        std::iota(order.begin(), order.end(), 0u);
        // The first three are no run. Otherwise all keys would be chosen while the sort looks for
        // one.
        keys[0] = 1, keys[1] = 0, keys[2] = 2;
        uint32_t solid = 3, candidate = 0;
        uint64_t compared = 0;
        const auto adversary = [&](uint32_t a, uint32_t b) {
            ++compared;
            if (keys[a] == kGas && keys[b] == kGas) keys[a == candidate ? a : b] = solid++;
            if (keys[a] == kGas) {
                candidate = a;
            } else if (keys[b] == kGas) {
                candidate = b;
            }
            return keys[a] < keys[b];
        };
        ParallelSort(scheduler, order.begin(), order.end(), adversary);
        if (static_cast<double>(compared) > 4 * kFew * std::log2(kFew))
            slow += "adversary " + std::to_string(compared);
        const auto byKey = [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; };
        if (!std::is_sorted(order.begin(), order.end(), byKey)) slow += " not sorted";
    }) == Status::Ok);
    CHECK(slow == "");
}

TEST_CASE("ParallelSort: urgent tasks do not wait for the end of a sort", "[parallel_sort][long]") {
    constexpr uint32_t kCount = 150000;
    for (const char *pattern : {"random", "sorted", "adversary"}) {
        for (Form form : kForms) {
            INFO(pattern << (form == Form::Stable ? ", stable" : ""));
            SchedulerOptions options = test::Options(1);
            test::Runner runner(options);
            uint64_t compared = 0, longest = 0, submitted = 0;
            bool isPending = false;
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                auto urgent = [&](TaskScheduler *) {
                    longest = (std::max)(longest, compared - submitted);
                    isPending = false;
                };
                Counter counter;
                std::vector<uint32_t> gas(kCount, kCount);
                gas[0] = 1, gas[1] = 0, gas[2] = 2;
                uint32_t solid = 3, candidate = 0;
                const auto less = [&](const Record &a, const Record &b) {
                    if (++compared % 1000 == 0 && !isPending) {
                        isPending = true;
                        submitted = compared;
                        TaskScheduler::Current()->AddTask(MakeTask(urgent), &counter, test::kHigh);
                    }
                    if (pattern != std::string("adversary")) return a.key < b.key;
                    uint32_t &first = gas[a.index], &second = gas[b.index];
                    if (first == kCount && second == kCount)
                        (a.index == candidate ? first : second) = solid++;
                    if (first == kCount) {
                        candidate = a.index;
                    } else if (second == kCount) {
                        candidate = b.index;
                    }
                    return first < second;
                };
                std::vector<Record> records = Records(pattern, kCount);
                SortWith(form, scheduler, records, less);
                scheduler.WaitForCounter(&counter);
            }) == Status::Ok);
            CHECK(compared > kCount - 2);
            CHECK(longest <= (form == Form::Stable ? 20000 : 66000));
        }
    }
}

TEST_CASE("ParallelSort: an exception of a comparison reaches the caller, and no element is lost",
          "[parallel_sort][report][long]") {
    for (uint32_t workers : {1u, 3u}) {
        for (Form form : kForms) {
            INFO(workers << " workers" << (form == Form::Stable ? ", stable" : ""));
            test::Runner runner(test::Options(workers));
            uint32_t wrong = 0, throws = 0;
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                const auto all = Records("random", 100000);
                for (uint32_t at : {1u, 2u, 50u, 3000u, 90000u, 110000u, 180000u, 300000u, 700000u,
                                    1000000u, 1400000u}) {
                    std::atomic<uint32_t> compared{0};
                    const auto throwing = [&](auto less) {
                        return [&compared, less, at](const auto &a, const auto &b) {
                            if (++compared == at) throw at;
                            return less(a, b);
                        };
                    };
                    std::vector<Record> records = all;
                    const auto sorts = [&](auto &elements, auto less) {
                        try {
                            return SortWith(form, scheduler, elements, throwing(less));
                        } catch (uint32_t thrown) {
                            wrong += thrown != at;
                            ++throws;
                            return false;
                        }
                    };
                    const bool isSorted = sorts(records, LessKey());
                    wrong += isSorted != (compared < at);
                    const auto byIndex = [](const Record &a, const Record &b) {
                        return a.index < b.index;
                    };
                    std::sort(records.begin(), records.end(), byIndex);
                    wrong += records != all;

                    compared = 0;
                    std::vector<Owned> owned = Owneds("random", 80000);
                    const bool areSorted = sorts(owned, LessOwned());
                    wrong += areSorted != (compared < at);
                    wrong += Sorted(ValuesOf(owned)) != Sorted(Keys("random", 80000));
                }
            }) == Status::Ok);
            CHECK(wrong == 0);
            CHECK(throws >= 18);
            CHECK(runner.log.Text() == "");
        }
    }
}

TEST_CASE("ParallelSort: a comparison that throws in a heap loses no element", "[parallel_sort]") {
    // All comparisons are true: each pivot is the worst, so most of the range becomes a heap.
    test::Runner runner(test::Options(1));
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (uint32_t at = 5000; at < 400000; at += 10007) {
            uint32_t compared = 0;
            std::vector<Owned> owned = Owneds("random", 5000);
            const auto less = [&](const Owned &a, const Owned &b) {
                if (++compared == at) throw at;
                // The first answer differs, so that this is not taken for a reversed range.
                return a != nullptr && b != nullptr && compared != 1;
            };
            try {
                ParallelSort(scheduler, owned.begin(), owned.end(), less);
            } catch (uint32_t thrown) {
                wrong += thrown != at;
            }
            wrong += Sorted(ValuesOf(owned)) != Sorted(Keys("random", 5000));
        }
    }) == Status::Ok);
    CHECK(wrong == 0);
}

TEST_CASE("ParallelSort: a comparison that is no order loses no element", "[parallel_sort][long]") {
    test::Runner runner(test::Options(2));
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (uint32_t count : {30u, 1000u, 5000u, 100000u}) {
            for (uint32_t kind = 0; kind < 4; ++kind) {
                for (Form form : kForms) {
                    std::atomic<uint32_t> calls{count};
                    const auto answer = [&](uint32_t a, uint32_t b) {
                        if (kind == 0) return ++calls != count + 1;
                        if (kind == 1) return a <= b;
                        if (kind == 2) return a % 3 == (b + 1) % 3;
                        return Drawn{++calls}() % 2 == 0;
                    };
                    const std::vector<uint32_t> keys = Keys("random", count);
                    std::vector<uint32_t> cheap = keys;
                    SortWith(form, scheduler, cheap, answer);
                    wrong += Sorted(cheap) != Sorted(keys);
                    std::vector<Owned> owned = Owneds("random", count);
                    SortWith(form, scheduler, owned,
                             [&](const Owned &a, const Owned &b) { return answer(*a, *b); });
                    wrong += Sorted(ValuesOf(owned)) != Sorted(keys);
                }
            }
        }
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("ParallelSort: a cancelled sort ends early and loses no element",
          "[parallel_sort][long]") {
    test::Runner runner(test::Options(2));
    uint32_t wrong = 0;
    uint64_t most = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const std::vector<uint32_t> keys = Keys("random", 300000);
        for (Form form : kForms) {
            for (uint32_t at : {0u, 1000u, 250000u, 400000u, 2000000u}) {
                CancelSource source(scheduler);
                LoopOptions options;
                options.cancel = source.Token();
                if (at == 0) source.Cancel();
                std::atomic<uint32_t> compared{0};
                const auto less = [&](const Owned &a, const Owned &b) {
                    if (++compared == at) source.Cancel();
                    return *a < *b;
                };
                std::vector<Owned> owned = Owneds("random", 300000);
                wrong += SortWith(form, scheduler, owned, less, options);
                wrong += Sorted(ValuesOf(owned)) != Sorted(keys);
                most = (std::max)(most, uint64_t{compared} - at);
            }
        }
        CancelSource source(scheduler);
        LoopOptions options;
        options.cancel = source.Token();
        std::vector<Owned> owned = Owneds("random", 300000), scratch(owned.size());
        std::atomic<uint32_t> calls{0};
        const auto key = [&](const Owned &each) {
            if (++calls == 700000) source.Cancel();
            return *each;
        };
        wrong +=
            ParallelSortByKey(scheduler, owned.begin(), owned.end(), scratch.begin(), key, options);
        wrong += Sorted(ValuesOf(owned)) != Sorted(keys);
        wrong += calls > 1300000;  // of 2,400,000 for the four digits
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(most < 140000);  // what both workers were at: a pass through 65,536 elements each
}

TEST_CASE("ParallelSort: called by attached and external threads at once", "[parallel_sort]") {
    for (test::Life life : {test::Life::Run, test::Life::Start}) {
        test::Runner runner(test::Options(2));
        std::atomic<uint32_t> wrong{0};
        CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                  test::Threads threads(4, [&](uint32_t i) {
                      const bool attach = i % 2 != 0;
                      if (attach && scheduler.AttachThread() != Status::Ok) ++wrong;
                      wrong += WrongSorts(scheduler, kPatterns[i], 30000, 0);
                      if (attach) scheduler.DetachThread();
                  });
              }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("ParallelSort: a stopped scheduler is reported; tasks have the name of the options",
          "[parallel_sort][report]") {
    SchedulerOptions settings = test::Options(2);
    struct Seen {
        std::atomic<uint32_t> named{0}, others{0};
    } seen;
    settings.trace.user = &seen;
    settings.trace.kinds = TraceHooks::Bit(TraceKind::TaskBegin);
    settings.trace.event = [](const TraceEvent &event, void *user) {
        Seen &all = *static_cast<Seen *>(user);
        ++(event.task != nullptr && event.task == std::string("draws") ? all.named : all.others);
    };
    test::Runner runner(settings);
    const std::vector<uint32_t> keys = Keys("random", 100000);
    std::vector<uint32_t> own = keys, scratch(own.size());
    LoopOptions options;
    options.name = "draws";
    const auto key = [](uint32_t i) { return i; };
    CHECK_FALSE(ParallelSort(runner.scheduler, own.begin(), own.end()));
    CHECK_FALSE(ParallelStableSort(runner.scheduler, own.begin(), own.end(), scratch.begin()));
    CHECK_FALSE(ParallelSortByKey(runner.scheduler, own.begin(), own.end(), scratch.begin(), key));
    CHECK(own == keys);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 3);
    CHECK(runner.log.Count() == 3);

    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (Form form : kForms) SortWith(form, scheduler, own = keys, std::less<>(), options);
        ParallelSortByKey(scheduler, own.begin(), own.end(), scratch.begin(), key, options);
    }) == Status::Ok);
    CHECK(seen.named > 100);
    CHECK(seen.others == 1);  // the main task
}
