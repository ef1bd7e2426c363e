#include "weft/blocking/blocking_calls.h"

#include "blocking/blocking_threads.h"
#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"

#include <algorithm>

namespace weft {

using namespace internal;

namespace {

constexpr uint32_t kMaxThreads = 1024;
constexpr size_t kLeastStackBytes = 64 << 10;
constexpr int32_t kLeastNice = -20, kMostNice = 19;

// Returns the nearest options that are in their ranges. Sets `lastError` if they differ.
BlockingOptions Admitted(BlockingOptions options, Status &lastError) noexcept {
    const uint32_t threads = std::min(std::max(options.maxThreads, 1u), kMaxThreads);
    const size_t stackBytes = std::max(options.threadStackBytes, kLeastStackBytes);
    const int32_t nice = std::min(std::max(options.threadNice, kLeastNice), kMostNice);
    const bool memoryInPairs =
        (options.memory.allocate == nullptr) == (options.memory.release == nullptr);
    if (threads != options.maxThreads || stackBytes != options.threadStackBytes ||
        nice != options.threadNice || !memoryInPairs)
        lastError = Status::BadOption;
    options.maxThreads = threads;
    options.threadStackBytes = stackBytes;
    options.threadNice = nice;
    if (!memoryInPairs) options.memory = {};
    return options;
}

BlockingThreads *MakeThreads(TaskScheduler &scheduler, const BlockingOptions &given) noexcept {
    Status lastError = Status::Ok;
    const BlockingOptions options = Admitted(given, lastError);
    return BlockingThreads::Make(scheduler, options, lastError);
}

// Returns false if callers must make their calls themselves.
bool HasThreads(const BlockingThreads *threads) noexcept {
    return threads != nullptr && !threads->IsForked();
}

void RunForTask(TaskScheduler &scheduler, BlockingThreads &threads, BlockingFunction function,
                void *arg) noexcept {
    Counter done(1);
    BlockingNode node{function, arg};
    node.counter = &done;
    ExternalWork::Begin(scheduler);
    threads.Submit(node);
    // The decrement is the last access of the call's thread to `done`. Its last access to `node`
    // comes before.
    WaitForCall(scheduler, done, false);
    race::SawCount(done);
}

// A call whose caller blocks its thread until the call has been made.
struct CallForHook {
    BlockingFunction function;
    void *arg;
    env::Parker caller;

    static void Make(void *self) {
        CallForHook &call = *static_cast<CallForHook *>(self);
        call.function(call.arg);
        race::LeavesThread(&call);
        call.caller.Unpark();  // from here on `call` may be gone
    }
};

// A hook may be called before the run begins or after it has ended. Then no thread could decrement
// a counter. So this uses a parker.
void RunForHook(TaskScheduler &scheduler, BlockingThreads &threads, BlockingFunction function,
                void *arg) noexcept {
    CallForHook call{function, arg, {}};
    BlockingNode node{CallForHook::Make, &call};
    // In the hook `park` the worker counts as asleep. Without this the scheduler might report a
    // stall.
    const ExternalWork outside(scheduler);
    // The thread that makes the call reads the node before it unparks this thread.
    threads.Submit(node);
    call.caller.Park();
    race::ComesToThread(&call);
}

}  // namespace

BlockingCalls::BlockingCalls(TaskScheduler &scheduler, const BlockingOptions &options) noexcept
    : m_scheduler(scheduler), m_threads(MakeThreads(scheduler, options)) {}

BlockingCalls::~BlockingCalls() {
    if (m_threads != nullptr) BlockingThreads::Destroy(m_threads);
}

Status BlockingCalls::Run(BlockingFunction function, void *arg) noexcept {
    if (function == nullptr) return Status::BadOption;
    // A thread that is not a worker waits in any case, so it makes the call itself.
    if (!HasThreads(m_threads) || m_scheduler.CurrentWorker() == kAnyWorker) {
        function(arg);
    } else if (CallerMayWait(m_scheduler, "BlockingCalls::Run")) {
        RunForTask(m_scheduler, *m_threads, function, arg);
    } else {
        RunForHook(m_scheduler, *m_threads, function, arg);
    }
    return Status::Ok;
}

Status BlockingCalls::Submit(BlockingCall &call, Counter *counter) noexcept {
    BlockingNode &node = call.m_node;
    if (node.function == nullptr) return Status::BadOption;
    if (!MayCall(m_scheduler, "BlockingCalls::Submit")) return Status::NotRunning;
    // acquire: pairs with the release in Call. Its thread reads the node before that. An exchange,
    // so that only one of several concurrent Submits of the same call succeeds.
    if (node.submitted.exchange(true, kAcquire)) return Status::AlreadyRunning;
    if (counter != nullptr) {
        if (!m_scheduler.IncrementCounter(counter)) {
            // The node is unchanged. release: passes on what the exchange acquired.
            node.submitted.store(false, kRelease);
            return Status::BadOption;
        }
        ExternalWork::Begin(m_scheduler);
    }
    node.counter = counter;
    if (HasThreads(m_threads)) {
        m_threads->Submit(node);
    } else {
        BlockingThreads::Call(m_scheduler, node);
    }
    return Status::Ok;
}

uint32_t BlockingCalls::ThreadCount() const noexcept {
    return m_threads != nullptr ? m_threads->Count() : 0;
}

Status BlockingCalls::LastError() const noexcept {
    return m_threads != nullptr ? m_threads->LastError() : Status::OutOfMemory;
}

}  // namespace weft
