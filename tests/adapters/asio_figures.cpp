// Figures for the adapter's page: weft's executor against asio::thread_pool. Not part of a run
// without arguments:
//
//     tests/adapters.sh "[.figures]"
#include "adapters/asio/asio_executor.h"

#include "support/scheduler_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <asio.hpp>
#include <catch2/catch.hpp>

using namespace weft;
using asio::ip::tcp;

namespace {

constexpr uint32_t kWorkers = 2, kRounds = 15;
constexpr uint32_t kHandlers = 100'000;
constexpr uint32_t kConnections = 64, kRequests = 100;

void End(AsioContext &context) { context.Wait(); }
void End(asio::thread_pool &pool) { pool.join(); }

/// A second's handlers or requests, if `count` of them took as long as `body()`.
template <class Body>
double PerSecond(uint32_t count, const Body &body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    return count / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The thread that measures posts empty handlers.
template <class Context>
double PostFromOutside(Context &context) {
    return PerSecond(kHandlers, [&] {
        for (uint32_t i = 0; i < kHandlers; ++i) asio::post(context, [] {});
        End(context);
    });
}

/// A handler posts empty handlers.
template <class Context>
double PostFromHandler(Context &context) {
    return PerSecond(kHandlers, [&] {
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
    const double perSecond = PerSecond(kConnections * kRequests, [&] {
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

double Median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Row {
    const char *name;
    double (*onWeft)(AsioContext &);
    double (*onPool)(asio::thread_pool &);
    std::vector<double> weft, pool, ratios;
};

}  // namespace

TEST_CASE("asio figures: weft's executor against asio::thread_pool", "[.figures]") {
    Row rows[] = {
        {"post from another thread", PostFromOutside, PostFromOutside, {}, {}, {}},
        {"post from a handler", PostFromHandler, PostFromHandler, {}, {}, {}},
        {"echo requests", EchoRequests, EchoRequests, {}, {}, {}},
    };
    test::Runner run(test::Options(kWorkers));
    REQUIRE(run.scheduler.Start() == Status::Ok);
    for (uint32_t round = 0; round <= kRounds; ++round) {
        for (Row &row : rows) {
            double weft = 0, pool = 0;
            {
                AsioContext context(run.scheduler);
                weft = row.onWeft(context);
            }
            {
                asio::thread_pool threads(kWorkers);
                pool = row.onPool(threads);
            }
            REQUIRE(weft > 0);
            REQUIRE(pool > 0);
            if (round == 0) continue;  // warms up
            row.weft.push_back(weft);
            row.pool.push_back(pool);
            row.ratios.push_back(weft / pool);
        }
    }
    run.scheduler.Stop();
    std::printf("| thousands a second | weft | asio::thread_pool | ratio |\n");
    for (const Row &row : rows) {
        std::printf("| %s | %.0f | %.0f | %.2f |\n", row.name, Median(row.weft) / 1000,
                    Median(row.pool) / 1000, Median(row.ratios));
    }
}
