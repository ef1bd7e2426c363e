// What the trace programs observe in a whole scheduler. These functions have no schedule points.
#pragma once

#include "scheduler/state/scheduler.h"
#include "simulator/virtual_threads.h"
#include "spin/private_members.h"
#include "spin/traces.h"
#include "weft/task_scheduler.h"

#include <cstdint>

namespace spin {

using weft::internal::AtomicBitSet;
using weft::internal::FiberPool;
using weft::internal::IdleSet;
using weft::internal::InboxItem;
using weft::internal::PushList;
using weft::internal::Scheduler;
using weft::internal::TaskEntry;
using weft::internal::Worker;
using weft::internal::WorkStealingDeque;

struct StateOf {
    friend constexpr auto Member(StateOf);
};
struct Asleep {
    friend constexpr auto Member(Asleep);
};
struct StarvedAsleep {
    friend constexpr auto Member(StarvedAsleep);
};
struct WordsOf {
    friend constexpr auto Member(WordsOf);
};
struct HeadOf {
    friend constexpr auto Member(HeadOf);
};
struct ReadyTop {
    friend constexpr auto Member(ReadyTop);
};
struct ReadyBottom {
    friend constexpr auto Member(ReadyBottom);
};
struct LaneTop {
    friend constexpr auto Member(LaneTop);
};
struct LaneBottom {
    friend constexpr auto Member(LaneBottom);
};
struct FreeSmallOf {
    friend constexpr auto Member(FreeSmallOf);
};
struct StarvedOf {
    friend constexpr auto Member(StarvedOf);
};
struct Notified {
    friend constexpr auto Member(Notified);
};
struct Sleeper {
    friend constexpr auto Member(Sleeper);
};
template struct Reveal<StateOf, &IdleSet::m_state>;
template struct Reveal<Asleep, &IdleSet::m_asleep>;
template struct Reveal<StarvedAsleep, &IdleSet::m_starvedAsleep>;
template struct Reveal<WordsOf, &AtomicBitSet::m_words>;
template struct Reveal<HeadOf, &PushList<InboxItem>::m_head>;
template struct Reveal<ReadyTop, &WorkStealingDeque<uint64_t>::m_top>;
template struct Reveal<ReadyBottom, &WorkStealingDeque<uint64_t>::m_bottom>;
template struct Reveal<LaneTop, &WorkStealingDeque<TaskEntry>::m_top>;
template struct Reveal<LaneBottom, &WorkStealingDeque<TaskEntry>::m_bottom>;
template struct Reveal<FreeSmallOf, &FiberPool::m_freeSmall>;
template struct Reveal<StarvedOf, &FiberPool::m_starved>;
template struct Reveal<Notified, &weft::env::Parker::m_notified>;
template struct Reveal<Sleeper, &weft::env::Parker::m_sleeper>;

/// The scheduler of the current run; null until its first thread begins.
inline Scheduler *s_scheduler = nullptr;

inline weft::SchedulerOptions Options(uint32_t workers, uint32_t smallFibers) {
    weft::SchedulerOptions options;
    options.workers = workers;
    options.smallFibers = smallFibers;
    options.largeFibers = 1;
    // Other reports are expected, or come from a mutant.
    options.onReport = [](const weft::Report &report, void *) {
        if (report.fatal) simulator::Fail(report.what);
    };
    options.smallStackBytes = options.largeStackBytes = 32 << 10;
    options.threads.onStart = [](uint32_t, void *) {
        s_scheduler = weft::internal::CurrentWorker()->scheduler;
    };
    return options;
}

inline uint32_t FirstBits(const AtomicBitSet &set) {
    return static_cast<uint32_t>((set.*Member(WordsOf()))[0].bits.Peek());
}

inline uint32_t FreeSmall(const FiberPool &pool) { return FirstBits(pool.*Member(FreeSmallOf())); }
inline uint32_t Starved(const FiberPool &pool) { return FirstBits(pool.*Member(StarvedOf())); }

/// The numbers of IdleSet::State, two bits of each. A number can be -1 for a moment: a waker may
/// take a sleeper between the change of its bit and that of the number.
struct IdleState {
    explicit IdleState(const IdleSet &idle)
        : asleep(FirstBits(idle.*Member(Asleep()))),
          starvedAsleep(FirstBits(idle.*Member(StarvedAsleep()))) {
        uint64_t bits = (idle.*Member(StateOf())).Peek();
        const auto next = [&bits] {
            const int16_t number = static_cast<int16_t>(bits);
            bits = (bits - static_cast<uint64_t>(int64_t{number})) >> 16;
            return static_cast<uint32_t>(number & 3);
        };
        searchers = next();
        sleepers = next();
        others = next();
    }
    uint32_t searchers, sleepers, others;
    uint32_t asleep, starvedAsleep;
};

inline uint32_t Length(const PushList<InboxItem> &list) {
    uint32_t length = 0;
    for (const InboxItem *item = (list.*Member(HeadOf())).Peek(); item != nullptr;
         item = item->next)
        ++length;
    return length;
}

inline uint32_t Distance(uint64_t top, uint64_t bottom) {
    return static_cast<int64_t>(bottom - top) > 0 ? static_cast<uint32_t>(bottom - top) : 0;
}

inline uint32_t TasksOf(const Worker &worker) {
    uint32_t tasks = 0;
    for (const WorkStealingDeque<TaskEntry> &lane : worker.lanes) {
        tasks += Distance((lane.*Member(LaneTop())).Peek(), (lane.*Member(LaneBottom())).Peek());
    }
    return tasks;
}

inline uint32_t ReadyOf(const Worker &worker) {
    uint32_t fibers = 0;
    for (const WorkStealingDeque<uint64_t> &ready : worker.ready) {
        fibers +=
            Distance((ready.*Member(ReadyTop())).Peek(), (ready.*Member(ReadyBottom())).Peek());
    }
    return fibers;
}

/// Whether all workers are parked, so that nothing happens until another thread does something.
inline bool AllParked(const Scheduler &scheduler) {
    for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
        const weft::env::Parker &parker = scheduler.workers[i].parker;
        if (parker.*Member(Notified()) || parker.*Member(Sleeper()) == ~0u) return false;
    }
    return true;
}

}  // namespace spin
