/* Running out of fibers: source/mechanisms/fiber_pool.{h,cpp}, source/scheduler/worker_loop.cpp (RunLoop, ThreadLoop,
 * LoopFiber, WithoutFiber), fiber_switch.cpp (SuspendTo, FreeFiber), idle.cpp (Sleep), ready.cpp (WakeForAny,
 * WakeStarved), idle_set.h with both of its sets, pinned.cpp (SortMail).
 *
 * Modelled    WORKERS workers share FIBERS small fibers. Each task may wait; then its worker goes on on another fiber, or on
 *             the thread's own stack if none is free, where it can only resume. TASKS tasks, the last POSTED of which come
 *             from a thread that is no worker while the others run, and PINNED tasks for worker 0 alone, likewise; another thread makes waiting fibers ready at any time. A worker
 *             that finds nothing frees its fiber and sleeps. CACHES=1: each worker has a cache of one slot. Names as in the
 *             source.
 * Bounds      as above; tasks and ready fibers lie in one place; each task waits at most once.
 * Asserted    invariant 3: who acquires a fiber is the only one to hold it. When all is quiet every task has run, all
 *             fibers are free, nobody is starved, and the idle state is right. A park token is never overwritten.
 * Liveness    all_run: every task is run although fibers run out.
 * Left out    memory orders, Large fibers and their backlog, inactive workers, priorities, the reports. A worker
 *             searches by announcing and looking once more, nothing else (sleep.pml has more of that).
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef FIBERS
#define FIBERS 1
#endif
#ifndef TASKS
#define TASKS 1
#endif
#ifndef POSTED
#define POSTED 0
#endif
#ifndef PINNED
#define PINNED 1
#endif
#ifndef CACHES
#define CACHES 0
#endif
#ifndef ONE_LOOK
#define ONE_LOOK 0
#endif
#define TOTAL (TASKS + PINNED)
#define NONE 255
#define BIT(i) (1 << (i))

byte free = (1 << FIBERS) - 1;  /* m_freeSmall; sets of bits */
bool held[FIBERS];              /* somebody runs on it, or a task waits on it */
bool waiting[FIBERS];
byte injectedFibers, injected;  /* the injector: ready fibers, a set of bits, and tasks */
byte ready;                     /* a set of bits: the workers' ready fibers; tasks in their lanes */
byte lane = TASKS - POSTED;
byte starved;                   /* m_starved */
byte mail, mailFibers;          /* worker 0's mailbox: pinned tasks; a set of bits: fibers of such tasks that are ready */
byte pinned;                    /* likewise: fibers on which such a task waits */
byte searchers, sleepers, others;   /* m_state */
byte asleep, starvedAsleep;     /* m_asleep, m_starvedAsleep */
bool token[WORKERS];            /* the parkers */
byte ended;
#if CACHES
byte cache[WORKERS];            /* fiber plus one */
#endif

#if defined(TRACES) && FIBERS == 1 && WORKERS == 2
byte posted;
#define OBSERVED (now.free | now.starved << 1 | now.searchers << 3 | (now.sleepers & 3) << 5 | (now.others & 3) << 7 | \
                  now.asleep << 9 | now.starvedAsleep << 11 | now.ended << 13 | (now.mail + now.mailFibers) << 15 | \
                  (now.injected + now.injectedFibers) << 17 | now.lane << 19 | now.ready << 21)
#define RESTS(w) (Worker[w]@end_parked || Worker[w]@end_starved)
#define OVER     (posted == POSTED + PINNED && RESTS(1) && RESTS(2) && !token[0] && !token[1] && !waiting[0] && Resumer[3]@end)
#endif
#include "follow.pml"

inline Unpark(who) { assert(!token[who]); token[who] = true }

inline ClearAny(set, home, found) {
    d_step {
        found = 0;
        do
        :: found < WORKERS && !(set & BIT((found + home) % WORKERS)) -> found++
        :: else -> break
        od;
        if
        :: found < WORKERS -> found = (found + home) % WORKERS; set = set & ~BIT(found); Follow()
        :: else -> found = NONE
        fi
    }
}

/* WakeForAny: one that can run tasks, or else a starved one. */
inline Wake(home) {
    if
    :: atomic { !(searchers == 0 && sleepers + others > 0) -> skip }
    :: atomic { searchers == 0 && sleepers + others > 0 -> skip };
        ClearAny(asleep, home, who);
        if
        :: who != NONE -> atomic { sleepers--; searchers++; Follow() }
        :: who == NONE ->
            ClearAny(starvedAsleep, home, who);
            if
            :: who != NONE -> atomic { others--; Follow() }
            :: who == NONE -> skip
            fi
        fi;
        if
        :: who != NONE -> atomic { Unpark(who); who = 0 }
        :: who == NONE -> who = 0
        fi
    fi
}

/* WakeForTasks, of one: only who can run it. */
inline WakeForTask(home) {
    if
    :: atomic { !(searchers == 0 && sleepers + others > 0) -> skip }
    :: atomic { searchers == 0 && sleepers + others > 0 -> skip };
        ClearAny(asleep, home, who);
        if
        :: who != NONE -> atomic { sleepers--; searchers++; Follow() }; atomic { Unpark(who); who = 0 }
        :: who == NONE -> who = 0
        fi
    fi
}

inline WakeStarved(home) {
#ifndef BUG_FREE_WAKES_NOBODY
    if
    :: atomic { starved == 0 -> skip }
    :: atomic { starved != 0 -> skip };
        ClearAny(starvedAsleep, home, who);
        if
        :: who != NONE -> atomic { others--; Follow() }; atomic { Unpark(who); who = 0 }
        :: who == NONE -> who = 0
        fi
    fi
#else
    skip
#endif
}

/* The same for `free`; m_freeSmall has one word here. */
inline TakeFree(found) {
    d_step {
        found = 0;
        do
        :: found < FIBERS && !(free & BIT(found)) -> found++
        :: else -> break
        od;
        if
        :: found < FIBERS -> free = free & ~BIT(found); assert(!held[found]); held[found] = true; Follow()
        :: else -> found = NONE
        fi
    }
}

#if CACHES
inline Hold(fiber) {
    if
    :: fiber != NONE -> assert(!held[fiber]); held[fiber] = true
    :: else -> skip
    fi
}

/* Owner and robber alike take the slot by exchange. */
inline TakeSlot(slot, into) {
#ifdef BUG_SLOT_TAKEN_WITHOUT_EXCHANGE
    into = cache[slot];
    d_step { cache[slot] = 0; into = (into == 0 -> NONE : into - 1); Hold(into) }
#else
    d_step { into = (cache[slot] == 0 -> NONE : cache[slot] - 1); cache[slot] = 0; Hold(into) }
#endif
}
#endif

inline AcquireFiber(into) {
#if CACHES
    into = NONE;
    if
    :: used -> used = false; TakeSlot(self, into)
    :: else -> skip
    fi;
    if
    :: into == NONE -> TakeFree(into)
    :: else -> skip
    fi;
    i = 1;
    do
    :: into == NONE && i <= WORKERS ->
        if
        :: atomic { cache[(self + i) % WORKERS] == 0 -> skip }
        :: atomic { cache[(self + i) % WORKERS] != 0 -> skip }; TakeSlot((self + i) % WORKERS, into)
        fi;
        i++
    :: else -> break
    od;
    i = 0
#else
    TakeFree(into)
#endif
}

/* FreeFiber, in Arrive: the fiber has been left. */
inline FreeFiber(fiber) {
#if CACHES
    if
    :: atomic { !used && starved == 0 -> used = true }; atomic { held[fiber] = false; cache[self] = fiber + 1; fiber = NONE }
    :: atomic { used || starved != 0 -> skip }; atomic { held[fiber] = false; free = free | BIT(fiber); fiber = NONE }
    fi;
#else
    atomic { held[fiber] = false; free = free | BIT(fiber); fiber = NONE; Follow() };
#endif
    WakeStarved(self)
}

inline StopSearching() {
    if
    :: searching ->
        searching = false;
        atomic { assert(searchers > 0); searchers--; wakes = searchers == 0 && sleepers + others > 0; Follow() };
        if
        :: wakes -> wakes = false; Wake(self)
        :: else -> skip
        fi
    :: else -> skip
    fi
}

/* ReadyFiber: any of them, as they come. */
inline TakeReady(into) {
    d_step {
        into = 0;
        do
        :: into < FIBERS && !(ready & BIT(into)) -> into++
        :: else -> break
        od;
        if
        :: into < FIBERS -> ready = ready & ~BIT(into); Follow()
        :: else -> into = NONE
        fi
    }
}

inline TakePinnedFiber(into) {
    d_step {
        into = 0;
        do
        :: into < FIBERS && !(myFibers & BIT(into)) -> into++
        :: else -> break
        od;
        if
        :: into < FIBERS -> myFibers = myFibers & ~BIT(into)
        :: else -> into = NONE
        fi
    }
}

/* What others published goes to the worker's own deques; a task at a time. */
inline TakeInjected() {
    atomic { moved = injected; fibers = injectedFibers; injected = 0; injectedFibers = 0; Follow() };
    if
    :: fibers != 0 -> atomic { ready = ready | fibers; owes = true; Follow() };
        if
        :: fibers & (fibers - 1) -> Wake(self)                  /* two of them */
        :: else -> skip
        fi;
        fibers = 0
    :: else -> skip
    fi;
    if
    :: moved > 0 ->
        do
        :: moved > 0 -> atomic { lane++; moved--; Follow() }
        :: else -> break
        od;
        WakeForTask(self)
    :: else -> skip
    fi
}

/* One is owed if the pick was something else than the only ready fiber; those of others lie in `ready` too. */
inline PayWake(picked) {
    if
    :: owes ->
        owes = false;
        if
        :: atomic { picked != NONE -> skip }
        :: atomic { picked == NONE || ready != 0 -> skip }; Wake(self)
        fi
    :: else -> skip
    fi
}

inline SetAny(result) {         /* FiberPool::AnyFree(Small) */
    result = free != 0;
#if CACHES
    i = 0;
    do
    :: i < WORKERS && !result -> result = cache[i] != 0; i++
    :: else -> break
    od;
    i = 0
#endif
}

proctype Worker(byte self) {
    byte fiber = NONE, next = NONE, who, mine;
    byte moved, fibers, myFibers;
    bool searching, wakes, found, resumes, lacks, woken, owes, isPinned;
#if CACHES
    byte i;
    bool used;
#endif

thread:                                                         /* ThreadLoop */
    if
    :: searching ->                                             /* Sleep(Tasks) */
        atomic { asleep = asleep | BIT(self); Follow() };
        atomic { searchers--; sleepers++; Follow() };
        if :: self == 0 -> found = mail + mailFibers > 0 :: else -> skip fi;  /* AnyWork */
        if :: !found -> found = injected + injectedFibers > 0 :: else -> skip fi;
        if :: !found -> found = ready > 0 :: else -> skip fi;
        if :: !found -> found = lane > 0 :: else -> skip fi;
        if
        :: found ->                                             /* GetUp */
            found = false;
            if
            :: atomic { asleep & BIT(self) -> asleep = asleep & ~BIT(self); Follow() }; atomic { sleepers--; searchers++; Follow() }
            :: atomic { !(asleep & BIT(self)) -> skip }; atomic { token[self] -> token[self] = false }
            fi
        :: else ->
end_parked: atomic { token[self] -> token[self] = false }
        fi
    :: else -> skip
    fi;
    AcquireFiber(fiber);                                        /* LoopFiber */
    if
    :: fiber == NONE ->
#ifndef BUG_STARVED_COUNTS_AS_SEARCHER
        StopSearching();
#endif
        atomic { starved = starved | BIT(self); lacks = true; Follow() }
    :: else -> skip
    fi;
    if
    :: fiber != NONE && !lacks -> skip
    :: fiber != NONE && lacks -> atomic { starved = starved & ~BIT(self); lacks = false; Follow() }
    :: fiber == NONE ->                                         /* WithoutFiber */
look:
        TakeInjected();                                         /* FindOwn, with SortMail */
        if
        :: self == 0 -> atomic { mine = mine + mail; myFibers = myFibers | mailFibers; mail = 0; mailFibers = 0; Follow() }
        :: else -> skip
        fi;
        TakePinnedFiber(next);
        if
        :: next == NONE -> TakeReady(next)                      /* or SearchForFibers */
        :: else -> skip
        fi;
        PayWake(next);
        if
        :: next != NONE -> skip
        :: next == NONE ->
            SetAny(found);
            if
#if !ONE_LOOK
            :: !found -> goto look                              /* SearchForFibers goes on, if none is free */
#endif
            :: found = false
            fi;
            atomic { starvedAsleep = starvedAsleep | BIT(self); Follow() };
            atomic { others++; Follow() };
            if :: self == 0 -> found = mail + mailFibers > 0 :: else -> skip fi;  /* AnyWork */
            if :: !found -> found = injected + injectedFibers > 0 :: else -> skip fi;
            if :: !found -> found = ready > 0 :: else -> skip fi;
#ifndef BUG_NO_LOOK_AFTER_STARVED
            if :: !found -> SetAny(found) :: else -> skip fi;
#endif
            if
            :: found ->
                found = false;
                if
                :: atomic { starvedAsleep & BIT(self) -> starvedAsleep = starvedAsleep & ~BIT(self); Follow() }; atomic { others--; Follow() }
                :: atomic { !(starvedAsleep & BIT(self)) -> skip }; atomic { token[self] -> token[self] = false }
                fi
            :: else ->
end_starved:        atomic { token[self] -> token[self] = false }
            fi;
            woken = true;
            goto thread
        fi;
        atomic { starved = starved & ~BIT(self); lacks = false; fiber = next; next = NONE; resumes = true; Follow() }
    fi;
    if
    :: woken && resumes -> woken = false; Wake(self)
    :: else -> woken = false
    fi;

    do                                                          /* RunLoop, on `fiber` */
    :: resumes ->                                               /* a task goes on, and ends */
        atomic { resumes = false; ended++; Follow() }
    :: !resumes ->
        TakeInjected();
        if
        :: self == 0 -> atomic { mine = mine + mail; myFibers = myFibers | mailFibers; mail = 0; mailFibers = 0; Follow() }
        :: else -> skip
        fi;
        TakePinnedFiber(next);
        if
        :: next == NONE && mine == 0 -> TakeReady(next)
        :: else -> skip
        fi;
        PayWake(next);
        if
        :: next != NONE ->
            StopSearching();
            atomic { who = fiber; fiber = next; next = who; who = 0 };
            FreeFiber(next);
            resumes = true
        :: next == NONE ->
            if
            :: mine > 0 -> mine--; found = true; isPinned = true
            :: mine == 0 ->
                if
                :: atomic { lane > 0 -> lane--; found = true; Follow() }
                :: atomic { lane == 0 || !searching -> skip }   /* it is another worker's */
                fi
            fi;
            if
            :: found ->
                found = false;
                StopSearching();
                if
                :: atomic { ended++; Follow() }                 /* the task ends without a wait */
                :: skip ->                                      /* SuspendTo(ToWaiting) */
                    if
                    :: TakeReady(next)                          /* FindReady, if they are its own */
                    :: skip
                    fi;
                    if
                    :: next != NONE -> resumes = true
                    :: next == NONE -> AcquireFiber(next)
                    fi;
                    atomic {                                    /* RegisterWaiter, in Arrive */
                        waiting[fiber] = true;
                        pinned = pinned | (isPinned -> BIT(fiber) : 0)
                    };
                    atomic { fiber = next; next = NONE };
                    isPinned = false;
                    if
                    :: fiber == NONE -> goto thread
                    :: else -> skip
                    fi
                fi;
                isPinned = false
            :: else ->                                          /* SearchForTasks, in vain */
                if
                :: !searching -> atomic { searching = true; searchers++; Follow() }
#if !ONE_LOOK
                :: searching -> skip                            /* it looks again */
#endif
                :: searching -> FreeFiber(fiber); goto thread
                fi
            fi
        fi
    od
}

/* TakeSleeperAt(0), and the parker. */
inline TakeSleeperAt0() {
    if
    :: atomic { asleep & BIT(0) -> asleep = asleep & ~BIT(0); Follow() };
        atomic { sleepers--; searchers++; Follow() };
        atomic { Unpark(0) }
    :: atomic { !(asleep & BIT(0)) -> skip };
        if
        :: atomic { starvedAsleep & BIT(0) -> starvedAsleep = starvedAsleep & ~BIT(0); Follow() };
            atomic { others--; Follow() };
            atomic { Unpark(0) }
        :: atomic { !(starvedAsleep & BIT(0)) -> skip }
        fi
    fi
}

proctype Poster() {
    byte i, who;

    do
    :: i < POSTED -> atomic { injected++; Follow() }; Wake(0); atomic { i++;
#ifdef TRACES
            posted++
#endif
        }
    :: else -> break
    od
}

proctype PinnedPoster() {
    byte i;

    do
    :: i < PINNED ->
        atomic { mail++; Follow() };
        TakeSleeperAt0();
        atomic {
            i++;
#ifdef TRACES
            posted++
#endif
        }
    :: else -> break
    od
}

/* Lowers what a fiber waits for. */
proctype Resumer(byte fiber) {
    byte who;

end:
    do
    :: atomic { waiting[fiber] && !(pinned & BIT(fiber)) ->
            waiting[fiber] = false;
            injectedFibers = injectedFibers | BIT(fiber);
            Follow()
        };
        Wake(0)
#if PINNED
    :: atomic { waiting[fiber] && (pinned & BIT(fiber)) ->
            waiting[fiber] = false;
            pinned = pinned & ~BIT(fiber);
            mailFibers = mailFibers | BIT(fiber);
            Follow()
        };
        TakeSleeperAt0()
#endif
    od
}

#ifndef TRACES
proctype Monitor() {
    byte i;

end:
    timeout ->
        assert(ended == TOTAL);
        assert(searchers == 0 && sleepers + others == WORKERS && starved == 0);
        d_step {
            do
            :: i < FIBERS -> assert(!held[i]); i++
            :: else -> break
            od
        }
}

#endif

init {
    byte p;
    atomic {
        ChooseTrace();
#ifndef TRACES
        run Monitor();
#endif
        for (p : 0 .. WORKERS - 1) { run Worker(p) };
        for (p : 0 .. FIBERS - 1) { run Resumer(p) };
#if POSTED
        run Poster();
#endif
#if PINNED
        run PinnedPoster()
#endif
    }
}

TheClaim

#ifndef TRACES
ltl all_run { <> (ended == TOTAL) }
#endif
