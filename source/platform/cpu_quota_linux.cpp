// Reads the quotas of control groups, of version 1 (cpu.cfs_quota_us) and of version 2 (cpu.max). A
// system may have both versions at once. A group has no more time than the groups that contain it,
// so the smallest quota counts.
#include "platform/cpu_quota.h"

#include "platform/thread.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace weft::env {

namespace {

// Lines and paths that weft needs are much shorter. It may read them on the stack of a task.
constexpr size_t kMostText = 512;
using Text = char[kMostText];

// A file that is read line by line.
class File {
public:
    // Opens `root` and the other parts, one after the other.
    File(const char *root, const char *folder, const char *name) noexcept {
        Text path;
        const int length = std::snprintf(path, sizeof path, "%s%s%s", root, folder, name);
        if (length > 0 && length < static_cast<int>(sizeof path))
            m_file = open(path, O_RDONLY | O_CLOEXEC);
    }
    ~File() {
        if (m_file >= 0) close(m_file);
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    // Reads a line without its end, and leaves out what does not fit. Returns false if there is no
    // line left.
    bool Read(Text &line) noexcept {
        size_t length = 0;
        bool isLine = false;
        for (char next = 0; next != '\n' && ReadByte(next); isLine = true) {
            if (next != '\n' && length + 1 < sizeof line) line[length++] = next;
        }
        line[length] = 0;
        return isLine;
    }

private:
    bool ReadByte(char &byte) noexcept {
        if (m_at == m_end) {
            const ssize_t got = m_file >= 0 ? read(m_file, m_buffer, sizeof m_buffer) : 0;
            if (got <= 0) return false;
            m_at = 0;
            m_end = static_cast<size_t>(got);
        }
        byte = m_buffer[m_at++];
        return true;
    }

    int m_file = -1;
    size_t m_at = 0, m_end = 0;
    Text m_buffer;
};

// Returns true if the list, with commas between its words, contains "cpu".
bool NamesCpu(const char *list) noexcept {
    for (const char *word = list; word != nullptr; word = std::strchr(word, ',')) {
        if (*word == ',') ++word;
        if (std::strncmp(word, "cpu", 3) == 0 && (word[3] == ',' || word[3] == 0)) return true;
    }
    return false;
}

// A mounted hierarchy of control groups.
struct Hierarchy {
    bool isVersion2;
    Text top;    // the group at the mount point
    Text mount;  // the mount point
};

// Reads a line of /proc/self/mountinfo. Returns false if it is not a hierarchy that limits CPUs.
bool ReadMount(const char *line, Hierarchy &its) noexcept {
    static_assert(kMostText == 512, "the widths below");
    const char *const rest = std::strstr(line, " - ");
    char type[16];
    Text options;
    if (rest == nullptr || std::sscanf(line, "%*s %*s %*s %511s %511s", its.top, its.mount) != 2 ||
        std::sscanf(rest, " - %15s %*s %511s", type, options) != 2)
        return false;
    its.isVersion2 = std::strcmp(type, "cgroup2") == 0;
    return its.isVersion2 || (std::strcmp(type, "cgroup") == 0 && NamesCpu(options));
}

// Finds the group of the process in /proc/self/cgroup: its folder, below the mount point.
void FindGroup(const char *root, const Hierarchy &its, Text &folder) noexcept {
    folder[0] = 0;
    File groups(root, "", "/proc/self/cgroup");
    for (Text line; groups.Read(line);) {  // number:controllers:group
        char *const list = std::strchr(line, ':');
        char *const path = list != nullptr ? std::strchr(list + 1, ':') : nullptr;
        if (path == nullptr) continue;
        *path = 0;
        if (its.isVersion2 ? std::strcmp(line, "0:") != 0 : !NamesCpu(list + 1)) continue;
        // A container sees the groups from its own one on.
        const size_t top = std::strcmp(its.top, "/") != 0 ? std::strlen(its.top) : 0;
        const bool isBelow = std::strncmp(path + 1, its.top, top) == 0;
        std::snprintf(folder, sizeof folder, "%s", isBelow ? path + 1 + top : "");
        return;
    }
}

// Returns the quota of one group in CPUs, rounded up. 0 = it has none.
uint32_t QuotaOf(const char *root, bool isVersion2, const char *folder) noexcept {
    Text line;
    long long quota = 0, period = 0;  // in microseconds
    if (isVersion2) {
        if (!File(root, folder, "/cpu.max").Read(line) ||
            std::sscanf(line, "%lld %lld", &quota, &period) != 2)  // "max" is no number
            return 0;
    } else {
        if (!File(root, folder, "/cpu.cfs_quota_us").Read(line) ||
            std::sscanf(line, "%lld", &quota) != 1 ||
            !File(root, folder, "/cpu.cfs_period_us").Read(line) ||
            std::sscanf(line, "%lld", &period) != 1)
            return 0;
    }
    if (quota <= 0 || period <= 0) return 0;  // -1 is no quota
    return static_cast<uint32_t>(std::min((quota - 1) / period + 1, 1ll << 31));
}

uint32_t Smaller(uint32_t quota, uint32_t other) noexcept {
    return quota == 0 || other == 0 ? std::max(quota, other) : std::min(quota, other);
}

// Returns the smallest quota of the process's group and the groups around it.
uint32_t QuotaIn(const char *root, const Hierarchy &its) noexcept {
    Text group, folder;
    FindGroup(root, its, group);
    uint32_t least = 0;
    for (char *end = group + std::strlen(group); end != nullptr; end = std::strrchr(group, '/')) {
        *end = 0;
        const int length = std::snprintf(folder, sizeof folder, "%s%s", its.mount, group);
        if (length >= static_cast<int>(sizeof folder)) continue;  // too long a name to be read
        least = Smaller(least, QuotaOf(root, its.isVersion2, folder));
    }
    return least;
}

}  // namespace

uint32_t ReadCpuQuota(const char *root) noexcept {
    uint32_t least = 0;
    File mounts(root, "", "/proc/self/mountinfo");
    Hierarchy its;
    for (Text line; mounts.Read(line);) {
        if (ReadMount(line, its)) least = Smaller(least, QuotaIn(root, its));
    }
    return least;
}

uint32_t CpuQuota() noexcept { return ReadCpuQuota(""); }

}  // namespace weft::env
