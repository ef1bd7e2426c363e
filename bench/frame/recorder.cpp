// Connects the recorder with the trace hooks, and merges the events of all workers.
#include "frame/recorder.h"

#include "frame/clock.h"

#include <algorithm>

namespace frame {

Recorder::Recorder(uint32_t workers, size_t room) : m_lists(workers) {
    for (List &list : m_lists) list.events.reserve(room);
}

void Recorder::AttachTo(weft::TraceHooks &hooks) {
    hooks.user = this;
    hooks.event = [](const weft::TraceEvent &event, void *user) {
        Recorder &self = *static_cast<Recorder *>(user);
        if (event.kind == weft::TraceKind::TaskBegin)
            self.Add(Event::Kind::Begin, event.worker, event.fiber, event.task);
        if (event.kind == weft::TraceKind::TaskEnd)
            self.Add(Event::Kind::End, event.worker, event.fiber, event.task);
        if (event.kind == weft::TraceKind::FiberSwitch)
            self.Add(Event::Kind::Switch, event.worker, event.other, nullptr);
    };
}

void Recorder::Add(Event::Kind kind, uint32_t worker, uint32_t fiber, const char *task) {
    m_lists[worker].events.push_back({NowNs(), kind, worker, fiber, task});
}

std::vector<Event> Recorder::Events() const {
    std::vector<Event> all;
    for (const List &list : m_lists) all.insert(all.end(), list.events.begin(), list.events.end());
    std::stable_sort(all.begin(), all.end(),
                     [](const Event &a, const Event &b) { return a.ns < b.ns; });
    return all;
}

}  // namespace frame
