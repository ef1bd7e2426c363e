// Two external threads, for network and audio, use weft. They submit tasks, block until counters
// are low enough, change counters by hand, and signal an event for which a task waits.
//
//     samples/run.sh external_threads
#include <weft/external_work.h>
#include <weft/task_scheduler.h>

#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr uint32_t kPackets = 50, kPacketBytes = 1000, kBlocks = 40, kSamples = 512;

weft::TaskScheduler *s_scheduler = nullptr;

// Network: packets arrive on this thread, and tasks read them.
struct Packet {
    uint32_t number;
    weft::Counter *unread;  // counts all packets
    uint32_t checksum;

    static void Read(weft::TaskScheduler *scheduler, void *arg) {
        Packet &packet = *static_cast<Packet *>(arg);
        for (uint32_t i = 0; i < kPacketBytes; ++i) packet.checksum += packet.number + i;
        scheduler->DecrementCounter(packet.unread);  // by hand; the packet may be gone now
    }
};

struct Session {
    weft::Counter connected{1};  // an event: zero once it has happened
    bool isConnected = false;    // not atomic: the counter orders the accesses
    bool loggedIn = false;

    static void LogIn(weft::TaskScheduler *scheduler, void *arg) {
        Session &session = *static_cast<Session *>(arg);
        // the fiber waits, and its worker runs other tasks
        scheduler->WaitForCounter(&session.connected);
        session.loggedIn = session.isConnected;
    }
};

void NetworkThread(Session *session, uint32_t *received) {
    session->isConnected = true;
    s_scheduler->DecrementCounter(&session->connected);

    weft::Counter unread;
    s_scheduler->IncrementCounter(&unread, kPackets);  // the number of packets that will arrive
    std::vector<Packet> packets;
    packets.reserve(kPackets);
    for (uint32_t i = 0; i < kPackets; ++i) {
        packets.push_back({i, &unread, 0});
        s_scheduler->AddTask({Packet::Read, &packets.back()});
    }
    // blocks this thread until half of the packets have been read
    s_scheduler->WaitForCounter(&unread, kPackets / 2);
    s_scheduler->WaitForCounter(&unread);
    for (const Packet &packet : packets) *received += packet.checksum;
}

// Audio: tasks fill two buffers. This thread plays the buffer that is full first.
struct Buffer {
    uint32_t block = 0;
    uint32_t samples[kSamples] = {};
    weft::Counter filling;

    static void Fill(weft::TaskScheduler *, void *arg) {
        Buffer &buffer = *static_cast<Buffer *>(arg);
        for (uint32_t &sample : buffer.samples) sample = buffer.block;
    }
    uint32_t Play() const { return std::accumulate(samples, samples + kSamples, 0u); }
    void Begin(uint32_t number) {
        block = number;
        s_scheduler->AddTask({Fill, this}, &filling, {weft::Priority::High});
    }
};

void AudioThread(uint32_t *played) {
    Buffer buffers[2];
    weft::Counter *const filling[2] = {&buffers[0].filling, &buffers[1].filling};
    for (uint32_t block = 0; block < 2; ++block) buffers[block].Begin(block);
    for (uint32_t block = 2; block < kBlocks; ++block) {
        Buffer &full = buffers[s_scheduler->WaitForAny(2, filling)];
        *played += full.Play();
        full.Begin(block);
    }
    s_scheduler->WaitForAll(2, filling);
    for (const Buffer &buffer : buffers) *played += buffer.Play();
}

}  // namespace

int main() {
    weft::TaskScheduler scheduler;
    if (scheduler.Start() != weft::Status::Ok) return 1;
    s_scheduler = &scheduler;
    // for a time only LogIn is pending, and waits for an external thread: prevents a report
    const weft::ExternalWork outside(scheduler, "network");

    Session session;
    weft::Counter loggedIn;
    scheduler.AddTask({Session::LogIn, &session}, &loggedIn);
    uint32_t received = 0, played = 0;
    std::thread network(NetworkThread, &session, &received), audio(AudioThread, &played);
    scheduler.WaitForCounter(&loggedIn);
    network.join();
    audio.join();
    scheduler.Stop();

    uint32_t sent = 0;
    for (uint32_t i = 0; i < kPackets; ++i)
        sent += kPacketBytes * i + kPacketBytes * (kPacketBytes - 1) / 2;
    const uint32_t mixed = kSamples * (kBlocks * (kBlocks - 1) / 2);
    const bool right = session.loggedIn && received == sent && played == mixed;
    std::printf("%u packets, checksum %u; %u blocks played, sum %u: %s\n", kPackets, received,
                kBlocks, played, right ? "right" : "WRONG");
    return right ? 0 : 1;
}
