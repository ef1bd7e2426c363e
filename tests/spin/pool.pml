/* Running out of fibers. Names are those of the source: core/fiber_pool.{h,cpp}, core/idle_set.h with both of its sets, and in
 * scheduler/: run/worker_loop.cpp (RunLoop, ThreadLoop, LoopFiber, WithoutFiber), wait/fiber_switch.cpp (SuspendTo, FreeFiber),
 * wait/sleep.cpp (Sleep), submit/deliver.cpp (MakeReady), submit/wake.cpp (WakeForAny, WakeStarved, WakeForTasks,
 * WakeEverySleeper), find/arrivals.cpp (TakeInjected), find/pinned.cpp (SortInbox), find/rescue.cpp.
 *
 * Modelled    WORKERS workers share FIBERS small fibers. Each task may wait. Then its worker continues on another fiber. If
 *             none is free, the worker continues on its thread stack, where it can only resume fibers. There are TASKS tasks,
 *             the last POSTED of which come from an external thread while the others run. There are PINNED tasks for worker 0
 *             only, which also come from an external thread. Their fibers return to worker 0 through its inbox. Other threads
 *             make waiting fibers ready at any time. A worker that finds nothing frees its fiber and sleeps. With CACHES=1
 *             each worker has a cache of one fiber.
 * Bounds      The tasks of all workers lie in one place, and their ready fibers in another one. So a check that is no search
 *             may miss tasks that are there. Each task waits at most once. A rescuer takes RESCUES tasks out of the lanes.
 *             With ONE_LOOK=1 each search looks once.
 * Asserted    Invariant 3: a fiber that is acquired has one user. When nothing happens any more, each task has run, all
 *             fibers are free, no worker is starved, and the idle state is right. A token of a parker is never overwritten.
 * Liveness    all_run: each task runs, although fibers run out. With ONE_LOOK=1, because in the source the clock ends a
 *             search.
 * Left out    Memory orders, Large fibers, tasks that are handed to a waiter, inactive workers, priorities, reports.
 *             sleep.pml has more about searches.
 * Followed    In runs of the whole scheduler until all is quiet (pool_trace.cpp), with one fiber and without caches: each
 *             change of the free fibers, of the starved workers, of the idle state and its two sets of sleepers, of the number
 *             of items in the injector, in worker 0's inbox, in the lanes and among the ready fibers, and of the number of
 *             finished tasks. Parkers are compared at the end: all threads are parked. Only these rows contain notices that
 *             are late, and wake-ups for the timer of a stall.
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
#ifdef TRACES
#define RESCUES (2 * TASKS)
#endif
#ifndef RESCUES
#define RESCUES 0
#endif
#define TOTAL (TASKS + PINNED)
#define NONE 255
#define BIT(i) (1 << (i))

byte free = (1 << FIBERS) - 1;  /* m_freeSmall; sets of bits */
bool held[FIBERS];              /* it belongs to a worker or to a task that waits */
bool waiting[FIBERS];
byte injectedFibers, injected;  /* the injector: ready fibers, a set of bits, and tasks */
byte ready;                     /* a set of bits: the ready fibers of workers; tasks in lanes */
byte lane = TASKS - POSTED;
byte starved;                   /* m_starved */
byte inbox, inboxFibers;          /* worker 0's inbox: pinned tasks; a set of bits: ready fibers of such tasks */
byte pinned;                    /* a set of bits: fibers on which a pinned task waits */
byte searchers, sleepers, others;   /* m_state */
byte asleep, starvedAsleep;     /* m_asleep, m_starvedAsleep */
bool token[WORKERS];            /* the parkers */
byte inLine;                    /* `rescues`, as a set: workers that must check again for a waiter */
byte ended;
#if CACHES
byte cache[WORKERS];            /* fiber plus one */
#endif

#if defined(TRACES) && FIBERS == 1 && WORKERS == 2
byte posted;
bool watched;
#define OBSERVED (now.free | now.starved << 1 | now.searchers << 3 | (now.sleepers & 3) << 5 | (now.others & 3) << 7 | \
                  now.asleep << 9 | now.starvedAsleep << 11 | now.ended << 13 | (now.inbox + now.inboxFibers) << 15 | \
                  (now.injected + now.injectedFibers) << 17 | now.lane << 19 | now.ready << 21)
#define RESTS(w) (Worker[w]@end_parked || Worker[w]@end_starved)
#define OVER     (posted == POSTED + PINNED && RESTS(1) && RESTS(2) && !token[0] && !token[1] && !waiting[0] && Resumer[3]@end)
#endif
#include "follow.pml"
#include "pool_steps.pml"

proctype Worker(byte self) {
    byte fiber = NONE, next = NONE, who, mine;
    byte moved, tasks, fibers, myFibers;
    byte tries;                                                 /* of Rescue */
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
        if :: self == 0 -> found = inbox + inboxFibers > 0 :: else -> skip fi;  /* AnyWork */
        if :: !found -> found = injected + injectedFibers > 0 :: else -> skip fi;
        if :: !found -> found = ready > 0 :: else -> skip fi;
        if :: !found -> found = lane > 0 :: else -> skip fi;
        if
        :: found ->                                             /* GetUp */
            found = false;
            if
            :: atomic { asleep & BIT(self) -> asleep = asleep & ~BIT(self); Follow() };
                atomic { sleepers--; searchers++; Follow() }
            :: atomic { !(asleep & BIT(self)) -> skip }; atomic { token[self] -> token[self] = false }
            fi
        :: else -> WatchForStall();
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
        SortInbox();                                             /* FindOwn */
        TakeInjected();
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
            :: found = false; goto look                         /* SearchForFibers: looks again, then checks for a free fiber */
#endif
            :: found -> found = false
            :: !found -> Rescue()
            fi;
            atomic { starvedAsleep = starvedAsleep | BIT(self); Follow() };
            atomic { others++; Follow() };
            if :: self == 0 -> found = inbox + inboxFibers > 0 :: else -> skip fi;  /* AnyWork */
            if :: !found -> found = injected + injectedFibers > 0 :: else -> skip fi;
            if :: !found -> found = ready > 0 :: else -> skip fi;
#ifndef BUG_NO_LOOK_AFTER_STARVED
            if :: !found -> SetAny(found) :: else -> skip fi;
#endif
            if :: !found -> found = (inLine & BIT(self)) != 0 :: else -> skip fi;
            if
            :: found ->
                found = false;
                if
                :: atomic { starvedAsleep & BIT(self) -> starvedAsleep = starvedAsleep & ~BIT(self); Follow() };
                    atomic { others--; Follow() }
                :: atomic { !(starvedAsleep & BIT(self)) -> skip }; atomic { token[self] -> token[self] = false }
                fi
            :: else -> WatchForStall();
end_starved:        atomic { token[self] -> token[self] = false };
                WakeForDeadlines()
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
    :: resumes ->                                               /* a task resumes and ends */
        atomic { resumes = false; ended++; Follow() }
    :: !resumes ->
        SortInbox();
        TakeInjected();
        TakePinnedFiber(next);
        if
        :: next == NONE && mine == 0 -> TakeReady(next)
        :: else -> skip
        fi;
        PayWake(next);
        if
        :: next != NONE ->
            found = searching;
            StopSearching();
            if
            :: found -> found = false; WakeForMore()
            :: else -> skip
            fi;
            atomic { who = fiber; fiber = next; next = who; who = 0 };
            FreeFiber(next);
            resumes = true
        :: next == NONE ->
            if
            :: mine > 0 -> mine--; found = true; isPinned = true
            :: mine == 0 ->
                if
                :: atomic { lane > 0 -> lane--; found = true; Follow() }
                :: atomic { lane == 0 || !searching -> skip }   /* the task is in another worker's lane */
                fi
            fi;
            if
            :: found ->
                found = searching;
                StopSearching();
                if
                :: found -> found = false; WakeForMore()
                :: else -> skip
                fi;
                if
                :: atomic { ended++; Follow() }                 /* the task ends without a wait */
                :: skip ->                                      /* SuspendTo(ToWaiting) */
                    if
                    :: TakeReady(next)                          /* FindReady, if the fiber is the worker's own */
                    :: skip
                    fi;
                    if
                    :: next != NONE -> resumes = true
                    :: next == NONE -> AcquireFiber(next)
                    fi;
                    atomic {                                    /* RegisterWaiter, in FinishSwitch */
                        waiting[fiber] = true;
                        pinned = pinned | (isPinned -> BIT(fiber) : 0)
                    };
                    atomic { fiber = next; next = NONE };
                    isPinned = false;
                    OfferRoom();
                    if
                    :: fiber == NONE -> goto thread
                    :: else -> skip
                    fi
                fi;
                isPinned = false
            :: else ->                                          /* SearchForTasks found nothing */
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
        atomic { inbox++; Follow() };
        TakeSleeperAt(0);
        atomic {
            i++;
#ifdef TRACES
            posted++
#endif
        }
    :: else -> break
    od
}

/* Lowers the counter for which a fiber waits. */
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
            inboxFibers = inboxFibers | BIT(fiber);
            Follow()
        };
        TakeSleeperAt(0)
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
