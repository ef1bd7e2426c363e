// Reads one file in many parts, all of them in flight at once, while the workers go on computing.
// First no task waits for a part: the operations and a counter are enough. Then each part has a
// task that waits for it and checks it.
//
//     samples/run.sh async_io                 # a file of 16 MB in 1,000 parts
//     samples/run.sh async_io --parts 200
//     samples/run.sh async_io --threads       # as on a system without io_uring
#include <weft/io/async_io.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <unistd.h>

namespace {

constexpr size_t kFileBytes = 16 << 20;
constexpr uint32_t kComputations = 400;

using Clock = std::chrono::steady_clock;
double Milliseconds(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

unsigned char ByteAt(size_t position) {
    return static_cast<unsigned char>(position * 7 + position / 251);
}

// A file without a name. Returns a negative number if it cannot be written.
int MakeFile() {
    std::vector<unsigned char> bytes(kFileBytes);
    for (size_t i = 0; i < kFileBytes; ++i) bytes[i] = ByteAt(i);
    char name[] = "/tmp/weft_async_io_XXXXXX";
    const int file = mkstemp(name);
    if (file < 0) return -1;
    unlink(name);
    for (size_t written = 0; written < kFileBytes;) {
        const ssize_t now = write(file, &bytes[written], kFileBytes - written);
        if (now <= 0) return -1;
        written += static_cast<size_t>(now);
    }
    return file;
}

// Computes for about 50 microseconds.
void Compute(weft::TaskScheduler *, void *arg) {
    uint32_t value = 1;
    for (int i = 0; i < 20000; ++i) value = value * 1664525u + 1013904223u;
    *static_cast<uint32_t *>(arg) = value;
}

struct Program {
    uint32_t parts = 1000;
    bool threads = false;
    bool isRight = true;

    int file = -1;
    std::vector<unsigned char> memory = std::vector<unsigned char>(kFileBytes);

    size_t PartBytes() const { return (kFileBytes + parts - 1) / parts; }
    size_t Begin(uint32_t part) const { return std::min(part * PartBytes(), kFileBytes); }
    size_t Bytes(uint32_t part) const { return Begin(part + 1) - Begin(part); }
    weft::IoOperation Operation(uint32_t part) {
        return weft::IoOperation::Read(file, memory.data() + Begin(part), Bytes(part),
                                       static_cast<int64_t>(Begin(part)));
    }
    bool IsRight(uint32_t part, int64_t result) const {
        if (result < 0)
            std::fprintf(stderr, "part %u: %s\n", part, std::strerror(static_cast<int>(-result)));
        if (result != static_cast<int64_t>(Bytes(part))) return false;
        for (size_t i = Begin(part); i < Begin(part + 1); ++i) {
            if (memory[i] != ByteAt(i)) return false;
        }
        return true;
    }

    // All parts are in flight. No task waits for one of them.
    void ReadAtOnce(weft::TaskScheduler &scheduler, weft::AsyncIo &io) {
        std::vector<weft::IoOperation> operations(parts);
        for (uint32_t i = 0; i < parts; ++i) operations[i] = Operation(i);
        std::vector<uint32_t> results(kComputations);
        std::vector<weft::Task> computations;
        for (uint32_t &result : results) computations.push_back({Compute, &result});

        const Clock::time_point begin = Clock::now();
        weft::Counter read, computed;
        if (io.Submit(parts, operations.data(), &read) != weft::Status::Ok) isRight = false;
        scheduler.AddTasks(kComputations, computations.data(), &computed);
        scheduler.WaitForCounter(&read);
        const double reading = Milliseconds(begin);
        scheduler.WaitForCounter(&computed);
        const double all = Milliseconds(begin);
        for (uint32_t i = 0; i < parts; ++i) isRight &= IsRight(i, operations[i].Result());
        std::printf("at once: %u parts after %.1f ms, %u computations after %.1f ms\n", parts,
                    reading, kComputations, all);
    }

    // Each part has a task, which waits for it.
    void ReadInTasks(weft::TaskScheduler &scheduler, weft::AsyncIo &io) {
        struct Part {
            Program *program;
            weft::AsyncIo *io;
            uint32_t index;
            bool isRight;

            static void Read(weft::TaskScheduler *, void *arg) {
                Part &part = *static_cast<Part *>(arg);
                Program &program = *part.program;
                const int64_t bytes = part.io->Run(program.Operation(part.index));
                part.isRight = program.IsRight(part.index, bytes);
            }
        };
        std::vector<Part> each;
        std::vector<weft::Task> tasks;
        for (uint32_t i = 0; i < parts; ++i) each.push_back({this, &io, i, false});
        for (Part &part : each) tasks.push_back({Part::Read, &part});
        const Clock::time_point begin = Clock::now();
        scheduler.AddTasksAndWait(parts, tasks.data());
        std::printf("in tasks: %u parts read and checked after %.1f ms\n", parts,
                    Milliseconds(begin));
        for (const Part &part : each) isRight &= part.isRight;
    }

    static void Main(weft::TaskScheduler *scheduler, void *arg) {
        Program &self = *static_cast<Program *>(arg);
        weft::AsyncIoOptions options;
        options.useRing = !self.threads;
        weft::AsyncIo io(*scheduler, options);
        std::printf("%s\n", io.UsesRing() ? "io_uring" : "threads of BlockingCalls");
        self.ReadAtOnce(*scheduler, io);
        std::fill(self.memory.begin(), self.memory.end(), static_cast<unsigned char>(0));
        self.ReadInTasks(*scheduler, io);
        self.isRight &= io.LastError() == weft::Status::Ok;
    }
};

}  // namespace

int main(int argc, char **argv) {
    Program program;
    CLI::App app("Reads a file in many parts.");
    app.add_option("--parts", program.parts, "number of parts")
        ->check(CLI::Range(1, 4000))
        ->capture_default_str();
    app.add_flag("--threads", program.threads, "do not use io_uring");
    CLI11_PARSE(app, argc, argv);

    program.file = MakeFile();
    if (program.file < 0) {
        std::perror("/tmp");
        return 1;
    }
    weft::SchedulerOptions options;
    options.workers = 2;
    options.fibers = 4100;  // a task that waits for its part holds a fiber
    weft::TaskScheduler scheduler(options);
    const bool hasRun = scheduler.Run(Program::Main, &program) == weft::Status::Ok;
    close(program.file);
    if (!program.isRight) std::fprintf(stderr, "a part is wrong\n");
    return hasRun && program.isRight ? 0 : 1;
}
