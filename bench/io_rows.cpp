// Rows that read a file of the page cache in a thousand parts, with two workers. So they show the
// cost of the way to the data, not that of a disk. All reads are submitted first, then awaited. The
// rows `_cpu` have the processor time of all threads, with that of the kernel.
#include "rounds.h"

#include <weft/blocking/blocking_calls.h>
#include <weft/io/async_io.h>

#include <cstdlib>
#include <ctime>
#include <vector>

#include <unistd.h>

namespace bench {

namespace {

constexpr uint32_t kReads = 1000, kWorkers = 2;

// A file without a name, and the buffers for its parts.
class Parts {
public:
    explicit Parts(size_t bytes) : m_bytes(bytes), m_memory(kReads * bytes, 'x') {
        char name[] = "/tmp/weft_bench_XXXXXX";
        m_file = mkstemp(name);
        unlink(name);
        size_t written = 0;
        while (written < m_memory.size()) {
            const ssize_t now = write(m_file, &m_memory[written], m_memory.size() - written);
            if (now <= 0) Wrong("cannot write a file in /tmp");
            written += static_cast<size_t>(now);
        }
    }
    ~Parts() { close(m_file); }
    Parts(const Parts &) = delete;
    Parts &operator=(const Parts &) = delete;

    int File() const { return m_file; }
    size_t Bytes() const { return m_bytes; }
    char *Buffer(size_t part) { return &m_memory[part * m_bytes]; }
    int64_t Offset(size_t part) const { return static_cast<int64_t>(part * m_bytes); }
    weft::IoOperation Operation(size_t part) {
        return weft::IoOperation::Read(m_file, Buffer(part), m_bytes, Offset(part));
    }
    void Check(int64_t result) const {
        if (result != static_cast<int64_t>(m_bytes)) Wrong("a read");
    }

private:
    size_t m_bytes;
    std::vector<char> m_memory;
    int m_file;
};

struct Cost {
    double time;  // nanoseconds for each read
    double cpu;   // the same, processor time
};

// Calls read(scheduler, parts) with a scheduler that runs, as its main task, twice. The first time
// wakes and starts all threads. Returns the cost of a read of the second time.
template <class Prepare>
Cost Measure(size_t bytes, Prepare prepare) {
    struct Run {
        Parts parts;
        Prepare prepare;
        Cost cost{};

        static void Main(weft::TaskScheduler *scheduler, void *arg) {
            Run &self = *static_cast<Run *>(arg);
            auto read = self.prepare(*scheduler, self.parts);
            read();
            const std::clock_t cpu = std::clock();
            const Clock::time_point begin = Clock::now();
            read();
            self.cost.time = Since(begin) / kReads;
            self.cost.cpu =
                static_cast<double>(std::clock() - cpu) * (1e9 / CLOCKS_PER_SEC) / kReads;
        }
    } run{Parts(bytes), prepare};
    weft::SchedulerOptions options;
    options.workers = kWorkers;
    options.fibers = kReads + 100;
    weft::TaskScheduler scheduler(options);
    if (scheduler.Run(Run::Main, &run) != weft::Status::Ok) Wrong("Run");
    return run.cost;
}

weft::AsyncIoOptions Using(bool ring) {
    weft::AsyncIoOptions options;
    options.useRing = ring;
    return options;
}

// One Submit for all reads, and one wait.
Cost Submitted(size_t bytes, bool ring) {
    struct Reads {
        Reads(weft::TaskScheduler &its, Parts &all, bool uses)
            : scheduler(its), parts(all), io(its, Using(uses)), operations(kReads) {}
        void operator()() {
            for (uint32_t i = 0; i < kReads; ++i) operations[i] = parts.Operation(i);
            weft::Counter done;
            io.Submit(kReads, operations.data(), &done);
            scheduler.WaitForCounter(&done);
            for (const weft::IoOperation &each : operations) parts.Check(each.Result());
        }
        weft::TaskScheduler &scheduler;
        Parts &parts;
        weft::AsyncIo io;
        std::vector<weft::IoOperation> operations;
    };
    return Measure(bytes, [ring](weft::TaskScheduler &scheduler, Parts &parts) {
        return Reads(scheduler, parts, ring);
    });
}

// A task for each read. `Reader` has int64_t Read(Parts &, size_t part).
template <class Reader>
Cost InTasks(size_t bytes) {
    struct Reads {
        struct Part {
            Reads *reads;
            size_t index;
        };
        Reads(weft::TaskScheduler &its, Parts &all) : scheduler(its), parts(all), reader(its) {}
        static void Read(weft::TaskScheduler *, void *arg) {
            const Part &part = *static_cast<Part *>(arg);
            Reads &reads = *part.reads;
            reads.parts.Check(reads.reader.Read(reads.parts, part.index));
        }
        void operator()() {
            std::vector<Part> each(kReads);
            std::vector<weft::Task> tasks(kReads);
            for (uint32_t i = 0; i < kReads; ++i) {
                each[i] = {this, i};
                tasks[i] = {Read, &each[i]};
            }
            scheduler.AddTasksAndWait(kReads, tasks.data());
        }
        weft::TaskScheduler &scheduler;
        Parts &parts;
        Reader reader;
    };
    return Measure(bytes, [](weft::TaskScheduler &scheduler, Parts &parts) {
        return Reads(scheduler, parts);
    });
}

// The task waits for the ring.
struct ByRing {
    explicit ByRing(weft::TaskScheduler &scheduler) : io(scheduler, Using(true)) {}
    int64_t Read(Parts &parts, size_t i) {
        return io.Read(parts.File(), parts.Buffer(i), parts.Bytes(), parts.Offset(i));
    }
    weft::AsyncIo io;
};

// The task waits for one of 16 threads.
struct ByCalls {
    explicit ByCalls(weft::TaskScheduler &scheduler) : calls(scheduler) {}
    int64_t Read(Parts &parts, size_t i) {
        return calls.Run(
            [&] { return pread(parts.File(), parts.Buffer(i), parts.Bytes(), parts.Offset(i)); });
    }
    weft::BlockingCalls calls;
};

// The task makes the call, and blocks its worker.
struct ByWorker {
    explicit ByWorker(weft::TaskScheduler &) {}
    int64_t Read(Parts &parts, size_t i) {
        return pread(parts.File(), parts.Buffer(i), parts.Bytes(), parts.Offset(i));
    }
};

}  // namespace

// Without io_uring there are no rows of weft that need it.
void AddIoRows(std::vector<Row> &rows) {
    weft::TaskScheduler scheduler;
    const bool hasRing = weft::AsyncIo(scheduler).UsesRing();
    for (const size_t bytes : {size_t{4} << 10, size_t{64} << 10}) {
        const std::string name = "io_1000_reads_" + std::to_string(bytes >> 10) + "k";
        const auto add = [&](const char *system, std::function<Cost(size_t)> measure) {
            rows.push_back({name, system, kWorkers, "ns", [=] { return measure(bytes).time; }, {}});
            rows.push_back(
                {name + "_cpu", system, kWorkers, "ns", [=] { return measure(bytes).cpu; }, {}});
        };
        // The first row is weft's: the others have their ratio to it.
        if (hasRing) {
            add("weft", [](size_t each) { return Submitted(each, true); });
            add("weft_tasks", InTasks<ByRing>);
        }
        add("weft_threads", [](size_t each) { return Submitted(each, false); });
        add("blocking_calls", InTasks<ByCalls>);
        add("pread_in_tasks", InTasks<ByWorker>);
    }
}

}  // namespace bench
