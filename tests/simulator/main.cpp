// The simulator's program: explores thread schedules of weft's own sources. It prints a failing
// seed together with the command that replays it. Options: simulator --help. For --weak see
// weak_memory.h, for --steps tests/simulate.sh.
#include "simulator/models.h"
#include "simulator/virtual_threads.h"
#include "simulator/weak_memory.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <unordered_set>

#include <malloc.h>

namespace {

constexpr char kScript[] = "tests/simulate.sh";

struct Options {
    std::string model;
    uint64_t schedules = 12000;
    uint64_t seed = 1;
};

struct Totals {
    uint64_t distinct = 0;
    uint64_t passed = 0;
    uint64_t failed = 0;
    uint64_t cells = 0, exploredCells = 0;
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
                        ": %s\n    replay: %s %s--replay %s %" PRIu64 "\n",
                        model.name, i + 1, seed, outcome.failure.c_str(), kScript,
                        simulator::weak::g_orders != nullptr ? "--weak " : "", model.name, seed);
            ++totals.failed;
            return;
        }
        hashes.insert(outcome.hash);
        steps += outcome.steps;
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::printf("%-17s %9zu distinct of %9" PRIu64
                " schedules, %6.0f steps each, %8.0f a second: %s",
                model.name, hashes.size(), schedules,
                static_cast<double>(steps) / static_cast<double>(schedules),
                static_cast<double>(schedules) / seconds, model.explores);
    if (model.cells != nullptr) {
        const uint64_t explored = model.cells->explored.size();
        std::printf("; %" PRIu64 " of %" PRIu64 " cells", explored, model.cells->count);
        totals.exploredCells += explored;
        totals.cells += model.cells->count;
    }
    std::puts("");
    totals.distinct += hashes.size();
    ++totals.passed;
}

}  // namespace

int main(int argc, char **argv) {
#if defined(M_TRIM_THRESHOLD)
    // Keeps the memory that a schedule frees for the next schedule.
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
#endif
    Options options;
    bool list = false, untilFailure = false;
    CLI::App app("Explores thread schedules of weft's own sources, each repeatable by its seed.");
    // The last of several is valid: mutants give their number of schedules after the common one.
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.add_option("--model", options.model, "explore only this model");
    app.add_option("--schedules", options.schedules, "schedules of each model")
        ->check(CLI::Range(uint64_t{1}, UINT64_MAX))
        ->capture_default_str();
    app.add_option("--seed", options.seed, "seed of the first schedule")
        ->check(CLI::Range(uint64_t{1}, UINT64_MAX))
        ->capture_default_str();
    app.add_flag_callback("--weak", simulator::weak::TurnOn, "loads may return older values");
    app.add_flag_callback(
        "--steps", [] { simulator::PrintSteps(true); }, "print each step");
    app.add_flag("--until-failure", untilFailure, "explore no model after one that failed");
    app.add_flag("--list", list, "print the names of the models");
    CLI11_PARSE(app, argc, argv);
    Totals totals;
    for (const auto models : {
             simulator::ContainerModels, simulator::CounterModels,   simulator::SchedulerModels,
             simulator::FairModels,      simulator::WaitModels,      simulator::OwnModels,
             simulator::RescueModels,    simulator::EmbedModels,     simulator::GroupModels,
             simulator::IdleModels,      simulator::MeetModels,      simulator::BlockingModels,
             simulator::FrameModels,     simulator::FrameViewModels, simulator::CrowdModels,
             simulator::TimeModels,      simulator::PollModels,      simulator::IoModels,
             simulator::CoroutineModels, simulator::LoopModels,      simulator::FlowModels,
             simulator::GraphModels,     simulator::DataModels,      simulator::ResultModels,
             simulator::SyncLockModels,  simulator::SyncModels,      simulator::PostModels,
             simulator::ProtocolModels,  simulator::GridModels,      simulator::StallModels,
             simulator::EdgeModels,
         }) {
        for (const simulator::Model &model : models()) {
            if (untilFailure && totals.failed != 0) break;
            if (list) std::puts(model.name);
            if (!list && (options.model.empty() || options.model == model.name))
                ExploreModel(model, options, totals);
        }
    }
    if (list) return 0;
    std::printf("%" PRIu64 " distinct schedules, %" PRIu64 " of %" PRIu64 " cells of grids\n",
                totals.distinct, totals.exploredCells, totals.cells);
    std::printf("%" PRIu64 " passed, %" PRIu64 " failed\n", totals.passed, totals.failed);
    return totals.failed != 0 || totals.passed == 0 ? 1 : 0;
}
