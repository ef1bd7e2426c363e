// Figures for the adapter's page: weft's executor against asio::thread_pool.
#include "adapters/asio/asio_executor.h"

#include "adapters/figures.h"
#include "support/scheduler_run.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <asio.hpp>
#include <catch2/catch.hpp>

using namespace weft;
using asio::ip::tcp;

namespace {

constexpr uint32_t kHandlers = 100'000;
constexpr uint32_t kConnections = 64, kRequests = 100;

void End(AsioContext &context) { context.Wait(); }
void End(asio::thread_pool &pool) { pool.join(); }

/// The thread that measures posts empty handlers.
template <class Context>
double PostFromOutside(Context &context) {
    return test::PerSecond(kHandlers, [&] {
        for (uint32_t i = 0; i < kHandlers; ++i) asio::post(context, [] {});
        End(context);
    });
}

/// A handler posts empty handlers.
template <class Context>
double PostFromHandler(Context &context) {
    return test::PerSecond(kHandlers, [&] {
        asio::post(context, [&] {
            for (uint32_t i = 0; i < kHandlers; ++i) asio::post(context, [] {});
        });
        End(context);
    });
}

using Message = std::array<char, 64>;

/// Sends back what it receives, until the client closes its end.
struct Echo : std::enable_shared_from_this<Echo> {
    explicit Echo(tcp::socket accepted) : socket(std::move(accepted)) {}
    void Receive() {
        asio::async_read(socket, asio::buffer(message),
                         [self = shared_from_this()](const std::error_code &error, size_t) {
                             if (!error) self->Send();
                         });
    }
    void Send() {
        asio::async_write(socket, asio::buffer(message),
                          [self = shared_from_this()](const std::error_code &error, size_t) {
                              if (!error) self->Receive();
                          });
    }
    tcp::socket socket;
    Message message{};
};

struct Client {
    explicit Client(tcp::socket connected) : socket(std::move(connected)) {}
    void Send() {
        asio::async_write(socket, asio::buffer(message), [this](const std::error_code &, size_t) {
            asio::async_read(socket, asio::buffer(message),
                             [this](const std::error_code &error, size_t) {
                                 if (!error && ++answers < kRequests) Send();
                             });
        });
    }
    tcp::socket socket;
    Message message{};
    uint32_t answers = 0;
};

/// The clients run on the thread that measures.
template <class Context>
double EchoRequests(Context &context) {
    asio::io_context io;
    std::deque<Client> clients;
    tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    for (uint32_t i = 0; i < kConnections; ++i) {
        tcp::socket socket(io);
        socket.connect(acceptor.local_endpoint());
        clients.emplace_back(std::move(socket));
        std::make_shared<Echo>(acceptor.accept())->Receive();
    }
    const double perSecond = test::PerSecond(kConnections * kRequests, [&] {
        for (Client &client : clients) client.Send();
        io.run();
    });
    uint32_t answers = 0;
    for (const Client &client : clients) answers += client.answers;
    clients.clear();
    acceptor.close();
    End(context);
    return answers == kConnections * kRequests ? perSecond : 0;
}

double OnThreads(double (*measure)(asio::thread_pool &)) {
    asio::thread_pool threads(test::kFigureWorkers);
    return measure(threads);
}

}  // namespace

TEST_CASE("asio figures: weft's executor against asio::thread_pool", "[.figures]") {
    test::Runner run(test::Options(test::kFigureWorkers));
    REQUIRE(run.scheduler.Start() == Status::Ok);
    const auto onWeft = [&](double (*measure)(AsioContext &)) {
        AsioContext context(run.scheduler);
        return measure(context);
    };
    test::Figures figures("thousands a second", "asio::thread_pool", 1e-3);
    const auto add = [&](const char *name, double (*weft)(AsioContext &),
                         double (*pool)(asio::thread_pool &)) {
        figures.Add(
            name, [=] { return onWeft(weft); }, [=] { return OnThreads(pool); });
    };
    add("post from another thread", PostFromOutside, PostFromOutside);
    add("post from a handler", PostFromHandler, PostFromHandler);
    add("echo requests", EchoRequests, EchoRequests);
    CHECK(figures.Measure());
    run.scheduler.Stop();
}
