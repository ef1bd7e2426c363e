// simulator [--model NAME] [--schedules N] [--seed S] [--weak] [--steps] [--until-failure]
// simulator --list
//
// Explores N schedules of each model (default 12,000), beginning with seed S (default 1). A failing
// seed is printed with the command that replays it. --weak: loads may give older values, see
// weak_memory.h. --steps prints each step, see tests/simulate.sh. --until-failure: models after the
// first that fails are left out.
#include "simulator/models.h"
#include "simulator/virtual_threads.h"
#include "simulator/weak_memory.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_set>

#include <malloc.h>

namespace {

struct Options {
    std::string model;
    uint64_t schedules = 12000;
    uint64_t seed = 1;
};

struct Totals {
    uint64_t distinct = 0;
    uint64_t passed = 0;
    uint64_t failed = 0;
};

void ExploreModel(const simulator::Model &model, const Options &options, Totals &totals) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    std::unordered_set<uint64_t> hashes;
    uint64_t steps = 0;
    const uint64_t schedules = (options.schedules + model.share - 1) / model.share;
    for (uint64_t i = 0; i < schedules; ++i) {
        const uint64_t seed = options.seed + i;
        const simulator::Outcome outcome = simulator::Explore(seed, model.body);
        if (!outcome.failure.empty()) {
            std::printf("%-17s FAILED after %" PRIu64 " schedules: seed %" PRIu64
                        ": %s\n    replay: tests/simulate.sh %s--replay %s %" PRIu64 "\n",
                        model.name, i + 1, seed, outcome.failure.c_str(),
                        simulator::weak::g_orders != nullptr ? "--weak " : "", model.name, seed);
            ++totals.failed;
            return;
        }
        hashes.insert(outcome.hash);
        steps += outcome.steps;
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::printf("%-17s %9zu distinct of %9" PRIu64
                " schedules, %6.0f steps each, %8.0f a second: %s\n",
                model.name, hashes.size(), schedules,
                static_cast<double>(steps) / static_cast<double>(schedules),
                static_cast<double>(schedules) / seconds, model.explores);
    totals.distinct += hashes.size();
    ++totals.passed;
}

}  // namespace

int main(int argc, char **argv) {
#if defined(M_TRIM_THRESHOLD)
    // What a schedule frees is kept for the next one.
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
#endif
    Options options;
    bool list = false, untilFailure = false;
    bool wrong = false;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        const bool more = i + 1 < argc;
        if (more && option == "--model")
            options.model = argv[++i];
        else if (more && option == "--schedules")
            options.schedules = std::strtoull(argv[++i], nullptr, 10);
        else if (more && option == "--seed")
            options.seed = std::strtoull(argv[++i], nullptr, 10);
        else if (option == "--steps")
            simulator::PrintSteps(true);
        else if (option == "--weak")
            simulator::weak::TurnOn();
        else if (option == "--list")
            list = true;
        else if (option == "--until-failure")
            untilFailure = true;
        else
            wrong = true;
    }
    if (wrong || options.schedules == 0 || options.seed == 0) {
        std::fprintf(stderr,
                     "usage: simulator [--model NAME] [--schedules 1..] [--seed 1..] [--weak] "
                     "[--steps] [--until-failure], "
                     "or simulator --list\n");
        return 2;
    }
    Totals totals;
    for (const auto models :
         {simulator::ContainerModels, simulator::SchedulerModels, simulator::FairModels,
          simulator::WaitModels,      simulator::OwnModels,       simulator::LargeModels,
          simulator::EmbedModels,     simulator::IdleModels,      simulator::GroupModels,
          simulator::MeetModels,      simulator::CrowdModels,     simulator::TimeModels,
          simulator::BlockingModels,  simulator::LoopModels,      simulator::SyncLockModels,
          simulator::SyncModels,      simulator::CoroutineModels, simulator::FrameModels,
          simulator::FrameViewModels, simulator::DataModels,      simulator::PostModels}) {
        for (const simulator::Model &model : models()) {
            if (untilFailure && totals.failed != 0) break;
            if (list) std::puts(model.name);
            if (!list && (options.model.empty() || options.model == model.name))
                ExploreModel(model, options, totals);
        }
    }
    if (list) return 0;
    std::printf("%" PRIu64 " distinct schedules\n", totals.distinct);
    std::printf("%" PRIu64 " passed, %" PRIu64 " failed\n", totals.passed, totals.failed);
    return totals.failed != 0 || totals.passed == 0 ? 1 : 0;
}
