#include "weft/io/async_io.h"
#include "weft/poll.h"

#include "io/ring.h"
#include "io/system_calls.h"
#include "platform/env.h"

#include <algorithm>
#include <new>
#include <optional>
#include <thread>
#include <type_traits>

#include <unistd.h>

namespace weft {

using namespace internal;

namespace {

constexpr uint32_t kMostIoDepth = 32768;
constexpr uint32_t kMostThreads = 1024;  // of a BlockingCalls

}  // namespace

struct AsyncIo::State {
    std::optional<BlockingCalls> calls;
    IoRing *ring = nullptr;  // null: the threads of `calls` make the calls
    Status lastError = Status::Ok;
    MemoryHooks memory;
    pid_t process = getpid();
    std::thread::id creator = std::this_thread::get_id();
    bool isRefused = false;  // there is no thread for the ring
    BlockingCall serve{Serve, this};

    // If the system refuses a thread, BlockingCalls makes the call on the thread that submits it.
    static void Serve(void *arg) {
        State &state = *static_cast<State *>(arg);
        if (std::this_thread::get_id() == state.creator) {
            state.isRefused = true;
        } else {
            state.ring->Serve();
        }
    }

    // Makes the calls of operations. From here on they may be gone.
    static void MakeCalls(void *self, IoNode *oldest) {
        for (IoNode *next; oldest != nullptr; oldest = next) {
            next = oldest->next;
            // The node is the first member of its operation.
            static_assert(std::is_standard_layout_v<IoOperation>);
            auto &operation = *reinterpret_cast<IoOperation *>(oldest);
            State *const state = static_cast<State *>(self);
            if (state == nullptr || state->calls->Submit(operation.m_call) != Status::Ok)
                IoOperation::MakeCall(&operation);
        }
    }

    // Returns false if threads must make the calls.
    bool StartRing(TaskScheduler &scheduler, uint32_t depth,
                   const BlockingOptions &options) noexcept {
        ring = IoRing::Make(scheduler, depth, memory, {MakeCalls, this});
        if (ring == nullptr) return false;
        // One thread serves the ring. The others are started when the ring is lost.
        BlockingOptions all = options;
        all.maxThreads = std::min(std::max(options.maxThreads, 1u), kMostThreads - 1) + 1;
        calls.emplace(scheduler, all);
        if (calls->Submit(serve) == Status::Ok && !isRefused) return true;
        lastError = calls->LastError();
        calls.reset();
        IoRing::Destroy(ring);
        ring = nullptr;
        return false;
    }
};

AsyncIo::AsyncIo(TaskScheduler &scheduler, const AsyncIoOptions &options) noexcept
    : m_scheduler(scheduler), m_state(nullptr) {
    MemoryHooks hooks = options.threads.memory;
    if ((hooks.allocate == nullptr) != (hooks.release == nullptr)) hooks = {};
    void *memory = AllocateWith(hooks, sizeof(State), kIoAlignment);
    if (memory == nullptr) return;
    m_state = new (memory) State;
    m_state->memory = hooks;
    const uint32_t depth = std::min(std::max(options.depth, 1u), kMostIoDepth);
    if (depth != options.depth) m_state->lastError = Status::BadOption;
    if (options.useRing && m_state->StartRing(scheduler, depth, options.threads)) return;
    m_state->calls.emplace(scheduler, options.threads);
}

AsyncIo::~AsyncIo() {
    if (m_state == nullptr) return;
    IoRing *const ring = m_state->ring;
    if (ring != nullptr && !IsForked()) ring->Stop();
    m_state->calls.reset();  // waits for all operations and threads
    if (ring != nullptr) IoRing::Destroy(ring);
    const MemoryHooks hooks = m_state->memory;
    m_state->~State();
    ReleaseWith(hooks, m_state, sizeof(State), kIoAlignment);
}

// Returns true in a child process that was forked after the construction. It has no threads.
bool AsyncIo::IsForked() const noexcept { return getpid() != m_state->process; }

int64_t AsyncIo::Run(const IoOperation &operation) noexcept {
    // A thread that is not a worker waits in any case, so it makes the call itself.
    if (m_state == nullptr || m_scheduler.CurrentWorker() == kAnyWorker || IsForked() ||
        !MayWaitHere(m_scheduler, "AsyncIo::Run"))
        return CallFor(operation.m_node);
    IoOperation copy(operation);
    Counter done;
    if (Submit(copy, &done) != Status::Ok) return CallFor(operation.m_node);
    // The decrement is the last access of the other thread to `done`. Its last access to `copy`
    // comes before.
    WaitForCall(m_scheduler, done, true);
    return copy.Result();
}

Status AsyncIo::Submit(uint32_t count, IoOperation *operations, Counter *counter) noexcept {
    if (!MayCall(m_scheduler, "AsyncIo::Submit")) return Status::NotRunning;
    if (counter == nullptr) {
        ReportMisuse(m_scheduler, ReportCode::NullCounter, "Give it a counter.",
                     "AsyncIo::Submit: null counter");
        return Status::BadOption;
    }
    if (count == 0) return Status::Ok;
    Status status = Status::Ok;
    if (!Claim(count, operations, status)) return status;
    if (!m_scheduler.IncrementCounter(counter, count)) {
        // release: passes on what Claim has acquired. The operations are unchanged.
        for (uint32_t i = 0; i < count; ++i)
            operations[i].m_node.isSubmitted.store(false, kRelease);
        return Status::BadOption;
    }
    for (uint32_t i = 0; i < count; ++i) {
        operations[i].m_node.counter = counter;
        operations[i].m_node.ignoresOffset = false;
        operations[i].m_io = this;
        ExternalWork::Begin(m_scheduler);
    }
    Start(count, operations);
    return Status::Ok;
}

// Marks all operations as submitted, or none.
bool AsyncIo::Claim(uint32_t count, IoOperation *operations, Status &status) noexcept {
    uint32_t claimed = 0;
    for (; claimed < count; ++claimed) {
        IoNode &node = operations[claimed].m_node;
        status = node.kind == IoKind::None ? Status::BadOption : Status::AlreadyRunning;
        // acquire: pairs with the release in IoEnds::Add. Its thread has used the node before. An
        // exchange, so that only one of several concurrent Submits of one operation succeeds.
        if (node.kind == IoKind::None || node.isSubmitted.exchange(true, kAcquire)) break;
    }
    if (claimed == count) return true;
    // release: passes on what the exchanges have acquired.
    while (claimed-- != 0) operations[claimed].m_node.isSubmitted.store(false, kRelease);
    return false;
}

// From the hand-over on, an operation may be gone.
void AsyncIo::Start(uint32_t count, IoOperation *operations) noexcept {
    if (m_state != nullptr && m_state->ring != nullptr) {
        for (uint32_t i = 1; i < count; ++i) operations[i].m_node.next = &operations[i - 1].m_node;
        m_state->ring->Submit(&operations[count - 1].m_node, &operations[0].m_node);
        return;
    }
    for (uint32_t i = 0; i + 1 < count; ++i) operations[i].m_node.next = &operations[i + 1].m_node;
    operations[count - 1].m_node.next = nullptr;
    State::MakeCalls(m_state, &operations[0].m_node);
}

void IoOperation::MakeCall(void *self) {
    IoOperation &operation = *static_cast<IoOperation *>(self);
    TaskScheduler &scheduler = operation.m_io->m_scheduler;
    operation.m_node.result = CallFor(operation.m_node);
    IoEnds ends(scheduler);
    ends.Add(operation.m_node);
}

bool AsyncIo::UsesRing() const noexcept {
    return m_state != nullptr && m_state->ring != nullptr && !m_state->ring->IsLost();
}

Status AsyncIo::LastError() const noexcept {
    if (m_state == nullptr) return Status::OutOfMemory;
    if (m_state->ring != nullptr && m_state->ring->IsLost()) return Status::NotRunning;
    return m_state->lastError != Status::Ok ? m_state->lastError : m_state->calls->LastError();
}

void internal::IoEnds::Add(IoNode &node) noexcept {
    Counter *const counter = node.counter;
    // release: pairs with the acquire in AsyncIo::Claim. A thread that submits the node again
    // writes to it after the read above. From here on the node may be submitted again. It is gone
    // only after its counter was lowered.
    node.isSubmitted.store(false, kRelease);
    if (counter != m_counter) Lower();
    m_counter = counter;
    ++m_count;
}

// The counter lives: it is not zero before this call. The scheduler lives: the destructor of
// AsyncIo waits for this call.
void internal::IoEnds::Lower() noexcept {
    if (m_count == 0) return;
    m_scheduler.DecrementCounter(m_counter, m_count);
    for (; m_count != 0; --m_count) ExternalWork::End(m_scheduler);
}

}  // namespace weft
