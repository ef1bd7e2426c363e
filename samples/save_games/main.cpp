// Thousands of saves run at once, each in five steps: lock the player's slot, load it, change it,
// store it, unlock it. The storage is behind a socket on loopback that loses messages, so each
// request has a deadline and is repeated. One external thread runs epoll and signals the jobs. No
// save holds a fiber while it waits.
//
//     samples/run.sh save_games [SAVES]
#include <cstdio>

#if defined(__linux__)
#include <weft/post/posted_job.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

constexpr uint32_t kPlayers = 2000;
constexpr uint32_t kLossOneIn = 50;

enum class Op : uint32_t { Lock, Load, Store, Unlock, Quit };

struct Message {
    Op op;
    uint32_t save, player, value;
    uint32_t number;  // the number of the request; the reply has the same
    uint32_t isDone;
};

// A datagram socket that is bound to loopback.
class Socket {
public:
    Socket() : m_file(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof m_address;
        m_isFit = bind(m_file, reinterpret_cast<sockaddr *>(&any), sizeof any) == 0 &&
                  getsockname(m_file, reinterpret_cast<sockaddr *>(&m_address), &bytes) == 0;
    }
    ~Socket() { close(m_file); }
    Socket(const Socket &) = delete;
    Socket &operator=(const Socket &) = delete;

    int File() const { return m_file; }
    bool IsFit() const { return m_isFit; }
    // Ignores errors. A message that is not sent counts as lost, and the sender repeats it after
    // its deadline.
    void Send(const Message &message, const Socket &to) const {
        (void)!sendto(m_file, &message, sizeof message, 0,
                      reinterpret_cast<const sockaddr *>(&to.m_address), sizeof to.m_address);
    }
    bool Receive(Message &message) const {
        return recv(m_file, &message, sizeof message, 0) == sizeof message;
    }

private:
    int m_file;
    sockaddr_in m_address{};
    bool m_isFit;
};

// The storage keeps values, and one lock for each. The owner of a lock may repeat a request.
class Storage {
public:
    bool Answer(Message &message) {
        if (++m_received % kLossOneIn == 0) return false;
        Slot &slot = m_slots[message.player];
        const uint32_t owner = message.save + 1;
        if (message.op == Op::Lock && slot.owner == 0) slot.owner = owner;
        message.isDone = slot.owner == owner || message.op == Op::Unlock;
        if (slot.owner != owner) return true;
        if (message.op == Op::Load) message.value = slot.value;
        if (message.op == Op::Store) slot.value = message.value;
        if (message.op == Op::Unlock) slot.owner = 0;
        return true;
    }
    uint64_t Sum() const {
        uint64_t sum = 0;
        for (const Slot &slot : m_slots) sum += slot.value;
        return sum;
    }

private:
    struct Slot {
        uint32_t owner = 0, value = 0;
    };
    std::vector<Slot> m_slots = std::vector<Slot>(kPlayers);
    uint64_t m_received = 0;
};

class Save;

struct Game {
    explicit Game(uint32_t count) : left(count), saves(count) {}
    struct Awaited {
        // the number of the pending request; the thread that sets it to 0 decides how the request
        // ends
        std::atomic<uint32_t> number{0};
        Save *save = nullptr;
    };
    Socket client, server;
    Storage storage;
    weft::Counter left;
    std::vector<Awaited> saves;
    std::atomic<uint32_t> repeated{0}, refused{0};
    std::atomic<bool> isOver{false};

    void RunEpoll();
    void Reply(const Message &message);
};

class Save : public weft::PostedJob {
public:
    Save(weft::PostQueue &queue, Game &of, uint32_t index)
        : PostedJob(queue, Lock), m_game(of), m_message{Op::Lock, index, index % kPlayers,
                                                        0,        0,     0} {
        m_game.saves[index].save = this;
    }
    void Answer(const Message &reply) {
        m_reply = reply;
        Signal();
        // From here on the save may be gone.
    }

private:
    static Save &Of(weft::PostedJob *job) { return *static_cast<Save *>(job); }
    static void Lock(weft::TaskScheduler *, weft::PostedJob *job) { Of(job).Ask(Op::Lock, Locked); }
    static void Locked(weft::TaskScheduler *, weft::PostedJob *job) {
        Save &save = Of(job);
        if (!save.HasReply()) return;
        if (save.m_reply.isDone) return save.Ask(Op::Load, Loaded);
        save.m_game.refused.fetch_add(1, std::memory_order_relaxed);
        save.SetCallback(Lock);
        save.PostAfter(5ms);  // another save has this player
    }
    static void Loaded(weft::TaskScheduler *, weft::PostedJob *job) {
        Save &save = Of(job);
        if (!save.HasReply()) return;
        save.m_message.value = save.m_reply.value + 1;  // stands for the work of the game
        save.Ask(Op::Store, Stored);
    }
    static void Stored(weft::TaskScheduler *, weft::PostedJob *job) {
        if (Of(job).HasReply()) Of(job).Ask(Op::Unlock, Unlocked);
    }
    static void Unlocked(weft::TaskScheduler *scheduler, weft::PostedJob *job) {
        if (!Of(job).HasReply()) return;
        Game &game = Of(job).m_game;
        delete &Of(job);
        scheduler->DecrementCounter(&game.left);
    }

    void Ask(Op op, weft::PostedFunction next) {
        m_message.op = op;
        SetCallback(next);
        Send();
    }
    void Send() {
        Awaited().store(++m_message.number, std::memory_order_release);
        m_game.client.Send(m_message, m_game.server);
        PostOnWakeFor(20ms);
    }
    // Returns whether the reply has come. If not, the save has been posted again: either for the
    // signal that is on its way, or because the request is repeated.
    bool HasReply() {
        if (ReceiveSignal()) return true;
        if (Awaited().exchange(0, std::memory_order_acq_rel) == 0) {
            PostOnWake();
        } else {
            m_game.repeated.fetch_add(1, std::memory_order_relaxed);
            Send();
        }
        return false;
    }
    std::atomic<uint32_t> &Awaited() { return m_game.saves[m_message.save].number; }

    Game &m_game;
    Message m_message;
    Message m_reply{};
};

void Game::Reply(const Message &message) {
    Awaited &awaited = saves[message.save];
    uint32_t number = message.number;  // refuses the reply to an older request
    if (awaited.number.compare_exchange_strong(number, 0, std::memory_order_acq_rel))
        awaited.save->Answer(message);
}

// Serves both sockets: the requests to the storage, and its replies.
void Game::RunEpoll() {
    const int poll = epoll_create1(EPOLL_CLOEXEC);
    for (const Socket *socket : {&client, &server}) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = socket->File();
        epoll_ctl(poll, EPOLL_CTL_ADD, socket->File(), &event);
    }
    for (bool goesOn = true; goesOn;) {
        epoll_event events[2];
        const int count = epoll_wait(poll, events, 2, -1);
        for (int i = 0; i < count; ++i) {
            Message message;
            for (int batch = 0; batch < 64; ++batch) {
                if (events[i].data.fd == server.File()) {
                    if (!server.Receive(message)) break;
                    goesOn &= message.op != Op::Quit;
                    if (goesOn && storage.Answer(message)) server.Send(message, client);
                } else {
                    if (!client.Receive(message)) break;
                    Reply(message);
                }
            }
        }
    }
    close(poll);
    isOver.store(true);
}

void Play(weft::TaskScheduler *scheduler, void *arg) {
    Game &game = *static_cast<Game *>(arg);
    weft::PostQueue queue(*scheduler);
    for (uint32_t i = 0; i < game.saves.size(); ++i) (new Save(queue, game, i))->Post();
    scheduler->WaitForCounter(&game.left);
}

}  // namespace

int main(int count, char **arguments) {
    const uint32_t saves = count > 1 ? static_cast<uint32_t>(std::atoi(arguments[1])) : 5000;
    const auto game = std::make_unique<Game>(saves);
    if (!game->client.IsFit() || !game->server.IsFit())
        return std::puts("no sockets on loopback"), 1;
    weft::SchedulerOptions options;
    options.workers = 2;
    options.fibers = 32;  // a save that waits holds none
    weft::TaskScheduler scheduler(options);
    std::thread epoll([&] { game->RunEpoll(); });
    const weft::Clock::time_point begin = weft::Now();
    const weft::Status status = scheduler.Run(Play, game.get());
    const std::chrono::duration<double, std::milli> took = weft::Now() - begin;
    while (!game->isOver.load()) {  // a message may be lost
        game->client.Send({Op::Quit, 0, 0, 0, 0, 0}, game->server);
        std::this_thread::sleep_for(1ms);
    }
    epoll.join();
    std::printf(
        "%u saves of %u players in %.0f ms with %u fibers; %u requests repeated, %u locks refused, "
        "%llu stored\n",
        saves, kPlayers, took.count(), options.fibers, game->repeated.load(), game->refused.load(),
        static_cast<unsigned long long>(game->storage.Sum()));
    return status == weft::Status::Ok && game->storage.Sum() == saves ? 0 : 1;
}
#else
int main() {
    std::puts("this sample needs epoll");
    return 0;
}
#endif
