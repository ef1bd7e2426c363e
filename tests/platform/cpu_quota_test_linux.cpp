#include "platform/cpu_quota.h"

#include "platform/env.h"
#include "support/child_process.h"
#include "weft/task_scheduler.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

namespace fs = std::filesystem;

bool Write(const fs::path &path, const std::string &text) {
    std::ofstream file(path);
    file << text;
    file.close();
    return !file.fail();
}

// A folder with the files of a system.
class System {
public:
    System() {
        std::string name = (fs::temp_directory_path() / "weft-quota-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        m_root = name;
    }
    ~System() { fs::remove_all(m_root); }
    System(const System &) = delete;
    System &operator=(const System &) = delete;

    System &With(const std::string &path, const std::string &text) {
        fs::create_directories((m_root + path).substr(0, (m_root + path).rfind('/')));
        REQUIRE(Write(m_root + path, text));
        return *this;
    }
    // The process is in `group`. The hierarchy is mounted from `top` on.
    System &Version2(const std::string &group, const std::string &top = "/") {
        With("/proc/self/cgroup", "0::" + group + "\n");
        return With("/proc/self/mountinfo",
                    "22 1 0:20 / /proc rw,nosuid - proc proc rw\n"
                    "30 23 0:26 " +
                        top + " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    }
    System &Version1(const std::string &group, const std::string &top = "/") {
        With("/proc/self/cgroup",
             "12:cpuset:/other\n3:cpu,cpuacct:" + group + "\n1:name=systemd:/cpu\n0::/unified\n");
        return With("/proc/self/mountinfo",
                    "31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
                    "32 30 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                    "33 30 0:29 " +
                        top +
                        " /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpuacct,cpu\n");
    }
    System &Limit2(const std::string &folder, const std::string &text) {
        return With("/sys/fs/cgroup" + folder + "/cpu.max", text + "\n");
    }
    System &Limit1(const std::string &folder, const std::string &quota) {
        With("/sys/fs/cgroup/cpu,cpuacct" + folder + "/cpu.cfs_quota_us", quota + "\n");
        return With("/sys/fs/cgroup/cpu,cpuacct" + folder + "/cpu.cfs_period_us", "100000\n");
    }
    uint32_t Quota() const { return env::ReadCpuQuota(m_root.c_str()); }

private:
    std::string m_root;
};

}  // namespace

TEST_CASE("CPU quota: cpu.max of version 2 is rounded up to whole CPUs", "[cpu_quota]") {
    struct Case {
        const char *text;
        uint32_t cpus;
    };
    for (const Case &its :
         {Case{"max 100000", 0}, Case{"50000 100000", 1}, Case{"100000 100000", 1},
          Case{"100001 100000", 2}, Case{"250000 100000", 3}, Case{"1000 5000", 1},
          Case{"64000000 1000", 64000}, Case{"0 100000", 0}, Case{"", 0}, Case{"100000", 0},
          Case{"100000 0", 0}}) {
        INFO(its.text);
        CHECK(System().Version2("/app").Limit2("/app", its.text).Quota() == its.cpus);
    }
}

TEST_CASE("CPU quota: cpu.cfs_quota_us of version 1 is rounded up to whole CPUs", "[cpu_quota]") {
    CHECK(System().Version1("/app").Limit1("/app", "-1").Quota() == 0);
    CHECK(System().Version1("/app").Limit1("/app", "50000").Quota() == 1);
    CHECK(System().Version1("/app").Limit1("/app", "200000").Quota() == 2);
    CHECK(System().Version1("/app").Limit1("/app", "200001").Quota() == 3);
    // the group of another controller has the same name
    CHECK(System().Version1("/app").Limit1("/other", "50000").Quota() == 0);
}

TEST_CASE("CPU quota: the smallest quota of the groups around the process counts", "[cpu_quota]") {
    System system;
    system.Version2("/a/b/c").Limit2("/a", "300000 100000");
    CHECK(system.Quota() == 3);
    CHECK(system.Limit2("/a/b/c", "400000 100000").Quota() == 3);
    CHECK(system.Limit2("/a/b", "200000 100000").Quota() == 2);
    CHECK(system.Limit2("", "100000 100000").Quota() == 1);
    System older;
    older.Version1("/a/b").Limit1("/a/b", "-1").Limit1("/a", "400000");
    CHECK(older.Quota() == 4);
    CHECK(older.Limit1("", "200000").Quota() == 2);
}

TEST_CASE("CPU quota: in a container, the group at the mount point is that of the container",
          "[cpu_quota]") {
    CHECK(System().Version1("/docker/1", "/docker/1").Limit1("", "150000").Quota() == 2);
    CHECK(System().Version1("/docker/1/x", "/docker/1").Limit1("/x", "150000").Quota() == 2);
    CHECK(System().Version2("/", "/").Limit2("", "150000 100000").Quota() == 2);
    // the group cannot be seen from here: the mount point alone is left
    CHECK(System().Version2("/../out", "/box").Limit2("", "150000 100000").Quota() == 2);
}

TEST_CASE("CPU quota: if both versions limit the process, the smaller quota counts",
          "[cpu_quota]") {
    System system;
    system.Version1("/app").Limit1("/app", "300000");
    system.With("/sys/fs/cgroup/unified/unified/cpu.max", "200000 100000\n");
    CHECK(system.Quota() == 2);
    CHECK(system.Limit1("/app", "100000").Quota() == 1);
}

TEST_CASE("CPU quota: files that are missing, empty or cut give no quota", "[cpu_quota]") {
    CHECK(System().Quota() == 0);
    CHECK(env::ReadCpuQuota("/nonexistent") == 0);
    CHECK(env::ReadCpuQuota(std::string(5000, 'x').c_str()) == 0);
    CHECK(System().Version2("/app").Quota() == 0);
    CHECK(System().Version2("/" + std::string(3000, 'x')).Quota() == 0);
    CHECK(System().Version2("/app").With("/proc/self/cgroup", "no colon\n:\n").Quota() == 0);
    for (const char *text : {"", "\n", " - ", "30 23 0:26 / /sys - cgroup2", "a - b - c d e"}) {
        System system;
        CHECK(system.Version2("/app").With("/proc/self/mountinfo", text).Quota() == 0);
    }
    // the last line has no end, and a line before it is longer than any buffer
    System system;
    system.Version2("/app").Limit2("/app", "50000 100000");
    system.With("/proc/self/mountinfo", "1 1 0:1 / /" + std::string(9000, 'x') +
                                            " rw - overlay overlay rw\n" +
                                            "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
    CHECK(system.Quota() == 1);
}

// Needs the right to make a control group.
TEST_CASE("CPU quota: the default number of workers follows the quota of the process's group",
          "[cpu_quota]") {
    const std::string name = "weft_test_" + std::to_string(getpid());
    struct Group {
        std::string folder, file, text;
    };
    for (const Group &its : {Group{"/sys/fs/cgroup/cpu/" + name, "/cpu.cfs_quota_us", "100000"},
                             Group{"/sys/fs/cgroup/" + name, "/cpu.max", "100000 100000"}}) {
        std::error_code error;
        if (!fs::create_directory(its.folder, error)) continue;
        // without the file, this is no folder of a control group that limits CPUs
        if (fs::exists(its.folder + its.file, error) && Write(its.folder + its.file, its.text)) {
            const test::ChildResult child = test::RunInChild([&] {
                if (!Write(its.folder + "/cgroup.procs", std::to_string(getpid()))) _exit(0);
                if (env::CpuQuota() != 1) _exit(1);
                SchedulerOptions options;
                options.onReport = [](const Report &, void *) { _exit(2); };
                TaskScheduler scheduler(options);
                if (scheduler.WorkerCount() != 1) _exit(3);
                if (scheduler.Start() != Status::Ok || scheduler.WorkerCount() != 1) _exit(4);
                scheduler.Stop();
                options.workers = 2;  // a number that is asked for counts
                if (TaskScheduler(options).WorkerCount() != 2) _exit(5);
            });
            CHECK(child.exited);
            CHECK(child.code == 0);
        }
        fs::remove(its.folder, error);
    }
}
