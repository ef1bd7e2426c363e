// Each test runs with io_uring, if the kernel permits it, and with the threads that replace it.
#include "weft/io/async_io.h"

#include "support/child_process.h"
#include "support/host_memory.h"
#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// A descriptor that is closed at the end.
class File {
public:
    File() = default;
    explicit File(int file) : m_file(file) {}
    ~File() { Close(); }
    File(File &&other) noexcept : m_file(other.m_file) { other.m_file = -1; }
    File &operator=(File &&other) noexcept {
        std::swap(m_file, other.m_file);
        return *this;
    }
    operator int() const { return m_file; }
    void Close() {
        if (m_file >= 0) close(m_file);
        m_file = -1;
    }

private:
    int m_file = -1;
};

struct Pair {
    File first, second;
};
Pair MakePipe() {  // first: to read
    int files[2] = {-1, -1};
    if (pipe(files) != 0) return {};
    return {File(files[0]), File(files[1])};
}
Pair MakeSockets() {
    int files[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, files) != 0) return {};
    return {File(files[0]), File(files[1])};
}

char ByteAt(size_t position) { return static_cast<char>(position * 7 + position / 251); }

// A file without a name, with ByteAt(i) at position i.
File MakeFile(size_t bytes) {
    char name[] = "/tmp/weft_io_XXXXXX";
    File file(mkstemp(name));
    unlink(name);
    std::string content(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) content[i] = ByteAt(i);
    if (pwrite(file, content.data(), bytes, 0) != static_cast<ssize_t>(bytes)) return File();
    return file;
}

bool IsPart(const char *buffer, size_t bytes, size_t position) {
    for (size_t i = 0; i < bytes; ++i) {
        if (buffer[i] != ByteAt(position + i)) return false;
    }
    return true;
}

AsyncIoOptions Using(bool ring, uint32_t depth = 1024) {
    AsyncIoOptions options;
    options.useRing = ring;
    options.depth = depth;
    return options;
}

// From here on, io_uring_setup fails with this error, as in many containers. Returns false if the
// system cannot do that.
bool RefuseRings(uint32_t error) {
    sock_filter filter[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, __NR_io_uring_setup},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    sock_fprog program{4, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Cancels an operation on the file. Returns 0, or an error: ENOENT if the ring has none; EINVAL if
// the kernel cannot do that (before Linux 6.0).
int CancelOn(int file, int ring) {
    io_uring_sync_cancel_reg cancel{};
    cancel.fd = file;
    cancel.flags = IORING_ASYNC_CANCEL_FD;
    cancel.timeout = {-1, -1};  // none
    return syscall(__NR_io_uring_register, ring, IORING_REGISTER_SYNC_CANCEL, &cancel, 1) >= 0
               ? 0
               : errno;
}

bool HasByte(int file) {
    pollfd wanted{file, POLLIN, 0};
    return poll(&wanted, 1, 0) == 1;
}

}  // namespace

TEST_CASE("io: which implementation is used", "[io]") {
    test::Runner runner(test::Options(1));
    AsyncIo threads(runner.scheduler, Using(false)), ring(runner.scheduler, Using(true));
    CHECK(!threads.UsesRing());
    if (!ring.UsesRing()) WARN("no io_uring here: only the threads are tested");
    CHECK(threads.LastError() == Status::Ok);
    CHECK(ring.LastError() == Status::Ok);
}

TEST_CASE("io: where the kernel refuses io_uring, threads make the calls", "[io]") {
    for (uint32_t error : {EPERM, ENOSYS}) {
        const test::ChildResult child = test::RunInChild([&] {
            test::EndAfter(20);
            if (!RefuseRings(error)) _exit(0);  // an emulator, which has no io_uring either
            const File file = MakeFile(100);
            test::Runner runner(test::Options(1));
            bool isRight = false;
            const Status status = runner.Run([&](TaskScheduler &scheduler) {
                AsyncIo io(scheduler, Using(true));
                char byte = 0;
                isRight = !io.UsesRing() && io.LastError() == Status::Ok &&
                          io.Read(file, &byte, 1, 7) == 1 && byte == ByteAt(7);
            });
            _exit(status == Status::Ok && isRight && runner.log.Text().empty() ? 0 : 2);
        });
        INFO(child.output);
        CHECK(child.exited);
        CHECK(child.code == 0);
    }
}

TEST_CASE("report EndDelayed: names a task in an operation of AsyncIo", "[io]") {
    for (bool ring : {true, false}) {
        INFO((ring ? "ring" : "threads"));
        SchedulerOptions options = test::Options(2);
        options.stopGraceMilliseconds = 1;
        test::Runner runner(options);
        const Pair pipe = MakePipe();
        REQUIRE(runner.scheduler.Start() == Status::Ok);
        AsyncIo io(runner.scheduler, Using(ring));
        char byte = 0;
        int64_t result = 0;
        test::Batch reads(
            1, [&](TaskScheduler &, uint32_t) { result = io.Read(pipe.first, &byte, 1); });
        runner.scheduler.AddTask(reads[0], nullptr, test::Named("reader"));
        bool isReported = false;
        std::thread writes([&] {
            isReported =
                test::SpinUntil([&] { return runner.log.CountOf(ReportCode::EndDelayed) != 0; });
            if (write(pipe.second, "x", 1) != 1) isReported = false;
        });
        runner.scheduler.Stop();
        writes.join();
        CHECK(isReported);
        CHECK(result == 1);
        CHECK(test::Names(runner.log.Text(), "task 'reader' (in an operation of AsyncIo)"));
    }
}

TEST_CASE("io: a task reads and writes a file", "[io][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        for (bool ring : {true, false}) {
            INFO(test::Describe(point) << (ring ? ", ring" : ", threads"));
            const File file = MakeFile(1000);
            test::Runner runner(point);
            std::array<int64_t, 8> results{};
            std::array<char, 600> buffer{};
            bool isRight = true;
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                AsyncIo io(scheduler, Using(ring));
                results[0] = io.Read(file, buffer.data(), 600, 100);
                isRight &= IsPart(buffer.data(), 600, 100);
                results[1] = io.Read(file, buffer.data(), 600, 700);  // the end of the file
                isRight &= IsPart(buffer.data(), 300, 700);
                results[2] = io.Read(file, buffer.data(), 600, 1000);
                results[3] = io.Read(file, buffer.data(), 600);
                results[4] = io.Read(file, buffer.data(), 300);
                isRight &= IsPart(buffer.data(), 300, 600);
                results[5] = io.Write(file, "abc", 3, 998);
                results[6] = io.Write(file, "de", 2);
                results[7] = io.Read(file, buffer.data(), 600, 898);
            }) == Status::Ok);
            CHECK(results == std::array<int64_t, 8>{600, 300, 0, 600, 300, 3, 2, 103});
            CHECK(isRight);
            CHECK(std::string(buffer.data(), 5) ==
                  std::string{ByteAt(898), ByteAt(899), 'd', 'e', ByteAt(902)});
            CHECK(std::string(&buffer[100], 3) == "abc");
            // All fibers may wait for operations.
            CHECK(runner.log.CountOf(ReportCode::OutOfFibers) == runner.log.Count());
        }
    }
}

TEST_CASE("io: while a task reads an empty pipe, the only worker runs the task that fills it",
          "[io]") {
    for (bool ring : {true, false}) {
        const Pair pipe = MakePipe(), sockets = MakeSockets();
        test::Runner runner(test::Options(1));
        int64_t read = 0, received = 0;
        uint32_t ran = 0;
        char got[8] = {}, heard[8] = {};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            AsyncIo io(scheduler, Using(ring));
            test::Batch batch(52, [&](TaskScheduler &, uint32_t i) {
                if (i == 0) read = io.Read(pipe.first, got, 8, 5);  // a pipe ignores the offset
                if (i == 1) received = io.Receive(sockets.first, heard, 8);
                if (i == 50) ran += io.Write(pipe.second, "hello", 5) == 5;
                if (i == 51) ran += io.Send(sockets.second, "you", 3) == 3;
                ++ran;
            });
            scheduler.AddTasksAndWait(52, batch.Tasks());
        }) == Status::Ok);
        CHECK(read == 5);
        CHECK(std::string(got) == "hello");
        CHECK(received == 3);
        CHECK(std::string(heard) == "you");
        CHECK(ran == 54);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("io: a thousand reads are in flight at once, without a stack for each", "[io]") {
    constexpr uint32_t kReads = 1000, kBytes = 100;
    const File file = MakeFile(kReads * kBytes - 30);
    for (bool ring : {true, false}) {
        for (uint32_t depth : {1u, 7u, 1024u}) {
            for (uint32_t workers : {1u, 2u}) {
                test::Runner runner(test::Options(workers, 3));
                std::vector<std::array<char, kBytes>> buffers(kReads);
                std::vector<IoOperation> reads(kReads);
                uint32_t wrong = 0;
                CHECK(runner.Run([&](TaskScheduler &scheduler) {
                    AsyncIo io(scheduler, Using(ring, depth));
                    for (int round = 0; round < 2; ++round) {
                        for (uint32_t i = 0; i < kReads; ++i) {
                            buffers[i].fill(0);
                            reads[i] = IoOperation::Read(file, buffers[i].data(), kBytes,
                                                         int64_t{i} * kBytes);
                        }
                        Counter done;
                        wrong += io.Submit(kReads / 2, reads.data(), &done) != Status::Ok;
                        for (uint32_t i = kReads / 2; i < kReads; ++i)
                            wrong += io.Submit(reads[i], &done) != Status::Ok;
                        scheduler.WaitForCounter(&done);
                        for (uint32_t i = 0; i < kReads; ++i) {
                            const size_t bytes = i == kReads - 1 ? kBytes - 30 : kBytes;
                            wrong += reads[i].Result() != static_cast<int64_t>(bytes) ||
                                     !IsPart(buffers[i].data(), bytes, i * kBytes);
                        }
                    }
                }) == Status::Ok);
                INFO((ring ? "ring" : "threads") << ", depth " << depth);
                CHECK(wrong == 0);
                CHECK(test::Faults(runner.log) == "");
            }
        }
    }
}

TEST_CASE("io: an operation beyond the depth goes in when another one has ended", "[io]") {
    for (bool ring : {true, false}) {
        const Pair pipes[3] = {MakePipe(), MakePipe(), MakePipe()};
        test::Runner runner(test::Options(1));
        bool wasWritten = true;
        int64_t results[3] = {};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            AsyncIoOptions options = Using(ring, 2);
            options.threads.maxThreads = 2;
            AsyncIo io(scheduler, options);
            char bytes[2] = {};
            IoOperation operations[3] = {IoOperation::Read(pipes[0].first, &bytes[0], 1),
                                         IoOperation::Read(pipes[1].first, &bytes[1], 1),
                                         IoOperation::Write(pipes[2].second, "x", 1)};
            Counter first, others;
            io.Submit(operations[0], &first);
            io.Submit(2, &operations[1], &others);
            test::Linger(2000);
            wasWritten = HasByte(pipes[2].first);
            if (write(pipes[0].second, "a", 1) != 1) return;
            scheduler.WaitForCounter(&first);
            test::YieldUntil(scheduler, [&] { return HasByte(pipes[2].first); });
            if (write(pipes[1].second, "b", 1) != 1) return;
            scheduler.WaitForCounter(&others);
            for (int i = 0; i < 3; ++i) results[i] = operations[i].Result();
        }) == Status::Ok);
        CHECK(!wasWritten);
        for (int64_t result : results) CHECK(result == 1);
        CHECK(HasByte(pipes[2].first));
    }
}

// A socket refuses an offset, so the ring makes such a write again. It must not come after later
// writes, and two of them keep their order.
TEST_CASE("io: operations that the ring makes again go before later ones", "[io]") {
    for (const uint32_t depth : {1u, 8u}) {
        INFO("depth " << depth);
        const Pair sockets = MakeSockets();
        test::Runner runner(test::Options(1));
        bool isRing = false;
        int64_t result = 0;
        char got[8] = {};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            AsyncIo io(scheduler, Using(true, depth));
            isRing = io.UsesRing();
            if (!isRing) return;
            // With a depth of 8 all four are refused and come back at once.
            const int64_t offset = depth == 1 ? -1 : 9;
            IoOperation writes[4] = {IoOperation::Write(sockets.first, "a", 1, 9),
                                     IoOperation::Write(sockets.first, "b", 1, offset),
                                     IoOperation::Write(sockets.first, "c", 1, 9),
                                     IoOperation::Write(sockets.first, "d", 1, offset)};
            Counter done;
            if (io.Submit(4, writes, &done) != Status::Ok) return;
            scheduler.WaitForCounter(&done);
            for (const IoOperation &write : writes) result += write.Result();
            if (result == 4) result += read(sockets.second, got, sizeof got);
        }) == Status::Ok);
        CHECK(result == (isRing ? 8 : 0));
        CHECK(std::string(got) == (isRing ? "abcd" : ""));
        CHECK(test::Faults(runner.log) == "");
    }
}

// The kernel may also do this by itself.
TEST_CASE("io: threads make an operation that the kernel has cancelled", "[io]") {
    const Pair pipe = MakePipe();
    test::Runner runner(test::Options(1));
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    const int least = open("/dev/null", O_RDONLY);
    close(least);
    {
        AsyncIo io(runner.scheduler, Using(true));
        char got[8] = {};
        IoOperation read = IoOperation::Read(pipe.first, got, sizeof got);
        Counter done;
        REQUIRE(io.Submit(read, &done) == Status::Ok);
        int error = io.UsesRing() ? ENOENT : EINVAL;
        while (error == ENOENT) error = CancelOn(pipe.first, least + 1);  // the eventfd is first
        CHECK((error == 0 || error == EINVAL));
        CHECK(write(pipe.second, "hello", 5) == 5);
        runner.scheduler.WaitForCounter(&done);
        CHECK(read.Result() == 5);
        CHECK(std::string(got) == "hello");
    }
    runner.scheduler.Stop();
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("io: sockets connect, accept, send and receive; a shutdown ends an accept", "[io]") {
    for (bool ring : {true, false}) {
        const File listening(socket(AF_INET, SOCK_STREAM, 0)),
            client(socket(AF_INET, SOCK_STREAM, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto *const any = reinterpret_cast<sockaddr *>(&address);
        socklen_t bytes = sizeof address;
        REQUIRE(bind(listening, any, bytes) == 0);
        REQUIRE(listen(listening, 4) == 0);
        REQUIRE(getsockname(listening, any, &bytes) == 0);
        test::Runner runner(test::Options(1));
        int64_t connected = 1, sent = 0, heard = 0, closed = 1, last = 0, broken = 0;
        char text[16] = {};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            AsyncIo io(scheduler, Using(ring));
            Counter done;
            IoOperation accept = IoOperation::Accept(listening, SOCK_CLOEXEC);
            io.Submit(accept, &done);
            connected = io.Connect(client, &address, sizeof address);
            scheduler.WaitForCounter(&done);
            File server(static_cast<int>(accept.Result()));
            sent = io.Send(client, "to the server", 14);
            heard = io.Receive(server, text, sizeof text);
            shutdown(client, SHUT_WR);
            char more = 0;
            closed = io.Receive(server, &more, 1);
            io.Submit(accept, &done);
            shutdown(listening, SHUT_RDWR);
            scheduler.WaitForCounter(&done);
            last = accept.Result();
            broken = io.Send(client, "x", 1);
        }) == Status::Ok);
        CHECK(connected == 0);
        CHECK(sent == 14);
        CHECK(heard == 14);
        CHECK(std::string(text) == "to the server");
        CHECK(closed == 0);
        CHECK(last == -EINVAL);
        CHECK(broken == -EPIPE);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("io: errors of the system are results", "[io]") {
    for (bool ring : {true, false}) {
        const File file = MakeFile(10);
        const Pair pipe = MakePipe();
        test::Runner runner(test::Options(1));
        int64_t results[6] = {};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            AsyncIo io(scheduler, Using(ring));
            char byte = 0;
            results[0] = io.Read(-1, &byte, 1, 0);
            results[1] = io.Write(pipe.first, &byte, 1);
            results[2] = io.Read(file, nullptr, 1, 0);
            results[3] = io.Read(file, &byte, 1, -2);
            results[4] = io.Receive(file, &byte, 1);
            results[5] = io.Run(IoOperation());
        }) == Status::Ok);
        CHECK(results[0] == -EBADF);
        CHECK(results[1] == -EBADF);
        CHECK(results[2] == -EFAULT);
        CHECK(results[3] == -EINVAL);
        CHECK(results[4] == -ENOTSOCK);
        CHECK(results[5] == -EINVAL);
        CHECK(runner.log.Text() == "");
    }
}

namespace {

// The three ways in which an operation is made.
enum class Way { Ring, Threads, ExternalThread };
constexpr Way kWays[] = {Way::Ring, Way::Threads, Way::ExternalThread};
const char *NameOf(Way way) {
    return way == Way::Ring ? "ring" : way == Way::Threads ? "threads" : "external thread";
}

// Calls body(AsyncIo &) in a task, or on an external thread.
template <class Body>
void CallBy(Way way, test::Runner &runner, Body body) {
    AsyncIo io(runner.scheduler, Using(way == Way::Ring));
    if (way == Way::ExternalThread) {
        body(io);
        return;
    }
    auto call = [&](TaskScheduler *) { body(io); };
    Counter done;
    runner.scheduler.AddTask(MakeTask(call), &done);
    runner.scheduler.WaitForCounter(&done);
}

struct Opened {
    File file, other;  // of a pair, what is written to one can be read from the other
};
Opened OpenFile() { return {MakeFile(20), File()}; }
Opened OpenEmptyFile() { return {MakeFile(0), File()}; }
Opened OpenPipe() {
    Pair pipe = MakePipe();
    if (write(pipe.second, "0123456789", 10) != 10) return {};
    return {std::move(pipe.first), std::move(pipe.second)};
}
Opened OpenPipeToWrite() {
    Pair pipe = MakePipe();
    return {std::move(pipe.second), std::move(pipe.first)};
}
Opened OpenSocket() {
    Pair sockets = MakeSockets();
    if (write(sockets.second, "0123456789", 10) != 10) return {};
    return {std::move(sockets.first), std::move(sockets.second)};
}
Opened OpenEmptySocket() {
    Pair sockets = MakeSockets();
    return {std::move(sockets.first), std::move(sockets.second)};
}
Opened OpenDatagrams() {
    int files[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, files) != 0) return {};
    if (write(files[1], "0123456789", 10) != 10) return {};
    return {File(files[0]), File(files[1])};
}
Opened OpenEventFile() { return {File(eventfd(3, 0)), File()}; }
Opened OpenClosedSocket() {
    Pair sockets = MakeSockets();
    return {std::move(sockets.first), File()};
}
Opened OpenNothing() { return {}; }
Opened OpenDeafSocket() { return {File(socket(AF_UNIX, SOCK_STREAM, 0)), File()}; }

}  // namespace

TEST_CASE("io: each way to make an operation has the same results", "[io]") {
    struct Row {
        const char *what;
        Opened (*open)();
        IoOperation (*make)(int file, char *buffer);
        int64_t result;
    };
    static char s_text[8] = "abcdefg";
    const Row rows[] = {
        {"file, read at 15", OpenFile,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8, 15); }, 5},
        {"file, read at its end", OpenFile,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8, 20); }, 0},
        {"file, read", OpenFile,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8); }, 8},
        {"file, read at -2", OpenFile,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8, -2); }, -EINVAL},
        {"file, write at 1000", OpenEmptyFile,
         [](int file, char *) { return IoOperation::Write(file, s_text, 3, 1000); }, 3},
        {"file, receive", OpenFile,
         [](int file, char *buffer) { return IoOperation::Receive(file, buffer, 8); }, -ENOTSOCK},
        {"pipe, read at 9", OpenPipe,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8, 9); }, 8},
        {"pipe, read at 0", OpenPipe,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8, 0); }, 8},
        {"pipe, read", OpenPipe,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8); }, 8},
        {"pipe, read at -2", OpenPipe,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8, -2); }, -EINVAL},
        {"pipe, write at 7", OpenPipeToWrite,
         [](int file, char *) { return IoOperation::Write(file, s_text, 3, 7); }, 3},
        {"pipe, write to the end that is read", OpenPipe,
         [](int file, char *) { return IoOperation::Write(file, s_text, 3, 7); }, -EBADF},
        {"socket, read at 9", OpenSocket,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8, 9); }, 8},
        {"socket, read at 0", OpenSocket,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8, 0); }, 8},
        {"socket, read", OpenSocket,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8); }, 8},
        {"socket, read at -2", OpenSocket,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8, -2); }, -EINVAL},
        {"socket, write at 9", OpenSocket,
         [](int file, char *) { return IoOperation::Write(file, s_text, 3, 9); }, 3},
        {"socket, write at 0", OpenSocket,
         [](int file, char *) { return IoOperation::Write(file, s_text, 3, 0); }, 3},
        {"datagrams, read at 9", OpenDatagrams,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 4, 9); }, 4},
        {"datagrams, write at 9", OpenDatagrams,
         [](int file, char *) { return IoOperation::Write(file, s_text, 3, 9); }, 3},
        {"socket without its peer, read at 9", OpenClosedSocket,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8, 9); }, 0},
        {"socket without its peer, send", OpenClosedSocket,
         [](int file, char *) { return IoOperation::Send(file, s_text, 3); }, -EPIPE},
        {"eventfd, read at 7", OpenEventFile,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8, 7); }, 8},
        {"eventfd, read of 3 bytes", OpenEventFile,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 3); }, -EINVAL},
        {"empty socket, receive with MSG_DONTWAIT", OpenEmptySocket,
         [](int file, char *buffer) { return IoOperation::Receive(file, buffer, 8, MSG_DONTWAIT); },
         -EAGAIN},
        {"socket that does not listen, accept", OpenDeafSocket,
         [](int file, char *) { return IoOperation::Accept(file); }, -EINVAL},
        {"no file, read at 9", OpenNothing,
         [](int file, char *buffer) { return IoOperation::Read(file, buffer, 8, 9); }, -EBADF},
    };
    for (Way way : kWays) {
        test::Runner runner(test::Options(1));
        REQUIRE(runner.scheduler.Start() == Status::Ok);
        for (const Row &row : rows) {
            const Opened opened = row.open();
            std::array<char, 8> buffer{};
            const IoOperation operation = row.make(opened.file, buffer.data());
            int64_t result = 0;
            CallBy(way, runner, [&](AsyncIo &io) { result = io.Run(operation); });
            INFO(NameOf(way) << ": " << row.what);
            CHECK(result == row.result);
        }
        runner.scheduler.Stop();
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("io: an operation waits although its file has O_NONBLOCK", "[io]") {
    struct Row {
        const char *what;
        int64_t (*run)(AsyncIo &io, int file);
        bool isSocket;
        bool isFull;
    };
    const Row rows[] = {
        {"pipe, read",
         [](AsyncIo &io, int file) {
             char byte = 0;
             return io.Read(file, &byte, 1);
         },
         false, false},
        {"pipe, write", [](AsyncIo &io, int file) { return io.Write(file, "x", 1); }, false, true},
        {"socket, read at 0",
         [](AsyncIo &io, int file) {
             char byte = 0;
             return io.Read(file, &byte, 1, 0);
         },
         true, false},
        {"socket, receive",
         [](AsyncIo &io, int file) {
             char byte = 0;
             return io.Receive(file, &byte, 1);
         },
         true, false},
        {"socket, send", [](AsyncIo &io, int file) { return io.Send(file, "x", 1); }, true, true},
    };
    for (Way way : kWays) {
        for (const Row &row : rows) {
            Pair pair = row.isSocket ? MakeSockets() : MakePipe();
            if (!row.isSocket && row.isFull) std::swap(pair.first, pair.second);
            for (int file : {int{pair.first}, int{pair.second}}) {
                REQUIRE(fcntl(file, F_SETFL, O_NONBLOCK) == 0);
            }
            const std::array<char, 4096> block{};
            while (row.isFull && write(pair.first, block.data(), block.size()) > 0) {
            }
            test::Runner runner(test::Options(1));
            REQUIRE(runner.scheduler.Start() == Status::Ok);
            std::atomic<bool> isReady{false};
            int64_t result = 0;
            test::Threads other(1, [&](uint32_t) {
                test::SpinUntil([&] { return isReady.load(); });
                test::Linger(2000);  // an operation that does not wait returns meanwhile
                std::array<char, 4096> got;
                if (!row.isFull) {
                    isReady.store(write(pair.second, "y", 1) == 1);
                } else {
                    while (read(pair.second, got.data(), got.size()) > 0) {
                    }
                }
            });
            CallBy(way, runner, [&](AsyncIo &io) {
                isReady.store(true);
                result = row.run(io, pair.first);
            });
            other.Join();
            runner.scheduler.Stop();
            INFO(NameOf(way) << ": " << row.what);
            CHECK(result == 1);
        }
    }
}

TEST_CASE("io: accept and connect wait although their sockets have O_NONBLOCK", "[io]") {
    for (Way way : kWays) {
        const File listening(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)),
            client(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto *const any = reinterpret_cast<sockaddr *>(&address);
        socklen_t bytes = sizeof address;
        REQUIRE(bind(listening, any, bytes) == 0);
        REQUIRE(listen(listening, 4) == 0);
        REQUIRE(getsockname(listening, any, &bytes) == 0);
        test::Runner runner(test::Options(1));
        REQUIRE(runner.scheduler.Start() == Status::Ok);
        std::atomic<bool> isReady{false};
        int64_t accepted = 0, connected = 1;
        test::Threads other(1, [&](uint32_t) {
            test::SpinUntil([&] { return isReady.load(); });
            test::Linger(2000);
            AsyncIo io(runner.scheduler, Using(false));
            connected = io.Connect(client, &address, sizeof address);
        });
        CallBy(way, runner, [&](AsyncIo &io) {
            isReady.store(true);
            accepted = io.Accept(listening, SOCK_CLOEXEC);
        });
        other.Join();
        const File server(static_cast<int>(accepted));
        runner.scheduler.Stop();
        INFO(NameOf(way));
        CHECK(accepted >= 0);
        CHECK(connected == 0);
    }
}

namespace {

// Lets io_uring_enter fail with this error, on all threads. Returns false if the system cannot.
bool RefuseEnter(uint32_t error) {
    sock_filter filter[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, __NR_io_uring_enter},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    sock_fprog program{4, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

// The ring is lost by `lose`, in a child process. Ends the child: 0 if all is well.
template <class Lose>
void LoseRing(Lose lose) {
    test::EndAfter(20);
    const File file = MakeFile(100);
    const Pair early = MakePipe(), late = MakePipe();
    test::Runner runner(test::Options(2));
    int wrong = 0;
    const Status status = runner.Run([&](TaskScheduler &scheduler) {
        int least = open("/dev/null", O_RDONLY);
        close(least);
        std::optional<AsyncIo> io;
        io.emplace(scheduler, Using(true));
        if (!io->UsesRing()) _exit(0);
        char bytes[4] = {};
        Counter first, second, third;
        IoOperation inFlight = IoOperation::Read(early.first, &bytes[0], 1);
        io->Submit(inFlight, &first);
        if (io->Read(file, &bytes[1], 1, 7) != 1) _exit(2);  // the kernel has both
        if (!lose(least)) _exit(0);                          // an emulator
        // Files that get the numbers of descriptors that were closed.
        File others[3];
        for (File &other : others) other = MakeFile(16);
        if (io->Read(file, &bytes[1], 1, 8) != 1 || bytes[1] != ByteAt(8)) wrong |= 1;
        IoOperation reads[2] = {IoOperation::Read(late.first, &bytes[2], 1),
                                IoOperation::Read(late.first, &bytes[3], 1)};
        io->Submit(2, reads, &second);
        IoOperation last = IoOperation::Write(late.second, "xy", 2);
        io->Submit(last, &third);
        scheduler.WaitForCounter(&third);
        scheduler.WaitForCounter(&second);
        if (reads[0].Result() != 1 || reads[1].Result() != 1 || last.Result() != 2) wrong |= 2;
        if (write(early.second, "z", 1) != 1) wrong |= 4;
        scheduler.WaitForCounter(&first);
        if (inFlight.Result() != 1 || bytes[0] != 'z') wrong |= 4;
        if (io->UsesRing() || io->LastError() != Status::NotRunning) wrong |= 8;
        io.reset();
        for (const File &other : others) {
            std::array<char, 20> now{};
            if (pread(other, now.data(), now.size(), 0) != 16 || !IsPart(now.data(), 16, 0))
                wrong |= 16;
        }
    });
    if (runner.log.CountOf(ReportCode::DestroyedInUse) != 1) wrong |= 32;
    std::fprintf(stderr, "wrong %d\n%s\n", wrong, runner.log.Text().c_str());
    _exit(status == Status::Ok && wrong == 0 && runner.log.Count() == 1 ? 0 : 3);
}

}  // namespace

TEST_CASE("report DestroyedInUse: io_uring is refused later and threads make the calls",
          "[io][report]") {
    for (uint32_t error : {EPERM, ENOSYS, EINVAL, EAGAIN}) {
        const test::ChildResult child =
            test::RunInChild([&] { LoseRing([&](int) { return RefuseEnter(error); }); });
        INFO("error " << error << ": " << child.output);
        CHECK(child.exited);
        CHECK(child.code == 0);
    }
}

TEST_CASE("report DestroyedInUse: the descriptors of a ring are closed and threads make the calls",
          "[io][report]") {
    struct Row {
        const char *what;
        int from, to;  // counted from the first one that AsyncIo opens
    };
    for (const Row &row : {Row{"all", 0, 1}, Row{"the first", 0, 0}, Row{"the second", 1, 1}}) {
        const test::ChildResult child = test::RunInChild([&] {
            LoseRing([&](int least) {
                for (int i = row.from; i <= row.to; ++i) close(least + i);
                return true;
            });
        });
        INFO(row.what << ": " << child.output);
        CHECK(child.exited);
        CHECK(child.code == 0);
    }
}

namespace {

// Returns true if all other threads of the process sleep in the system.
bool OthersSleep() {
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task")) {
        if (entry.path().filename() == std::to_string(gettid())) continue;
        std::ifstream file(entry.path() / "stat");
        std::string line;
        std::getline(file, line);
        const size_t name = line.rfind(')');
        if (name == std::string::npos || line.compare(name, 3, ") S") != 0) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("io: an idle ring whose descriptors are closed can be destroyed", "[io]") {
    const test::ChildResult child = test::RunInChild([&] {
        test::EndAfter(20);
        test::Runner runner(test::Options(1));
        const int least = open("/dev/null", O_RDONLY);
        close(least);
        {
            AsyncIo io(runner.scheduler, Using(true));
            if (!io.UsesRing()) _exit(0);
            while (!OthersSleep()) test::Linger(100);
            close(least);
            close(least + 1);
        }
        _exit(runner.log.CountOf(ReportCode::DestroyedInUse) == 1 ? 0 : 3);
    });
    INFO(child.output);
    CHECK(child.exited);
    CHECK(child.code == 0);
}

TEST_CASE("io: a refused submission has no effect", "[io][report]") {
    for (bool ring : {true, false}) {
        const Pair pipe = MakePipe();
        test::Runner runner(test::Options(1));
        Status answers[7] = {};
        uint32_t counted = 0;
        int64_t result = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            AsyncIo io(scheduler, Using(ring));
            char bytes[3] = {};
            Counter counter, other, full(~0u);
            IoOperation two[2] = {IoOperation::Read(pipe.first, &bytes[0], 1), IoOperation()};
            answers[0] = io.Submit(2, two, &counter);
            answers[1] = io.Submit(two[0], nullptr);
            answers[2] = io.Submit(two[0], &full);
            counted = counter.Value();
            answers[3] = io.Submit(two[0], &counter);
            two[1] = IoOperation::Read(pipe.first, &bytes[1], 1);
            IoOperation copy(two[0]);  // is not submitted
            IoOperation both[2] = {two[1], IoOperation::Read(pipe.first, &bytes[2], 1)};
            answers[4] = io.Submit(2, two, &other);
            answers[5] = io.Submit(2, both, &counter);
            answers[6] = io.Submit(copy, &full);
            counted += other.Value();
            if (write(pipe.second, "abc", 3) != 3) return;
            scheduler.WaitForCounter(&counter);
            result = two[0].Result() + both[0].Result() + both[1].Result();
        }) == Status::Ok);
        CHECK(answers[0] == Status::BadOption);
        CHECK(answers[1] == Status::BadOption);
        CHECK(answers[2] == Status::BadOption);
        CHECK(answers[3] == Status::Ok);
        CHECK(answers[4] == Status::AlreadyRunning);
        CHECK(answers[5] == Status::Ok);
        CHECK(answers[6] == Status::BadOption);
        CHECK(counted == 0);
        CHECK(result == 3);
        CHECK(runner.log.CountOf(ReportCode::NullCounter) == 1);
        CHECK(runner.log.CountOf(ReportCode::CounterOverflow) == 2);
        CHECK(runner.log.Count() == 3);
    }
}

TEST_CASE("io: the destructor waits for operations in flight, and its worker does not", "[io]") {
    for (bool ring : {true, false}) {
        for (uint32_t depth : {1u, 64u}) {
            const File file = MakeFile(1);
            const Pair pipe = MakePipe();
            test::Runner runner(test::Options(1));
            int64_t result = 0;
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                std::optional<AsyncIo> io;
                io.emplace(scheduler, Using(ring, depth));
                char bytes[3] = {};
                IoOperation reads[3];
                for (int i = 0; i < 3; ++i) reads[i] = IoOperation::Read(pipe.first, &bytes[i], 1);
                Counter counter;
                io->Submit(3, reads, &counter);
                // After a later operation has ended, the kernel or a thread has the reads.
                char byte = 0;
                if (depth > 3) io->Read(file, &byte, 1, 0);
                test::Batch writer(1, [&](TaskScheduler &, uint32_t) {
                    test::Linger(2000);  // a destructor that does not wait returns meanwhile
                    if (write(pipe.second, "abc", 3) == 3) ++result;
                });
                scheduler.AddTask(writer[0]);
                io.reset();
                for (const IoOperation &read : reads) result += read.Result();
                result += counter.IsZero();
            }) == Status::Ok);
            CHECK(result == 1 + 3 + 1);
            CHECK(test::Faults(runner.log) == "");
        }
    }
}

TEST_CASE("io: external threads submit, and make the calls of Run themselves", "[io]") {
    for (bool ring : {true, false}) {
        const File file = MakeFile(1000);
        const Pair pipe = MakePipe();
        test::Runner runner(test::Options(1));
        char bytes[10] = {};
        int64_t results[3] = {};
        std::atomic<int64_t> submitted{0};
        {
            AsyncIo io(runner.scheduler, Using(ring));
            results[0] = io.Read(file, bytes, 10, 100);
            REQUIRE(runner.scheduler.Start() == Status::Ok);
            results[1] = io.Read(file, bytes, 10, 995);
            Counter done;
            char byte = 0;
            IoOperation read = IoOperation::Read(pipe.first, &byte, 1);
            CHECK(io.Submit(read, &done) == Status::Ok);
            test::Threads writer(1, [&](uint32_t) { submitted += write(pipe.second, "x", 1); });
            runner.scheduler.WaitForCounter(&done);
            submitted += read.Result();
            CHECK(byte == 'x');
            results[2] = io.Run(read = IoOperation::Read(file, bytes, 10, 1000));
        }
        runner.scheduler.Stop();
        CHECK(results[0] == 10);
        CHECK(results[1] == 5);
        CHECK(results[2] == 0);
        CHECK(submitted.load() == 2);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("io: tasks and threads submit at once, again and again, and no operation is lost",
          "[io]") {
    constexpr uint32_t kTasks = 6, kRounds = 100;
    const File file = MakeFile(4096);
    for (bool ring : {true, false}) {
        for (uint32_t depth : {2u, 64u}) {
            test::Runner runner(test::Options(2));
            REQUIRE(runner.scheduler.Start() == Status::Ok);
            std::atomic<uint32_t> wrong{0}, made{0};
            {
                AsyncIo io(runner.scheduler, Using(ring, depth));
                const auto work = [&](uint32_t number) {
                    std::array<char, 16> buffers[3];
                    IoOperation reads[3];
                    Counter done;
                    for (uint32_t round = 0; round < kRounds; ++round) {
                        const size_t at = (number * 131 + round * 17) % 4000;
                        for (int i = 0; i < 3; ++i)
                            reads[i] = IoOperation::Read(file, buffers[i].data(), 16,
                                                         static_cast<int64_t>(at));
                        io.Submit(2, reads, &done);
                        io.Submit(reads[2], &done);
                        runner.scheduler.WaitForCounter(&done);
                        for (int i = 0; i < 3; ++i)
                            wrong.fetch_add(reads[i].Result() != 16 ||
                                            !IsPart(buffers[i].data(), 16, at));
                        made.fetch_add(3);
                    }
                };
                test::Batch batch(kTasks, [&](TaskScheduler &, uint32_t i) { work(i); });
                Counter counter;
                runner.scheduler.AddTasks(kTasks, batch.Tasks(), &counter);
                test::Threads threads(2, [&](uint32_t i) { work(kTasks + i); });
                threads.Join();
                runner.scheduler.WaitForCounter(&counter);
            }
            runner.scheduler.Stop();
            CHECK(wrong.load() == 0);
            CHECK(made.load() == (kTasks + 2) * kRounds * 3);
            CHECK(test::Faults(runner.log) == "");
        }
    }
}

TEST_CASE("io: a wait for an operation is not taken for a stall", "[io]") {
    for (bool ring : {true, false}) {
        const Pair pipe = MakePipe();
        test::Runner runner(test::Options(1, 10, IdlePolicy::Sleep));
        std::atomic<int64_t> result{0};
        const auto stall = std::chrono::milliseconds(5 * test::Options(1).stallMilliseconds);
        test::Threads writer(1, [&](uint32_t) {
            std::this_thread::sleep_for(stall);  // with a stall report the log is not empty
            if (write(pipe.second, "x", 1) != 1) result.store(-1);
        });
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            AsyncIo io(scheduler, Using(ring));
            char byte = 0;
            result.fetch_add(io.Read(pipe.first, &byte, 1));
        }) == Status::Ok);
        writer.Join();
        CHECK(result.load() == 1);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("io: an object that is destroyed at once ends", "[io]") {
    test::Runner runner(test::Options(1));
    for (bool ring : {true, false}) {
        for (uint32_t round = 0; round < 1500; ++round)
            const AsyncIo io(runner.scheduler, Using(ring, 1));
    }
    CHECK(runner.log.Text() == "");
}

TEST_CASE("io: options out of range, and no memory", "[io]") {
    const File file = MakeFile(10);
    for (bool ring : {true, false}) {
        for (uint32_t depth : {0u, 40000u}) {
            test::Runner runner(test::Options(1));
            const AsyncIo io(runner.scheduler, Using(ring, depth));
            CHECK(io.LastError() == Status::BadOption);
        }
        for (int64_t nth = 0; nth < 6; ++nth) {
            test::HostMemory memory;
            {
                test::Runner runner(test::Options(1));
                AsyncIoOptions options = Using(ring, 8);
                memory.AttachTo(options.threads.memory, true, false);
                memory.FailFrom(nth);
                int64_t result = 0;
                bool hasError = false;
                CHECK(runner.Run([&](TaskScheduler &scheduler) {
                    AsyncIo io(scheduler, options);
                    hasError = io.LastError() == Status::OutOfMemory;
                    char byte = 0;
                    result = io.Read(file, &byte, 1, 3);
                    Counter done;
                    IoOperation read = IoOperation::Read(file, &byte, 1, 3);
                    result += io.Submit(read, &done) == Status::Ok;
                    scheduler.WaitForCounter(&done);
                    result += byte == ByteAt(3) ? read.Result() : 0;
                }) == Status::Ok);
                CHECK(result == 3);
                CHECK((hasError || !memory.HasFailed() || ring));
                CHECK(test::Faults(runner.log) == "");
            }
            CHECK(memory.OutstandingBytes() == 0);
            CHECK(memory.Wrong() == 0);
        }
    }
}

TEST_CASE("report InHook: an operation in a hook is made by its caller", "[io][report]") {
    for (bool ring : {true, false}) {
        const File file = MakeFile(100);
        struct Shared {
            AsyncIo *io = nullptr;
            int file = -1;
            std::atomic<int64_t> result{0};
        } shared;
        shared.file = file;
        SchedulerOptions options = test::Options(1);
        options.trace.user = &shared;
        options.trace.kinds = TraceHooks::Bit(TraceKind::Submit);
        options.trace.event = [](const TraceEvent &, void *user) {
            Shared &self = *static_cast<Shared *>(user);
            char bytes[30];
            self.result.fetch_add(self.io->Read(self.file, bytes, sizeof bytes, 90));
        };
        test::Runner runner(options);
        test::Marks marks(1);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            AsyncIo io(scheduler, Using(ring));
            shared.io = &io;
            scheduler.AddTask(marks[0]);
            scheduler.WaitIdle();
        }) == Status::Ok);
        CHECK(shared.result.load() == 10);
        CHECK(runner.log.CountOf(ReportCode::InHook) == 1);
        CHECK(runner.log.Count() == 1);
    }
}

TEST_CASE("io: in a forked child callers make the calls, and the parent goes on",
          "[io][fork_mark]") {
    for (bool ring : {true, false}) {
        const File file = MakeFile(100);
        const Pair pipe = MakePipe();
        test::Runner runner(test::Options(1));
        test::ChildResult child;
        int64_t result = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            std::optional<AsyncIo> io;
            io.emplace(scheduler, Using(ring));
            char byte = 0, piped = 0;
            Counter done;
            IoOperation read = IoOperation::Read(pipe.first, &piped, 1);
            io->Submit(read, &done);
            result += io->Read(file, &byte, 1, 0);
            child = test::RunInChild([&] {
                test::EndAfter(20);
                Counter counter;
                IoOperation own = IoOperation::Read(file, &byte, 1, 5);
                if (io->Read(file, &byte, 1, 7) != 1 || byte != ByteAt(7)) _exit(2);
                if (io->Submit(own, &counter) != Status::BadOption || !counter.IsZero()) _exit(3);
                if (runner.log.CountOf(ReportCode::Forked) != 1) _exit(4);
                io.reset();
                _exit(0);
            });
            if (write(pipe.second, "x", 1) == 1) ++result;
            scheduler.WaitForCounter(&done);
            result += read.Result();
            result += io->Read(file, &byte, 1, 9);
        }) == Status::Ok);
        INFO((ring ? "ring: " : "threads: ") << child.output);
        CHECK(child.exited);
        CHECK(child.code == 0);
        CHECK(result == 4);
    }
}

TEST_CASE("io: a thread that a signal interrupts makes the call again", "[io]") {
    struct sigaction quiet {};
    struct sigaction before {};
    static std::atomic<uint32_t> s_signals{0};
    quiet.sa_handler = [](int) { s_signals.fetch_add(1); };  // without SA_RESTART
    REQUIRE(sigaction(SIGUSR1, &quiet, &before) == 0);
    for (bool ring : {true, false}) {
        const Pair pipe = MakePipe();
        static std::atomic<bool> s_hasThread{false};
        static pthread_t s_thread;
        s_hasThread.store(false);
        s_signals.store(0);
        AsyncIoOptions options = Using(ring);
        options.threads.threads.onStart = [](uint32_t, void *) {
            s_thread = pthread_self();
            s_hasThread.store(true);
        };
        test::Runner runner(test::Options(1));
        int64_t result = 0;
        bool signalled = false;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            AsyncIo io(scheduler, options);
            char byte = 0;
            Counter done;
            IoOperation read = IoOperation::Read(pipe.first, &byte, 1);
            io.Submit(read, &done);
            // Signals until several have come, most of them while the thread is in the system call.
            signalled = test::SpinUntil([&] {
                if (s_hasThread.load()) pthread_kill(s_thread, SIGUSR1);
                test::Linger(20);
                return s_signals.load() > 50;
            });
            if (write(pipe.second, "x", 1) != 1) return;
            scheduler.WaitForCounter(&done);
            result = read.Result();
        }) == Status::Ok);
        CHECK(signalled);
        CHECK(result == 1);
    }
    sigaction(SIGUSR1, &before, nullptr);
}
