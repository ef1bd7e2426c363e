// A server on weft: a thousand handlers wait at once, on two workers.
#include "adapters/asio/asio_executor.h"

#include "support/scheduler_run.h"
#include "support/threads.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>

#include <sys/resource.h>
#include <asio.hpp>
#include <catch2/catch.hpp>

using namespace weft;
using asio::ip::tcp;

namespace {

constexpr uint32_t kConnections = 1000;

/// Lets the process open enough descriptors for kConnections, until the destructor.
class Descriptors {
public:
    Descriptors() {
        getrlimit(RLIMIT_NOFILE, &m_before);
        rlimit raised = m_before;
        raised.rlim_cur = (std::max)(raised.rlim_cur, (std::min)(kNeeded, raised.rlim_max));
        m_count = setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : m_before.rlim_cur;
    }
    ~Descriptors() { setrlimit(RLIMIT_NOFILE, &m_before); }
    Descriptors(const Descriptors &) = delete;
    Descriptors &operator=(const Descriptors &) = delete;
    /// How many connections they are enough for, at most kConnections. Both ends are here.
    uint32_t Connections() const {
        if (m_count >= kNeeded) return kConnections;
        return m_count <= kOthers ? 0 : static_cast<uint32_t>((m_count - kOthers) / 2);
    }

private:
    static constexpr rlim_t kOthers = 100, kNeeded = 2 * kConnections + kOthers;
    rlimit m_before{};
    rlim_t m_count = 0;
};

/// What the handlers of all connections share.
struct Gate {
    Gate(TaskScheduler &owner, uint32_t count) : scheduler(owner), connections(count) {}
    /// Called once by each connection's handler, in a task.
    void Pass() {
        if (++waiting == connections) {
            const std::filesystem::directory_iterator all("/proc/self/task"), end;
            threads = static_cast<uint32_t>(std::distance(all, end));
            Open();
        }
        scheduler.WaitForCounter(&closed);
        passed += waiting == connections;
    }
    /// Also after an error, so that the test ends.
    void Open() {
        if (!isOpen.exchange(true)) scheduler.DecrementCounter(&closed);
    }
    void Fail() {
        ++errors;
        Open();
    }

    TaskScheduler &scheduler;
    const uint32_t connections;
    Counter closed{1};
    std::atomic<bool> isOpen{false};
    std::atomic<uint32_t> waiting{0}, passed{0}, errors{0}, threads{0};
};

uint32_t AnswerTo(uint32_t request) { return 3 * request + 1; }

/// Reads a number, waits at the gate, and answers.
struct Session : std::enable_shared_from_this<Session> {
    Session(Gate &shared, tcp::socket accepted) : gate(shared), socket(std::move(accepted)) {}
    void Begin() {
        asio::async_read(socket, asio::buffer(&number, sizeof number),
                         [self = shared_from_this()](const std::error_code &error, size_t) {
                             if (error) return self->gate.Fail();
                             self->gate.Pass();
                             self->Answer();
                         });
    }
    void Answer() {
        number = AnswerTo(number);
        asio::async_write(socket, asio::buffer(&number, sizeof number),
                          [self = shared_from_this()](const std::error_code &error, size_t) {
                              if (error) self->gate.Fail();
                          });
    }
    Gate &gate;
    tcp::socket socket;
    uint32_t number = 0;
};

/// Accepts the connections.
struct Server {
    Server(AsioContext &context, Gate &shared)
        : gate(shared), acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
        Accept(gate.connections);
    }
    void Accept(uint32_t count) {
        acceptor.async_accept([this, count](const std::error_code &error, tcp::socket socket) {
            if (error) {
                acceptor.close();  // the clients in line see errors
                return gate.Fail();
            }
            std::make_shared<Session>(gate, std::move(socket))->Begin();
            if (count > 1) Accept(count - 1);
        });
    }
    Gate &gate;
    tcp::acceptor acceptor;
};

/// Sends a number, and checks the answer.
struct Client {
    Client(asio::io_context &io, Gate &shared, const tcp::endpoint &server, uint32_t request)
        : gate(shared), socket(io), number(request) {
        socket.async_connect(server, [this](const std::error_code &error) {
            if (error) return gate.Fail();
            asio::async_write(socket, asio::buffer(&number, sizeof number),
                              [this](const std::error_code &failed, size_t) {
                                  if (failed) return gate.Fail();
                                  Receive();
                              });
        });
    }
    void Receive() {
        asio::async_read(socket, asio::buffer(&answer, sizeof answer),
                         [this](const std::error_code &error, size_t) {
                             if (error) return gate.Fail();
                             isRight = answer == AnswerTo(number);
                         });
    }
    Gate &gate;
    tcp::socket socket;
    uint32_t number, answer = 0;
    bool isRight = false;
};

}  // namespace

TEST_CASE("AsioContext: 1,000 connections wait in their handlers at once, on two workers",
          "[asio]") {
    const Descriptors descriptors;
    const uint32_t connections = descriptors.Connections();
    if (connections < kConnections)
        WARN("only " << connections << " connections: the limit of descriptors is too low");
    if (connections == 0) return;
    test::Runner run(test::Options(2, connections + 48));
    REQUIRE(run.scheduler.Start() == Status::Ok);
    Gate gate(run.scheduler, connections);
    uint32_t right = 0;
    {
        AsioContext context(run.scheduler);
        Server server(context, gate);
        asio::io_context io;  // run by this thread
        std::deque<Client> clients;
        for (uint32_t i = 0; i < connections; ++i)
            clients.emplace_back(io, gate, server.acceptor.local_endpoint(), i);
        io.run();
        server.acceptor.close();
        for (const Client &client : clients) right += client.isRight;
    }
    run.scheduler.Stop();
    CHECK(right == connections);
    CHECK(gate.passed == connections);
    CHECK(gate.errors == 0);
    CHECK(gate.threads >= 4);  // two workers, Asio's thread and this one
    CHECK(gate.threads <= 8);
    CHECK(test::Faults(run.log) == "");
}
