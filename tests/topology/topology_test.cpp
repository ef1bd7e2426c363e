// Groups of machines that a description or XML gives to hwloc, and of the real machine.
#include "weft/topology/topology.h"

#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/thread_cpus.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <hwloc.h>
#include <pthread.h>
#include <sched.h>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

using Cpus = std::set<uint32_t>;
using Texts = std::vector<std::string>;

Cpus Range(uint32_t first, uint32_t last) {
    Cpus cpus;
    for (uint32_t cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
    return cpus;
}

Cpus CpusOf(const WorkerGroup &group) {
    Cpus cpus;
    for (uint32_t cpu = 0; cpu < group.cpuWords * 64; ++cpu) {
        if ((group.cpus[cpu / 64] >> (cpu % 64) & 1) != 0) cpus.insert(cpu);
    }
    return cpus;
}

// Writes CPUs as in "0-3 8".
std::string Text(const Cpus &cpus) {
    std::string text;
    for (auto cpu = cpus.begin(); cpu != cpus.end();) {
        const uint32_t first = *cpu;
        uint32_t last = first;
        while (++cpu != cpus.end() && *cpu == last + 1) last = *cpu;
        text += (text.empty() ? "" : " ") + std::to_string(first);
        if (last != first) text += "-" + std::to_string(last);
    }
    return text;
}

// Writes one line for each group, as in "node 0: 4 on 0-3".
Texts Describe(const Topology &machine) {
    Texts texts;
    for (uint32_t i = 0; i < machine.GroupCount(); ++i) {
        const WorkerGroup &group = machine.Groups()[i];
        texts.push_back(std::string(group.name) + ": " + std::to_string(group.workers) + " on " +
                        Text(CpusOf(group)));
    }
    return texts;
}

TopologyOptions Fake(const char *source) {
    TopologyOptions options;
    options.source = source;
    return options;
}

Texts Describe(SplitBy by, const TopologyOptions &options) {
    const Topology machine(by, options);
    CHECK(machine.LastError() == Status::Ok);
    return Describe(machine);
}
Texts Describe(SplitBy by, const std::string &source) { return Describe(by, Fake(source.c_str())); }

// A machine that a test makes from a description, changes and writes as XML.
class Model {
public:
    explicit Model(const char *description) {
        REQUIRE(hwloc_topology_init(&m_topology) == 0);
        REQUIRE(hwloc_topology_set_synthetic(m_topology, description) == 0);
        hwloc_topology_set_flags(m_topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
        REQUIRE(hwloc_topology_load(m_topology) == 0);
    }
    ~Model() { hwloc_topology_destroy(m_topology); }
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;

    // A larger speed is faster, -1 is unknown. Different values of `type` keep hwloc from merging
    // two kinds.
    Model &Kind(const Cpus &cpus, int speed, const char *type = nullptr) {
        char name[] = "CoreType", value[16] = "";
        std::strncpy(value, type != nullptr ? type : "", sizeof value - 1);
        hwloc_info_s info{name, value};
        hwloc_bitmap_t set = Set(cpus);
        CHECK(hwloc_cpukinds_register(m_topology, set, speed, type != nullptr ? 1 : 0, &info, 0) ==
              0);
        hwloc_bitmap_free(set);
        return *this;
    }
    Model &Without(const Cpus &cpus) {
        hwloc_bitmap_t set = Set(cpus);
        hwloc_bitmap_andnot(set, hwloc_topology_get_topology_cpuset(m_topology), set);
        CHECK(hwloc_topology_restrict(m_topology, set, 0) == 0);
        hwloc_bitmap_free(set);
        return *this;
    }
    // Allows only these CPUs, as a container does.
    Model &Allow(const Cpus &cpus) {
        hwloc_bitmap_t set = Set(cpus);
        CHECK(hwloc_topology_allow(m_topology, set, nullptr, HWLOC_ALLOW_FLAG_CUSTOM) == 0);
        hwloc_bitmap_free(set);
        return *this;
    }

    std::string Xml() const {
        char *buffer = nullptr;
        int bytes = 0;
        REQUIRE(hwloc_topology_export_xmlbuffer(m_topology, &buffer, &bytes, 0) == 0);
        const std::string text(buffer);
        hwloc_free_xmlbuffer(m_topology, buffer);
        return text;
    }

private:
    static hwloc_bitmap_t Set(const Cpus &cpus) {
        hwloc_bitmap_t set = hwloc_bitmap_alloc();
        for (const uint32_t cpu : cpus) hwloc_bitmap_set(set, cpu);
        return set;
    }
    hwloc_topology_t m_topology = nullptr;
};

// Four performance cores with two threads each, CPUs 0 to 7, and four efficiency cores with one
// thread each, CPUs 8, 10, 12 and 14.
std::string Hybrid() {
    return Model("l3:1 core:8 pu:2")
        .Without({9, 11, 13, 15})
        .Kind(Range(0, 7), 1)
        .Kind({8, 10, 12, 14}, 0)
        .Xml();
}

std::vector<uint64_t> Mask(const Cpus &cpus) {
    std::vector<uint64_t> words(*cpus.rbegin() / 64 + 1);
    for (const uint32_t cpu : cpus) words[cpu / 64] |= uint64_t{1} << (cpu % 64);
    return words;
}

// Returns the CPUs of the calling thread.
Cpus CpusOfThread() {
    const test::Cpus cpus = test::CpusOfThread();
    return {cpus.begin(), cpus.end()};
}

bool Restrict(const Cpus &cpus) { return test::Restrict({cpus.begin(), cpus.end()}); }

}  // namespace

TEST_CASE("topology: a group for each NUMA node", "[topology]") {
    CHECK(Describe(SplitBy::NumaNode, "node:2 core:2 pu:2") ==
          Texts{"node 0: 4 on 0-3", "node 1: 4 on 4-7"});
}

TEST_CASE("topology: nodes have the numbers of the system", "[topology]") {
    CHECK(Describe(SplitBy::NumaNode, "node:2(indexes=3,5) core:2 pu:1") ==
          Texts{"node 3: 2 on 0-1", "node 5: 2 on 2-3"});
}

TEST_CASE("topology: a second memory node of the same CPUs is not a group", "[topology]") {
    CHECK(Describe(SplitBy::NumaNode, "pack:2 [numa(memory=4GB)] [numa(memory=1GB)] core:2 pu:1") ==
          Texts{"node 0: 2 on 0-1", "node 2: 2 on 2-3"});
}

TEST_CASE("topology: a group for each last-level cache", "[topology]") {
    CHECK(Describe(SplitBy::Cache, "l3:2 core:8 pu:1") ==
          Texts{"cache 0: 8 on 0-7", "cache 1: 8 on 8-15"});
    CHECK(Describe(SplitBy::Cache, "l3:2 l2:4 core:2 pu:1") ==
          Texts{"cache 0: 8 on 0-7", "cache 1: 8 on 8-15"});
    CHECK(Describe(SplitBy::Cache, "l3:2 pu:2") == Texts{"cache 0: 2 on 0-1", "cache 1: 2 on 2-3"});
}

TEST_CASE("topology: without an L3, L2 caches that cores share make groups", "[topology]") {
    CHECK(Describe(SplitBy::Cache, "l2:2 core:4 pu:1") ==
          Texts{"cache 0: 4 on 0-3", "cache 1: 4 on 4-7"});
}

TEST_CASE("topology: if only some CPUs have an L3, the others are grouped by their L2",
          "[topology]") {
    std::string mixed = Model("l3:2 l2:2 core:2 pu:1").Xml();
    const size_t second = mixed.rfind("type=\"L3Cache\"");
    REQUIRE(second != std::string::npos);
    mixed.replace(second, std::strlen("type=\"L3Cache\""), "type=\"Group\"");
    CHECK(Describe(SplitBy::Cache, mixed) ==
          Texts{"cache 0: 4 on 0-3", "cache 1: 2 on 4-5", "cache 2: 2 on 6-7"});
}

TEST_CASE("topology: caches of single cores are not groups", "[topology]") {
    CHECK(Describe(SplitBy::Cache, "l3:4 core:1 pu:2") == Texts{"all cores: 8 on 0-7"});
    CHECK(Describe(SplitBy::Cache, "l2:4 core:1 pu:2") == Texts{"all cores: 8 on 0-7"});
}

TEST_CASE("topology: neighbours share a group if there are more than 8 parts", "[topology]") {
    CHECK(Describe(SplitBy::Cache, "l3:12 core:2 pu:1") ==
          Texts{"cache 0: 4 on 0-3", "cache 2: 2 on 4-5", "cache 3: 4 on 6-9",
                "cache 5: 2 on 10-11", "cache 6: 4 on 12-15", "cache 8: 2 on 16-17",
                "cache 9: 4 on 18-21", "cache 11: 2 on 22-23"});
    CHECK(Describe(SplitBy::NumaNode, "node:16 pu:1") ==
          Texts{"node 0: 2 on 0-1", "node 2: 2 on 2-3", "node 4: 2 on 4-5", "node 6: 2 on 6-7",
                "node 8: 2 on 8-9", "node 10: 2 on 10-11", "node 12: 2 on 12-13",
                "node 14: 2 on 14-15"});
    CHECK(Describe(SplitBy::NumaNode, "node:8 pu:1").size() == 8);
}

TEST_CASE("topology: performance cores come before efficiency cores", "[topology]") {
    CHECK(Describe(SplitBy::CoreKind, Hybrid()) ==
          Texts{"P cores: 8 on 0-7", "E cores: 4 on 8 10 12 14"});
    const std::string slowFirst =
        Model("core:6 pu:1").Kind(Range(0, 3), 0).Kind(Range(4, 5), 1).Xml();
    CHECK(Describe(SplitBy::CoreKind, slowFirst) ==
          Texts{"P cores: 2 on 4-5", "E cores: 4 on 0-3"});
}

TEST_CASE("topology: one worker for each core, on its first usable CPU", "[topology]") {
    const std::string hybrid = Hybrid();
    TopologyOptions options = Fake(hybrid.c_str());
    options.onePerCore = true;
    CHECK(Describe(SplitBy::CoreKind, options) ==
          Texts{"P cores: 4 on 0 2 4 6", "E cores: 4 on 8 10 12 14"});
    const std::vector<uint64_t> usable = Mask({1, 2, 3, 8});
    options.cpus = usable.data(), options.cpuWords = static_cast<uint32_t>(usable.size());
    CHECK(Describe(SplitBy::CoreKind, options) == Texts{"P cores: 2 on 1-2", "E cores: 1 on 8"});
}

TEST_CASE("topology: three kinds of cores are numbered from the fastest", "[topology]") {
    const std::string three =
        Model("core:8 pu:1").Kind(Range(0, 3), 3).Kind(Range(4, 6), 10).Kind({7}, 20).Xml();
    CHECK(Describe(SplitBy::CoreKind, three) ==
          Texts{"kind 0: 1 on 7", "kind 1: 3 on 4-6", "kind 2: 4 on 0-3"});
}

TEST_CASE("topology: kinds of unknown speed are not called P and E", "[topology]") {
    const std::string unknown =
        Model("core:4 pu:1").Kind({0, 1}, -1, "round").Kind({2, 3}, -1, "square").Xml();
    CHECK(Describe(SplitBy::CoreKind, unknown) == Texts{"kind 0: 2 on 0-1", "kind 1: 2 on 2-3"});
}

TEST_CASE("topology: CPUs that belong to no part are a group", "[topology]") {
    const std::string partly = Model("core:6 pu:1").Kind({2, 3}, 1).Kind({4, 5}, 0).Xml();
    CHECK(Describe(SplitBy::CoreKind, partly) ==
          Texts{"P cores: 2 on 2-3", "E cores: 2 on 4-5", "other: 2 on 0-1"});
}

TEST_CASE("topology: caches and nodes of the fastest cores come first", "[topology]") {
    const std::string caches =
        Model("l2:3 core:2 pu:1").Kind(Range(0, 3), 0).Kind(Range(4, 5), 1).Xml();
    CHECK(Describe(SplitBy::Cache, caches) ==
          Texts{"cache 2: 2 on 4-5", "cache 0: 2 on 0-1", "cache 1: 2 on 2-3"});
    const std::string nodes = Model("node:2 core:2 pu:1").Kind(Range(0, 2), 0).Kind({3}, 1).Xml();
    CHECK(Describe(SplitBy::NumaNode, nodes) == Texts{"node 1: 2 on 2-3", "node 0: 2 on 0-1"});
}

TEST_CASE("topology: a machine without information is one group", "[topology]") {
    CHECK(Describe(SplitBy::CoreKind, "core:4 pu:2") == Texts{"all cores: 8 on 0-7"});
    CHECK(Describe(SplitBy::Cache, "core:4 pu:2") == Texts{"all cores: 8 on 0-7"});
    CHECK(Describe(SplitBy::NumaNode, "core:4 pu:2") ==
          Texts{"node 0: 8 on 0-7"});  // hwloc makes one node
    const std::string oneKind = Model("core:4 pu:1").Kind({0, 1, 2, 3}, 5).Xml();
    CHECK(Describe(SplitBy::CoreKind, oneKind) == Texts{"all cores: 4 on 0-3"});
}

TEST_CASE("topology: one CPU", "[topology]") {
    CHECK(Describe(SplitBy::CoreKind, "pu:1") == Texts{"all cores: 1 on 0"});
    CHECK(Describe(SplitBy::Cache, "l3:1 core:1 pu:1") == Texts{"all cores: 1 on 0"});
    CHECK(Describe(SplitBy::NumaNode, "node:1 pu:1") == Texts{"node 0: 1 on 0"});
}

TEST_CASE("topology: groups have only the CPUs that were asked for, and none is empty",
          "[topology]") {
    TopologyOptions options = Fake("l3:3 core:4 pu:1");
    std::vector<uint64_t> usable = Mask({1, 8, 9, 11});
    options.cpus = usable.data(), options.cpuWords = 1;
    CHECK(Describe(SplitBy::Cache, options) == Texts{"cache 0: 1 on 1", "cache 2: 3 on 8-9 11"});
    usable = Mask({5});
    options.cpus = usable.data();
    CHECK(Describe(SplitBy::Cache, options) == Texts{"cache 1: 1 on 5"});
    const std::string hybrid = Hybrid();
    options.source = hybrid.c_str();
    usable = Mask({10, 12, 63});
    options.cpus = usable.data();
    CHECK(Describe(SplitBy::CoreKind, options) == Texts{"E cores: 2 on 10 12"});
}

TEST_CASE("topology: only cpuWords words of the mask are read", "[topology]") {
    TopologyOptions options = Fake("core:100 pu:1");
    const uint64_t words[] = {1, ~uint64_t{0}};
    options.cpus = words, options.cpuWords = 1;
    CHECK(Describe(SplitBy::NumaNode, options) == Texts{"node 0: 1 on 0"});
}

TEST_CASE("topology: parts without usable CPUs do not count towards the 8 groups", "[topology]") {
    TopologyOptions options = Fake("l3:12 core:2 pu:1");
    const std::vector<uint64_t> usable = Mask({0, 2, 4, 5, 20, 22});
    options.cpus = usable.data(), options.cpuWords = 1;
    CHECK(Describe(SplitBy::Cache, options) == Texts{"cache 0: 1 on 0", "cache 1: 1 on 2",
                                                     "cache 2: 2 on 4-5", "cache 10: 1 on 20",
                                                     "cache 11: 1 on 22"});
}

TEST_CASE("topology: groups have only the CPUs that a container allows", "[topology]") {
    const std::string contained = Model("l3:2 core:4 pu:1").Allow({2, 3, 4}).Xml();
    CHECK(Describe(SplitBy::Cache, contained) == Texts{"cache 0: 2 on 2-3", "cache 1: 1 on 4"});
}

TEST_CASE("topology: masks have as many words as the machine needs", "[topology]") {
    const Topology two(SplitBy::NumaNode, Fake("node:2 core:48 pu:2"));
    CHECK(Describe(two) == Texts{"node 0: 96 on 0-95", "node 1: 96 on 96-191"});
    CHECK(two.Groups()[0].cpuWords == 3);
    const Topology one(SplitBy::NumaNode, Fake("core:64 pu:1"));
    CHECK(Describe(one) == Texts{"node 0: 64 on 0-63"});
    CHECK(one.Groups()[0].cpuWords == 1);

    const Topology many(SplitBy::NumaNode, Fake("node:4 core:300 pu:1"));
    CHECK(Describe(many) == Texts{"node 0: 256 on 0-299", "node 1: 256 on 300-599",
                                  "node 2: 256 on 600-899", "node 3: 256 on 900-1199"});
    CHECK(many.Groups()[3].cpuWords == 19);
    CHECK(many.Workers() == 1024);
}

TEST_CASE("topology: with fewer workers than CPUs each group gets its share", "[topology]") {
    const std::string hybrid = Hybrid();
    TopologyOptions options = Fake(hybrid.c_str());
    options.maxWorkers = 6;
    CHECK(Describe(SplitBy::CoreKind, options) ==
          Texts{"P cores: 4 on 0-7", "E cores: 2 on 8 10 12 14"});
    options.maxWorkers = 7;
    CHECK(Describe(SplitBy::CoreKind, options) ==
          Texts{"P cores: 5 on 0-7", "E cores: 2 on 8 10 12 14"});
    options.maxWorkers = 12;
    CHECK(Describe(SplitBy::CoreKind, options) ==
          Texts{"P cores: 8 on 0-7", "E cores: 4 on 8 10 12 14"});
    options.maxWorkers = 1;
    CHECK(Describe(SplitBy::CoreKind, options) == Texts{"P cores: 1 on 0-7"});
    options.source = "node:4 pu:1";
    options.maxWorkers = 2;
    CHECK(Describe(SplitBy::NumaNode, options) == Texts{"node 0: 1 on 0", "node 2: 1 on 2"});
}

TEST_CASE("topology: an unreadable machine gives no groups, and the scheduler's options stay",
          "[topology]") {
    const auto refused = [](SplitBy by, const TopologyOptions &options) {
        const Topology machine(by, options);
        SchedulerOptions scheduler;
        scheduler.workers = 5;
        machine.ApplyTo(scheduler);
        CHECK(scheduler.workers == 5);
        CHECK(scheduler.groups == nullptr);
        CHECK(scheduler.groupCount == 0);
        CHECK(machine.GroupCount() == 0);
        CHECK(machine.Workers() == 0);
        return machine.LastError();
    };
    CHECK(refused(SplitBy::NumaNode, Fake("")) == Status::BadOption);
    CHECK(refused(SplitBy::NumaNode, Fake("no machine")) == Status::BadOption);
    CHECK(refused(SplitBy::NumaNode, Fake("<topology>")) == Status::BadOption);
    CHECK(refused(static_cast<SplitBy>(3), Fake("pu:2")) == Status::BadOption);

    TopologyOptions options = Fake("pu:2");
    options.maxWorkers = 0;
    CHECK(refused(SplitBy::NumaNode, options) == Status::BadOption);
    options.maxWorkers = 1025;
    CHECK(refused(SplitBy::NumaNode, options) == Status::BadOption);

    options = Fake("pu:2");
    std::vector<uint64_t> usable(1025, 0);
    options.cpus = usable.data(), options.cpuWords = 0;
    CHECK(refused(SplitBy::NumaNode, options) == Status::BadOption);
    options.cpuWords = 1;  // the mask has no CPU
    CHECK(refused(SplitBy::NumaNode, options) == Status::BadOption);
    usable[0] = 1;
    options.cpuWords = 1025;
    CHECK(refused(SplitBy::NumaNode, options) == Status::BadOption);
    options.cpuWords = 1024;
    CHECK(Topology(SplitBy::NumaNode, options).LastError() == Status::Ok);
}

TEST_CASE("topology: ApplyTo passes the groups to a scheduler, also after a change", "[topology]") {
    Topology machine(SplitBy::NumaNode, Fake("node:2 pu:2"));
    SchedulerOptions options = test::Options(1);
    machine.ApplyTo(options);
    CHECK(options.workers == 4);
    CHECK(options.groupCount == 2);
    CHECK(options.groups == machine.Groups());
    machine.Groups()[1].workers = 1;
    CHECK(machine.Workers() == 3);
    machine.ApplyTo(options);
    CHECK(options.workers == 3);
}

namespace {

Cpus CpusOfMachine() {
    const Topology machine(SplitBy::NumaNode);
    CHECK(machine.LastError() == Status::Ok);
    Cpus cpus;
    for (uint32_t i = 0; i < machine.GroupCount(); ++i) cpus.merge(CpusOf(machine.Groups()[i]));
    CHECK(machine.Workers() == std::min(cpus.size(), size_t{1024}));
    return cpus;
}

}  // namespace

TEST_CASE("topology: groups have the CPUs of the process, whichever thread is bound",
          "[topology]") {
    const Cpus usable = CpusOfThread();
    CHECK(Text(CpusOfMachine()) == Text(usable));
    Cpus seen;
    std::thread([&] {
        if (Restrict({*usable.begin()})) seen = CpusOfMachine();
    }).join();
    CHECK(Text(seen) == Text(usable));
    for (const uint32_t cpu : usable) {  // this is the main thread
        REQUIRE(Restrict({cpu}));
        CHECK(Text(CpusOfMachine()) == Text(usable));
    }
    REQUIRE(Restrict(usable));
}

// The next test runs it in a process of its own.
TEST_CASE("topology: a process that began on one CPU has one group with that CPU", "[.][one_cpu]") {
    const Cpus own = CpusOfThread();
    if (own.size() != 1) return;
    for (const SplitBy by : {SplitBy::CoreKind, SplitBy::Cache, SplitBy::NumaNode}) {
        const Topology machine(by);
        CHECK(machine.LastError() == Status::Ok);
        CHECK(machine.Workers() == 1);
        CHECK((machine.GroupCount() == 1 && CpusOf(machine.Groups()[0]) == own));
    }
}

TEST_CASE("topology: groups have only the CPUs that the process was given", "[topology]") {
    for (const uint32_t cpu : CpusOfThread()) {
        const test::ChildResult child = test::RunAgain(
            cpu, "topology: a process that began on one CPU has one group with that CPU");
        INFO(child.output);
        CHECK(child.exited);
        CHECK(child.code == 0);
        CHECK(test::Names(child.output, "in 1 test case"));
    }
}

namespace {

// Runs a scheduler with these groups. For each group, 100 tasks that name it must run on its
// workers and on its CPUs.
void RunInEachGroup(const Topology &machine) {
    REQUIRE(machine.LastError() == Status::Ok);
    SchedulerOptions options = test::Options(1);
    machine.ApplyTo(options);
    test::ReportLog log;
    log.AttachTo(options);
    TaskScheduler scheduler(options);
    REQUIRE(scheduler.Start() == Status::Ok);
    CHECK(scheduler.WorkerCount() == machine.Workers());

    uint32_t first = 0;
    for (uint32_t i = 0; i < machine.GroupCount(); ++i) {
        const WorkerGroup &group = machine.Groups()[i];
        const Cpus cpus = CpusOf(group);
        const std::string name = group.name;
        std::atomic<uint32_t> onWorkers{0}, onCpus{0}, named{0};
        const test::Batch batch(100, [&](TaskScheduler &its, uint32_t) {
            const uint32_t worker = its.CurrentWorker();
            onWorkers += worker >= first && worker < first + group.workers;
            onCpus += CpusOfThread() == cpus;
            char thread[16] = "";
            pthread_getname_np(pthread_self(), thread, sizeof thread);
            named += thread == name.substr(0, 10) + " " + std::to_string(worker);
        });
        TaskOptions task;
        task.group = static_cast<uint8_t>(i);
        Counter counter;
        scheduler.AddTasks(batch.Count(), batch.Tasks(), &counter, task);
        scheduler.WaitForCounter(&counter);
        INFO(name);
        CHECK(onWorkers == 100);
        CHECK(onCpus == 100);
        CHECK(named == 100);
        first += group.workers;
    }
    scheduler.Stop();
    CHECK(log.Count() == 0);
}

}  // namespace

TEST_CASE("topology: tasks that name a group of the real machine run on its workers",
          "[topology]") {
    for (const SplitBy by : {SplitBy::CoreKind, SplitBy::Cache, SplitBy::NumaNode})
        RunInEachGroup(Topology(by));
}

// A machine with as many nodes as this one has CPUs, but at most four. So several groups exist.
TEST_CASE("topology: tasks that name one of several groups run on its workers and CPUs",
          "[topology]") {
    std::string indexes;
    uint32_t nodes = 0;
    for (const uint32_t cpu : CpusOfThread()) {
        if (nodes == 4) break;
        indexes += (nodes++ == 0 ? "" : ",") + std::to_string(cpu);
    }
    const std::string source = "node:" + std::to_string(nodes) + " pu:1(indexes=" + indexes + ")";
    const Topology machine(SplitBy::NumaNode, Fake(source.c_str()));
    CHECK(machine.GroupCount() == nodes);
    RunInEachGroup(machine);
}
