// Tests the description, ideals, shares and report of described frames (bench/frame/).
#include "frame/description.h"
#include "frame/shares.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <sstream>

using namespace frame;

namespace {

Problem ParseText(const std::string &text, Frame *frame) {
    std::istringstream stream(text);
    return Parse(stream, 1, frame);
}

Problem ProblemOf(const std::string &text) {
    Frame frame;
    return ParseText(text, &frame);
}

// A stage whose tasks do nothing. Their durations are given.
Stage Known(const std::string &name, std::vector<double> nanoseconds, std::vector<uint32_t> after) {
    Stage stage{name, {}, after};
    stage.tasks.assign(nanoseconds.size(), {[](weft::TaskScheduler *, void *) {}, nullptr});
    stage.nanoseconds = nanoseconds;
    return stage;
}

std::vector<Stage> Diamond() {
    return {Known("top", {10}, {}), Known("left", {20, 30}, {0}), Known("right", {50}, {0}),
            Known("bottom", {5, 5}, {1, 2})};
}

double IdealOf(const std::vector<Stage> &stages, uint32_t workers) {
    return IdealNs(stages, KnownWork(stages), workers);
}

}  // namespace

TEST_CASE("frame: all parts of a description are read", "[frame]") {
    Frame frame;
    const Problem problem = ParseText(
        "# a comment\n"
        "\n"
        "stage input tasks 1 constant 50us   # another\n"
        "  stage animate tasks 40 uniform 20us 60us after input priority high\n"
        "stage think tasks 3 normal 1.5ms 100ns after input\n"
        "stage physics tasks 24 lognormal 80us 0.5 after input\n"
        "stage render tasks 60 spiky 30us 2% 400us after animate physics priority low\n",
        &frame);
    CHECK(problem == "");
    REQUIRE(frame.stages.size() == 5);
    CHECK(frame.stages[0].name == "input");
    CHECK(frame.stages[0].after.empty());
    CHECK(frame.stages[1].tasks.size() == 40);
    CHECK(frame.stages[1].priority == weft::Priority::High);
    CHECK(frame.stages[2].after == std::vector<uint32_t>{0});
    CHECK(frame.stages[4].after == std::vector<uint32_t>{1, 3});
    CHECK(frame.stages[4].priority == weft::Priority::Low);
}

TEST_CASE("frame: an error in a description is reported with its line", "[frame]") {
    const std::string first = "stage a tasks 1 constant 1us\n";
    const std::pair<const char *, const char *> mistakes[] = {
        {"step b tasks 1 constant 1us", "expected stage, found step"},
        {"stage", "the stage's name is missing"},
        {"stage after tasks 1 constant 1us", "after cannot be a stage's name"},
        {"stage a tasks 1 constant 1us", "there are two stages a"},
        {"stage b 1 constant 1us", "expected tasks, found 1"},
        {"stage b tasks 0 constant 1us", "0 is no number of tasks, 1 to 100000"},
        {"stage b tasks 100001 constant 1us", "100001 is no number of tasks, 1 to 100000"},
        {"stage b tasks 1.5 constant 1us", "a number of tasks is a whole one"},
        {"stage b tasks -1 constant 1us", "-1 is no number of tasks, 1 to 100000"},
        {"stage b tasks 1 sometimes 1us",
         "sometimes is no duration (constant, uniform, normal, lognormal or spiky)"},
        {"stage b tasks 1 constant", "time, such as 50us, of at most 10s is missing"},
        {"stage b tasks 1 constant 50", "50 is no time, such as 50us, of at most 10s"},
        {"stage b tasks 1 constant 1.2.3us", "1.2.3us is no time, such as 50us, of at most 10s"},
        {"stage b tasks 1 constant us", "us is no time, such as 50us, of at most 10s"},
        {"stage b tasks 1 constant 11s", "11s is no time, such as 50us, of at most 10s"},
        {"stage b tasks 1 uniform 60us 20us", "the longer time comes first"},
        {"stage b tasks 1 lognormal 60us 4", "4 is no standard deviation of a logarithm, 0 to 3"},
        {"stage b tasks 1 spiky 60us 101% 1ms", "101% is no percentage, such as 2%"},
        {"stage b tasks 1 constant 1us after", "the name of an earlier stage is missing"},
        {"stage b tasks 1 constant 1us after b", "no stage b comes before this one"},
        {"stage b tasks 1 constant 1us priority urgent",
         "urgent is no priority (high, normal or low)"},
        {"stage b tasks 1 constant 1us stack large",
         "expected after or priority, once each; found stack"},
        {"stage b tasks 1 constant 1us 2us", "expected after or priority, once each; found 2us"},
        {"stage b tasks 1 constant 1us after a after a",
         "expected after or priority, once each; found after"},
    };
    for (const auto &[line, what] : mistakes)
        CHECK(ProblemOf(first + line) == std::string("line 2: ") + what);
    CHECK(ProblemOf("# nothing\n") == "the frame has no stage");
    Frame frame;
    CHECK(ReadFile("no/such.frame", 1, &frame) == "no/such.frame: cannot be read");
}

// Needs the root of the repository as the working folder, where tests/run.sh runs the tests.
TEST_CASE("frame: the shipped descriptions are valid", "[frame]") {
    for (const auto &[name, least] :
         {std::pair("indie", 150u), std::pair("aaa", 1000u), std::pair("spiky", 400u)}) {
        Frame frame;
        CHECK(ReadFile(std::string("bench/frame/") + name + ".frame", 1, &frame) == "");
        CHECK(frame.name == name);
        size_t tasks = 0;
        for (const Stage &stage : frame.stages) tasks += stage.tasks.size();
        CHECK(tasks >= least);
    }
}

TEST_CASE("frame: durations depend only on seed and frame number, and follow their distribution",
          "[frame]") {
    const std::string text =
        "stage constant tasks 1000 constant 3us\nstage uniform tasks 1000 uniform 2us 6us\n"
        "stage normal tasks 1000 normal 10us 20us\nstage lognormal tasks 1001 lognormal 10us 1\n"
        "stage spiky tasks 1000 spiky 1us 10% 9us\n";
    const auto drawn = [&](uint64_t seed, uint32_t number) {
        std::istringstream stream(text);
        Frame frame;
        REQUIRE(Parse(stream, seed, &frame) == "");
        frame.prepare(frame, number);
        std::vector<std::vector<double>> durations;
        for (const Stage &stage : frame.stages) durations.push_back(stage.nanoseconds);
        return durations;
    };
    auto durations = drawn(1, 7);
    CHECK(drawn(1, 7) == durations);
    CHECK(drawn(2, 7) != durations);
    CHECK(drawn(1, 8) != durations);
    for (std::vector<double> &stage : durations) std::sort(stage.begin(), stage.end());
    CHECK((durations[0].front() == 3000 && durations[0].back() == 3000));
    CHECK((durations[1].front() >= 2000 && durations[1].back() <= 6000));
    CHECK((durations[1].front() < 2100 && durations[1].back() > 5900));
    CHECK((durations[2].front() == 0 && durations[2].back() > 40000));
    CHECK((durations[3][500] > 9000 && durations[3][500] < 11000));
    const auto spikes = std::count(durations[4].begin(), durations[4].end(), 9000.0);
    CHECK((spikes > 70 && spikes < 130));
    CHECK(std::count(durations[4].begin(), durations[4].end(), 1000.0) == 1000 - spikes);
}

TEST_CASE("frame: the ideal time is the longer one of critical path and work bound", "[frame]") {
    CHECK(KnownWork(Diamond()).all == 120);
    CHECK(IdealOf(Diamond(), 1) == 120);
    CHECK(IdealOf(Diamond(), 2) == 65);  // top, right, bottom
    CHECK(IdealOf(Diamond(), 8) == 65);
    CHECK(IdealOf({Known("wide", std::vector<double>(100, 10), {})}, 4) == 250);
    CHECK(IdealOf({Known("first", {40}, {}), Known("beside", {70}, {})}, 2) == 70);
    std::vector<Stage> unknown = Diamond();
    unknown[1].nanoseconds.clear();
    CHECK(KnownWork(unknown).longest.empty());
}

TEST_CASE("frame: a percentile is one of the samples (nearest rank)", "[frame]") {
    std::vector<double> samples;
    for (int i = 100; i > 0; --i) samples.push_back(i);
    CHECK(Percentile(samples, 1) == 1);
    CHECK(Percentile(samples, 50) == 50);
    CHECK(Percentile(samples, 99) == 99);
    CHECK(Percentile(samples, 100) == 100);
    CHECK(Percentile({1, 2, 3}, 50) == 2);
    CHECK(Percentile({7}, 99) == 7);
}

// A recorded frame from 0 to 100. Worker 0 starts the stages on fiber 0.
//
//     stage    worker   from   to
//     first    0        10     30
//     second   0        40     60     without the task from 50 to 54
//     second   1        45     55
TEST_CASE("frame: shares and steals of a recorded frame", "[frame]") {
    using Kind = Event::Kind;
    const std::vector<Stage> stages{Known("first", {0}, {}), Known("second", {0, 0}, {0})};
    const char *first = stages[0].name.c_str(), *second = stages[1].name.c_str();
    const std::vector<Event> events{
        {-5, Kind::Begin, 0, 0, kOwnTask},    {0, Kind::FrameBegin, 0, 0, nullptr},
        {5, Kind::Submit, 0, 0, first},       {10, Kind::Begin, 0, 0, first},
        {30, Kind::End, 0, 0, first},         {35, Kind::Submit, 0, 0, second},
        {40, Kind::Begin, 0, 0, second},      {45, Kind::Begin, 1, 1, second},
        {50, Kind::Switch, 0, 2, nullptr},    {54, Kind::Switch, 0, 0, nullptr},
        {55, Kind::End, 1, 1, second},        {60, Kind::End, 0, 0, second},
        {100, Kind::FrameEnd, 0, 0, nullptr},
    };
    const Account account = TakeAccount(events, stages, 2);
    REQUIRE(account.workers.size() == 2);
    // 50 to 54: worker 0 does not run its task, and no other task is left
    CHECK(account.workers[0].busy == Approx(0.20 + 0.16));
    CHECK(account.workers[0].idle == Approx(0.04));
    CHECK(account.workers[0].overhead == Approx(0.60));
    // idle while the only task of the first stage runs, and from 55 to 60
    CHECK(account.workers[1].busy == Approx(0.10));
    CHECK(account.workers[1].idle == Approx(0.25));
    CHECK(account.workers[1].overhead == Approx(0.65));
    CHECK(account.stolen == 1);
    CHECK(account.frameNs == std::vector<double>{100});
    CHECK(account.work.at(0).longest == std::vector<double>{20, 16});
    CHECK(account.work.at(0).all == 46);
}

namespace {

// Each task counts itself. It also checks the counts of the earlier stages when it begins.
struct Counted {
    std::atomic<uint32_t> begun{0};
    std::vector<std::pair<const Counted *, uint32_t>> after;  // stage, number of its tasks
    std::atomic<uint32_t> tooEarly{0};
    uint32_t frames = 0;

    static void Count(weft::TaskScheduler *, void *arg) {
        Counted &self = *static_cast<Counted *>(arg);
        for (const auto &[earlier, tasks] : self.after) {
            if (earlier->begun.load() != tasks * self.frames) ++self.tooEarly;
        }
        ++self.begun;
    }
};

}  // namespace

TEST_CASE("frame: each task runs once per frame, after all tasks of the stages before it",
          "[frame]") {
    const uint32_t workers = GENERATE(1u, 2u);
    constexpr uint32_t kTasks[] = {1, 40, 7, 100, 3}, kStages = 5, kFrames = 30, kWarmUp = 2;
    const std::vector<uint32_t> after[] = {{}, {0}, {0}, {1, 2}, {}};
    std::vector<Counted> counted(kStages);
    Frame frame{"counted", {}, nullptr};
    for (uint32_t i = 0; i < kStages; ++i) {
        Stage stage{
            "stage " + std::to_string(i), {kTasks[i], {Counted::Count, &counted[i]}}, after[i]};
        stage.priority = static_cast<weft::Priority>(i % 3);
        for (const uint32_t earlier : after[i])
            counted[i].after.push_back({&counted[earlier], kTasks[earlier]});
        frame.stages.push_back(stage);
    }
    frame.prepare = [&](Frame &, uint32_t) {
        for (Counted &stage : counted) ++stage.frames;
    };
    RunOptions options;
    options.workers = workers;
    options.frames = kFrames;
    options.warmUp = kWarmUp;
    const Report report = RunFrames(frame, options);
    CHECK(report.problem == "");
    for (uint32_t i = 0; i < kStages; ++i) {
        // a run without hooks, and a run with hooks
        CHECK(counted[i].begun == kTasks[i] * 2 * (kFrames + kWarmUp));
        CHECK(counted[i].tooEarly == 0);
    }
    CHECK(report.workers == workers);
    CHECK(report.tasks == 151);
    CHECK(report.frames.size() == kFrames);
    CHECK(report.tracedFrames.size() == kFrames);
    CHECK(report.ratios.size() == kFrames);
    CHECK(report.isIdealMeasured);
    CHECK(report.shares.size() == workers);
    for (const Share &share : report.shares)
        CHECK(share.busy + share.idle + share.overhead == Approx(1));
    if (workers == 1) CHECK(report.stolen == 0);
}

TEST_CASE("frame: invalid stages and options are reported", "[frame]") {
    const auto problemOf = [](std::vector<Stage> stages, uint32_t workers = 1,
                              uint32_t frames = 1) {
        Frame frame{"bad", stages, nullptr};
        RunOptions options;
        options.workers = workers;
        options.frames = frames;
        return RunFrames(frame, options).problem;
    };
    CHECK(problemOf({}) == "the frame has no stage");
    CHECK(problemOf({Known("empty", {}, {})}) == "stage empty has no task");
    CHECK(problemOf({Known("self", {1}, {0})}) ==
          "stage self is after one that does not come before it");
    CHECK(problemOf(std::vector<Stage>(kMaxStages + 1, Known("many", {1}, {}))) ==
          "more than 64 stages");
    CHECK(problemOf(Diamond(), 0) == "workers: 1 to 1024");
    CHECK(problemOf(Diamond(), 1, 0) == "no frames to run");
    CHECK(problemOf(Diamond()) == "");
}
