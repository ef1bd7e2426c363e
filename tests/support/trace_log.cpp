// Records the calls of the trace hooks, and checks their order.
#include "support/trace_log.h"

#include <map>

namespace test {

void TraceLog::Capture(const weft::TraceEvent &event, void *user) {
    TraceLog *log = static_cast<TraceLog *>(user);
    {
        const std::lock_guard<std::mutex> lock(log->m_mutex);
        log->m_events.push_back({event.kind, event, event.task != nullptr ? event.task : "-"});
    }
    if (log->also) log->also(event.kind, event);
}

void TraceLog::AttachTo(weft::SchedulerOptions &options, uint32_t kinds) {
    options.trace.user = this;
    options.trace.event = Capture;
    options.trace.kinds = kinds;
}

std::vector<LoggedEvent> TraceLog::Events() const {
    const std::lock_guard<std::mutex> lock(m_mutex);
    return m_events;
}

std::vector<LoggedEvent> TraceLog::Events(Traced kind) const {
    std::vector<LoggedEvent> events;
    for (const LoggedEvent &logged : Events()) {
        if (logged.kind == kind) events.push_back(logged);
    }
    return events;
}

void TraceLog::Clear() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_events.clear();
}

namespace {

struct FiberState {
    std::vector<std::string> tasks;
    std::vector<weft::TraceEvent> waits;
};

struct WorkerState {
    bool known = false;
    bool parked = false;
    uint32_t fiber = weft::kAnyWorker;
};

}  // namespace

std::string Inconsistencies(const std::vector<LoggedEvent> &events) {
    std::map<uint32_t, FiberState> fibers;
    std::map<uint32_t, WorkerState> workers;
    std::string wrong;
    size_t number = 0;
    for (const LoggedEvent &logged : events) {
        const Traced kind = logged.kind;
        const weft::TraceEvent &event = logged.event;
        const std::string &task = logged.task;
        const auto say = [&](const char *what) {
            wrong += std::to_string(number) + ": " + what + ", worker " +
                     std::to_string(event.worker) + ", fiber " + std::to_string(event.fiber) +
                     ", task " + task + "\n";
        };
        ++number;
        if (event.worker == weft::kAnyWorker) continue;  // an external thread
        FiberState &fiber = fibers[event.fiber];
        WorkerState &worker = workers[event.worker];
        if (worker.known && worker.fiber != event.fiber) say("not the fiber that was switched to");
        worker.known = true;
        worker.fiber = event.fiber;
        if (worker.parked && kind != Traced::Unpark) say("a parked worker does something");
        switch (kind) {
            case Traced::TaskBegin:
                fiber.tasks.push_back(task);
                break;
            case Traced::TaskEnd:
                if (fiber.tasks.empty() || fiber.tasks.back() != task)
                    say("another task ends than began last");
                if (!fiber.tasks.empty()) fiber.tasks.pop_back();
                break;
            case Traced::FiberSwitch:
                if (event.other == event.fiber && event.fiber != weft::kAnyWorker)
                    say("a switch to itself");
                worker.fiber = event.other;
                break;
            case Traced::Submit:
                if (event.count == 0) say("a submission of nothing");
                break;
            case Traced::Wait:
                if (!fiber.waits.empty()) say("a second wait");
                fiber.waits.push_back(event);
                break;
            case Traced::Resume:
                if (fiber.waits.empty() || fiber.waits.back().counter != event.counter ||
                    fiber.waits.back().count != event.count) {
                    say("a resume without its wait");
                }
                if (!fiber.waits.empty()) fiber.waits.pop_back();
                break;
            case Traced::Park:
                worker.parked = true;
                break;
            case Traced::Unpark:
                if (!worker.parked) say("unparked without a park");
                worker.parked = false;
                break;
            default:
                break;
        }
    }
    for (const auto &[index, fiber] : fibers) {
        if (!fiber.tasks.empty())
            wrong += "fiber " + std::to_string(index) + ": a task has not ended\n";
        if (!fiber.waits.empty())
            wrong += "fiber " + std::to_string(index) + ": a wait was not resumed\n";
    }
    for (const auto &[index, worker] : workers) {
        if (worker.parked) wrong += "worker " + std::to_string(index) + ": not unparked\n";
    }
    return wrong;
}

}  // namespace test
