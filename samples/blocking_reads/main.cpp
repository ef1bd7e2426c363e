// Reads files in hundreds of tasks. Each task waits for its read on a thread beside the workers,
// while its worker runs other tasks. For comparison, the workers then make the same reads
// themselves.
//
//     samples/run.sh blocking_reads        # each read takes 2 ms longer, as on a slow disk
//     samples/run.sh blocking_reads 10     # each read takes 10 ms longer
#include <weft/blocking/blocking_calls.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <vector>

namespace {

constexpr uint32_t kFiles = 40, kReads = 400, kFileBytes = 8000, kComputations = 200, kRounds = 5;

using Clock = std::chrono::steady_clock;
double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

unsigned char ByteAt(uint32_t file, uint32_t position) {
    return static_cast<unsigned char>(file * 31 + position * 7);
}

// Files in a folder of their own. The destructor removes the folder.
class Files {
public:
    Files() : m_folder(NewFolder()) {
        for (uint32_t file = 0; file < kFiles; ++file) {
            std::vector<char> bytes(kFileBytes);
            for (uint32_t i = 0; i < kFileBytes; ++i) bytes[i] = static_cast<char>(ByteAt(file, i));
            std::ofstream(Path(file), std::ios::binary).write(bytes.data(), kFileBytes);
        }
    }
    ~Files() {
        std::error_code ignored;
        std::filesystem::remove_all(m_folder, ignored);
    }
    Files(const Files &) = delete;
    Files &operator=(const Files &) = delete;
    std::string Path(uint32_t file) const { return (m_folder / std::to_string(file)).string(); }

private:
    static std::filesystem::path NewFolder() {
        const auto unique = Clock::now().time_since_epoch().count();
        auto folder = std::filesystem::temp_directory_path() /
                      ("weft blocking_reads " + std::to_string(unique));
        std::filesystem::create_directories(folder);
        return folder;
    }
    std::filesystem::path m_folder;
};

struct Run {
    const Files *files;
    weft::BlockingCalls *calls;  // null: the workers make the calls
    std::chrono::milliseconds delay;
};

// The result of a read. The error is part of it, because errno belongs to the thread that reads.
struct Answer {
    size_t bytes;
    int error;
};

Answer ReadFile(const std::string &path, char *buffer, std::chrono::milliseconds delay) {
    std::this_thread::sleep_for(delay);  // stands for a slow disk
    std::FILE *stream = std::fopen(path.c_str(), "rb");
    if (stream == nullptr) return {0, errno};
    const size_t bytes = std::fread(buffer, 1, kFileBytes, stream);
    const int error = std::ferror(stream) != 0 ? errno : 0;
    std::fclose(stream);
    return {bytes, error};
}

struct Read {
    const Run *run;
    uint32_t file;
    std::vector<char> buffer;
    bool right;

    static void Task(weft::TaskScheduler *, void *arg) {
        Read &self = *static_cast<Read *>(arg);
        self.buffer.assign(kFileBytes, 0);
        const std::string path = self.run->files->Path(self.file);
        const auto read = [&] { return ReadFile(path, self.buffer.data(), self.run->delay); };
        const Answer answer = self.run->calls != nullptr ? self.run->calls->Run(read) : read();
        if (answer.error != 0)
            std::fprintf(stderr, "%s: %s\n", path.c_str(), std::strerror(answer.error));
        self.right = answer.bytes == kFileBytes;
        for (uint32_t i = 0; i < kFileBytes && self.right; ++i)
            self.right = static_cast<unsigned char>(self.buffer[i]) == ByteAt(self.file, i);
    }
};

// Computes for about half a millisecond.
void Compute(weft::TaskScheduler *, void *arg) {
    uint32_t value = 1;
    for (int i = 0; i < 200000; ++i) value = value * 1664525u + 1013904223u;
    *static_cast<uint32_t *>(arg) = value;
}

struct Times {
    double computing;  // until all computations were done
    double all;
    bool right;
};

// The reads are submitted first. So workers that make reads themselves begin with them.
Times RunAll(weft::TaskScheduler &scheduler, const Run &run, uint32_t readCount) {
    std::vector<Read> reads(readCount);
    std::vector<uint32_t> results(kComputations);
    std::vector<weft::Task> readTasks, computeTasks;
    for (uint32_t i = 0; i < readCount; ++i) {
        reads[i] = {&run, i % kFiles, {}, false};
        readTasks.push_back({Read::Task, &reads[i]});
    }
    for (uint32_t &result : results) computeTasks.push_back({Compute, &result});

    const Clock::time_point begin = Clock::now();
    weft::Counter reading, computing;
    scheduler.AddTasks(readCount, readTasks.data(), &reading, {weft::Priority::High});
    scheduler.AddTasks(kComputations, computeTasks.data(), &computing);
    scheduler.WaitForCounter(&computing);
    const Clock::time_point computed = Clock::now();
    scheduler.WaitForCounter(&reading);
    const Clock::time_point end = Clock::now();
    const bool right =
        std::all_of(reads.begin(), reads.end(), [](const Read &read) { return read.right; });
    return {Seconds(computed - begin), Seconds(end - begin), right};
}

// Returns the time of a call that does nothing: to the other thread and back.
double EmptyCall(weft::BlockingCalls &calls) {
    constexpr int kCalls = 2000;
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < kCalls; ++i) calls.Run([] {});
    return Seconds(Clock::now() - begin) / kCalls;
}

double Median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Main {
    std::chrono::milliseconds delay;
    bool right = true;

    static void Task(weft::TaskScheduler *scheduler, void *arg) {
        Main &self = *static_cast<Main *>(arg);
        const Files files;
        weft::BlockingCalls calls(*scheduler);
        const Run beside{&files, &calls, self.delay}, onWorkers{&files, nullptr, self.delay};

        // The three runs take turns, and the results are ratios. So other work on the machine
        // affects all three in the same way.
        std::vector<double> alone, computing, reading, blocked;
        for (uint32_t round = 0; round < kRounds; ++round) {
            const Times none = RunAll(*scheduler, beside, 0);
            const Times with = RunAll(*scheduler, beside, kReads);
            const Times without = RunAll(*scheduler, onWorkers, kReads);
            self.right &= with.right && without.right;
            alone.push_back(none.computing);
            computing.push_back(with.computing / none.computing);
            reading.push_back(with.all / none.computing);
            blocked.push_back(without.all / none.computing);
        }
        self.right &= calls.LastError() == weft::Status::Ok;

        std::printf("%u computations on %u workers: %.0f ms; medians of %u rounds\n", kComputations,
                    scheduler->WorkerCount(), Median(alone) * 1e3, kRounds);
        std::printf(
            "with %u reads on %u threads beside the workers: %.2f of that, and %.2f until all is "
            "read\n",
            kReads, calls.ThreadCount(), Median(computing), Median(reading));
        std::printf("with %u reads on the workers: %.2f\n", kReads, Median(blocked));
        std::printf("a call of nothing, there and back: %.1f us\n", EmptyCall(calls) * 1e6);
        std::printf("contents: %s\n", self.right ? "right" : "WRONG");
    }
};

}  // namespace

int main(int argc, char **argv) {
    uint32_t milliseconds = 2;
    CLI::App app("Reads files by hundreds of tasks, beside the workers and on them.");
    app.add_option("MILLISECONDS", milliseconds,
                   "each read takes so much longer, as on a slow disk; 2 by default");
    CLI11_PARSE(app, argc, argv);
    Main main{std::chrono::milliseconds(milliseconds)};
    weft::SchedulerOptions options;
    options.fibers = kReads + 64;  // a task that waits for its read holds a fiber
    if (weft::TaskScheduler(options).Run(Main::Task, &main) != weft::Status::Ok) return 1;
    return main.right ? 0 : 1;
}
