// Blocking calls, and their mistakes.
#include "weft/blocking/blocking_calls.h"

#include "fuzz/script.h"
#include "fuzz/shared.h"

#include <thread>

namespace fuzz {

using namespace weft;

namespace {

// A call that is deleted as soon as its function has begun.
struct OwnCall {
    explicit OwnCall(Cell &of) : cell(of), call(Make, this) {}
    static void Make(void *arg) {
        Cell &cell = static_cast<OwnCall *>(arg)->cell;
        delete static_cast<OwnCall *>(arg);
        cell.ran.fetch_add(1);
    }
    Cell &cell;
    BlockingCall call;
};

Status SubmitOwn(BlockingCalls &calls, Cell &cell, Counter *counter) {
    cell.accepted = true;
    return calls.Submit((new OwnCall(cell))->call, counter);
}

}  // namespace

void Script::Block() {
    BlockingCalls &calls = *m_world.shared->calls;
    const uint32_t how = m_bytes.Below(4), answer = m_bytes.Next();
    Cell *cells = m_world.NewCells(2);
    if (cells == nullptr) return;
    if (!m_mayWait || how == 0) {
        // Without a wait at the end of this script, the run may end before the call. So no counter
        // of the script is used.
        Counter *counter = m_mayWait ? SomeCounter() : nullptr;
        return Require(SubmitOwn(calls, cells[0], counter) == Status::Ok, "Submit");
    }
    cells[0].accepted = true;
    cells[1].accepted = how == 1;
    Counter *counter = SomeCounter();
    const uint32_t got = calls.Run([&] {
        cells[0].ran.fetch_add(1);
        if (how == 1) m_scheduler.AddTask({Leaf, &cells[1]}, counter);
        if (how == 2) std::this_thread::sleep_for(std::chrono::microseconds(answer));
        return answer;
    });
    Require(got == answer && cells[0].ran.load() == 1, "the answer of a call");
}

void Script::BlockApart() {
    BlockingOptions options;
    options.maxThreads = m_bytes.Below(4);
    options.idleMicroseconds = m_bytes.Below(2) == 0 ? 1 : 0;
    const uint32_t wrong = m_bytes.Below(4), count = m_bytes.Below(6);
    if (wrong == 1) options.threadStackBytes = m_bytes.Next();
    if (wrong == 2)
        options.memory.allocate = [](size_t, size_t, void *) -> void * {
            Finding("memory was asked for");
        };
    Cell *cells = m_mayWait ? m_world.NewCells(count) : nullptr;
    if (cells == nullptr) return;
    {
        BlockingCalls calls(m_scheduler, options);
        const bool isWrong = options.maxThreads == 0 || wrong == 1 || wrong == 2;
        Require(calls.LastError() == (isWrong ? Status::BadOption : Status::Ok), "LastError");
        for (uint32_t i = 0; i < count; ++i)
            Require(SubmitOwn(calls, cells[i], nullptr) == Status::Ok, "Submit");
        Require(calls.ThreadCount() <= std::max(options.maxThreads, 1u), "too many threads");
    }
    for (uint32_t i = 0; i < count; ++i)
        Require(cells[i].ran.load() == 1, "a call was not made before the end");
}

// Submits a call with counters that are refused. The call must not be made, so it can be submitted
// again with a valid counter. If it was made all the same, it is deleted by now.
void Script::RefuseCounters() {
    BlockingCalls &calls = *m_world.shared->calls;
    Cell *cell = m_world.NewCells(1);
    if (cell == nullptr) return;
    OwnCall *const call = new OwnCall(*cell);
    const auto refuse = [&](Counter &counter, ReportCode code) {
        const uint32_t before = counter.Value();
        m_world.oracle.Expect(code, [&] {
            Require(calls.Submit(call->call, &counter) == Status::BadOption,
                    "a call with a counter that is refused");
        });
        Require(counter.Value() == before, "a mistake has changed a counter");
    };
    Counter full(~0u), done;
    refuse(full, ReportCode::CounterOverflow);
    if (m_world.other != nullptr) refuse(m_world.held, ReportCode::WrongScheduler);
    Require(cell->ran.load() == 0, "a refused call was made");
    cell->accepted = true;
    Require(calls.Submit(call->call, m_mayWait ? &done : nullptr) == Status::Ok, "Submit");
    if (!m_mayWait) return;
    m_scheduler.WaitForCounter(&done);
    Require(cell->ran.load() == 1, "a call was refused, and then not made once");
}

// Mistakes that only the returned status shows, and RefuseCounters, whose mistakes are reported.
void Script::MistakeInBlocking() {
    BlockingCall none(nullptr, nullptr);
    Counter own(1);
    Require(m_world.shared->calls->Run(nullptr, nullptr) == Status::BadOption,
            "a call without a function");
    Require(m_world.shared->calls->Submit(none, &own) == Status::BadOption,
            "a call without a function");
    Require(own.Value() == 1, "a mistake has changed a counter");
    if (!m_mayWait || m_bytes.Below(2) != 0) return RefuseCounters();
    Cell *cells = m_world.NewCells(1);
    if (cells == nullptr) return;
    std::atomic<bool> goesOn{false};
    const auto holdUp = [&] {
        while (!goesOn.load()) std::this_thread::yield();
    };
    BlockingCall first = MakeBlockingCall(holdUp);
    BlockingOptions options;
    options.maxThreads = 1;
    BlockingCalls calls(m_scheduler, options);
    Require(calls.Submit(first) == Status::Ok, "Submit");
    OwnCall *const second = new OwnCall(cells[0]);
    cells[0].accepted = true;
    Require(calls.Submit(second->call) == Status::Ok, "Submit");
    Require(calls.Submit(second->call, &own) == Status::AlreadyRunning,
            "a call was submitted twice");
    goesOn.store(true);
}

}  // namespace fuzz
