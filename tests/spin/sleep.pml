/* Falling asleep and waking up. Names are those of the source: core/idle_set.h, and in scheduler/: run/search.cpp
 * (SearchForTasks, StopSearching), wait/sleep.cpp (Sleep, GetUp, LookInsteadOfSleeping), submit/deliver.cpp (MakeReady),
 * submit/wake.cpp (WakeWanted, WakeForAny), find/stall.cpp (WatchForStall), find/find_work.cpp (FindOwn), find/any_work.cpp.
 *
 * Modelled    WORKERS workers look for work, search, announce that they sleep, check for work again, and park. POSTERS external
 *             threads each publish a task (with FIBERS=1 a ready fiber) in the injector, and then check for a sleeper (Post).
 *             Workers publish, too. When they see the notice, they move the items of the injector to their own lane or to
 *             their ready fibers (TakeInjected). The first CHILDREN tasks submit one task each (Publish), or make a fiber
 *             ready by a yield or by their end. The wake-up for this fiber is owed until the worker's next pick
 *             (willPollNext, wakePending). The first worker that finds that all sleep wakes one, because it sets the timer of
 *             a stall. Each look at a deque, and each change of a deque, of the idle state, of a sleeper's bit and of a
 *             parker is one step.
 * Bounds      WORKERS, POSTERS, CHILDREN; one lane. IdlePolicy is Balanced or Sleep: a search may end after any look. With
 *             EAGER=1 a worker that has announced its sleep keeps looking instead of parking.
 * Asserted    A worker has a token to consume if and only if its bit was taken. A token is never overwritten. When nothing
 *             happens any more, there is no searcher, each published task has run, and the state counts the sleepers right.
 *             With RENDEZVOUS=1 no task ends before all have begun, so each needs its own worker. A task that is left to a
 *             busy worker then causes an invalid end state.
 * Liveness    all_run: each published task runs.
 * Left out    Memory orders; priorities, pinned tasks, starved and inactive workers (pool.pml); claims; the clock that
 *             bounds a search; the epoch, which only reports need.
 * Followed    In runs of the whole scheduler until all is quiet (sleep_trace.cpp): each change of the idle state, of the bits
 *             of the sleepers, of the number of items in the injector, in each lane and among each worker's ready fibers, and
 *             of the number of tasks that have begun. Parkers are compared at the end: all threads are parked.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef POSTERS
#define POSTERS 2
#endif
#ifndef CHILDREN
#define CHILDREN 1
#endif
#ifndef EAGER
#define EAGER 0
#endif
#ifndef RENDEZVOUS
#define RENDEZVOUS 0
#endif
#ifndef FIBERS
#define FIBERS 0
#endif
#define TOTAL (POSTERS + CHILDREN)
#define NONE 255
#define BIT(i) (1 << (i))

byte injector;              /* number of tasks or ready fibers */
byte lane[WORKERS], ready[WORKERS];
byte searchers, sleepers;   /* m_state, one word: read and changed in one step */
byte asleep;                /* m_asleep */
bool token[WORKERS];        /* the parkers */
bool shown;                 /* the notice for the injector */
bool watched;               /* the timer of a stall was set */
byte begun, ended;

#if defined(TRACES) && WORKERS == 2
byte posted;
#define OBSERVED (now.searchers | (now.sleepers & 3) << 2 | now.asleep << 4 | now.begun << 6 | now.injector << 8 | \
                  now.lane[0] << 10 | now.lane[1] << 12 | now.ready[0] << 14 | now.ready[1] << 16)
#define OVER     (posted == POSTERS && Worker[1]@end_parked && Worker[2]@end_parked && !token[0] && !token[1])
#endif
#include "follow.pml"

inline Unpark(who) { assert(!token[who]); token[who] = true }

/* TakeSleeper: ClearAny in one word, then the state, then the parker. */
inline TakeSleeper() {
    atomic { seen = asleep; who = NONE };
    do
    :: seen != 0 ->
        d_step {
            do
            :: !(seen & BIT(lowest)) -> lowest++
            :: else -> break
            od;
            if
            :: asleep & BIT(lowest) -> asleep = asleep & ~BIT(lowest); who = lowest; seen = 0; Follow()
            :: else -> seen = asleep & ~(BIT(lowest + 1) - 1)   /* another process took this bit */
            fi;
            lowest = 0
        }
    :: else -> break
    od;
    if
    :: who != NONE ->
        atomic { sleepers--; searchers++; Follow() };
        atomic { Unpark(who) }
    :: else -> skip
    fi
}

/* WakeForTasks: wakes a worker for each task without a searcher. For one task also WakeForAny. In the source a call wakes up
 * to three workers, which wake further ones. Here at most two workers sleep besides the caller. */
inline Wake(count) {
    if
    :: atomic { !(searchers < count && sleepers > 0) -> skip }  /* Missing */
    :: atomic {
           searchers < count && sleepers > 0 ->
           missing = (count - searchers < sleepers -> count - searchers : sleepers)
       };
        TakeSleeper();
        if
        :: missing > 1 && who != NONE -> TakeSleeper()
        :: else -> skip
        fi;
        missing = 0
    fi;
    who = NONE
}

/* WakeForMore: looks at the worker's own lane and the one where it last found something, which may be either. */
inline WakeForMore() {
    if
    :: atomic { lane[self] != 0 || lane[(self + 1) % WORKERS] != 0 -> skip }; Wake(1)
    :: skip
    fi
}

inline TakeInjected() {
    if
    :: atomic { !shown -> skip }
    :: atomic { shown -> shown = false }; atomic { i = injector; injector = 0; Follow() }
    fi;
    if
    :: i == 0 -> skip
#if !FIBERS
    :: i > 0 -> moved = i;
        do
        :: i > 0 -> atomic { lane[self]++; i--; Follow() }
        :: else -> break
        od;
        Wake(moved);
        moved = 0
#else
    :: i > 0 -> owes = true;                                    /* the worker may pick one of them next */
        do
        :: i > 1 -> atomic { ready[self]++; i--; moved++; Follow() }
        :: else -> break
        od;
        atomic { ready[self]++; i = 0; Follow() };
        do
        :: moved > 0 -> Wake(1); moved--
        :: else -> break
        od
#endif
    fi
}

/* Only the owner adds to its queues, so a queue that it finds empty stays empty. So its looks at both are one step. */
inline LookAtOwn() {
    atomic {
        if
        :: ready[self] > 0 -> ready[self]--; found = true; isFiber = true; Follow()
        :: ready[self] == 0 && lane[self] > 0 -> lane[self]--; found = true; Follow()
        :: ready[self] == 0 && lane[self] == 0 -> skip
        fi
    }
}

#define OTHER ((self + i) % WORKERS)
inline LookAtOthers(place, fibersAreThere) {
    i = 1;
    do
    :: i < WORKERS && !found -> atomic {
            if
            :: place > 0 ->
                place--;
                found = true;
                isFiber = fibersAreThere;
                i = WORKERS;
                Follow()
            :: place == 0 -> i++
            fi
        }
    :: else -> break
    od;
    i = 0
}

inline FindOwn() {
    TakeInjected();
    if
    :: yielded -> atomic {                                      /* taskBeforeReady */
            yielded = false;
            if
            :: lane[self] > 0 -> lane[self]--; found = true; Follow()
            :: lane[self] == 0 -> skip
            fi
        };
        if
        :: !found -> LookAtOthers(ready[OTHER], true); LookAtOthers(lane[OTHER], false)  /* Steal */
        :: skip                                                 /* MaySteal */
        fi
    :: else -> skip
    fi;
    if
    :: !found -> LookAtOwn()                                    /* ByPriority */
    :: else -> skip
    fi;
    if
    :: owes ->
        owes = false;
        if
        :: atomic { found && isFiber && ready[self] == 0 -> skip }  /* a hand-over: nothing is owed */
        :: atomic { !(found && isFiber && ready[self] == 0) -> skip }; Wake(1)
        fi
    :: else -> skip
    fi
}

proctype Worker(byte self) {
    byte i, who = NONE, seen, lowest, missing, moved;
    bool found, isFiber, owes, searching, yielded;

end:
    do
    :: FindOwn();
        if
        :: searching && !found -> LookAtOthers(ready[OTHER], true); LookAtOthers(lane[OTHER], false)  /* Steal */
        :: !searching && !found ->                              /* perhaps a look before it counts as a searcher (MaySteal) */
            if
            :: LookAtOthers(ready[OTHER], true); LookAtOthers(lane[OTHER], false)
            :: skip
            fi
        :: else -> skip
        fi;
        if
        :: found ->
            if
            :: searching ->                                     /* StopSearching */
                searching = false;
                atomic { assert(searchers > 0); searchers--; found = searchers == 0 && sleepers > 0; Follow() };
#ifdef BUG_LAST_SEARCHER_SILENT
                found = false;
#endif
                if
                :: found -> Wake(1)
                :: else -> skip
                fi;
                WakeForMore()
            :: else -> skip
            fi;
            atomic { found = false; isFiber = false };
            if                                                  /* the task runs */
            :: atomic { begun < CHILDREN -> begun++; Follow() };
                if
                :: atomic { lane[self]++; Follow() }; Wake(1)   /* Publish */
                :: if                                           /* it yields or ends, and makes a fiber ready (MakeReady) */
                   :: yielded = true
                   :: skip
                   fi;
                   if
                   :: atomic { ready[self] == 0 -> ready[self]++; Follow() }; owes = true
                   :: atomic { ready[self] > 0 -> ready[self]++; Follow() }; Wake(1)
                   fi
                fi;
#if RENDEZVOUS
                if
                :: begun == TOTAL -> skip
                :: owes -> skip
                fi;
#endif
                ended++
            :: atomic { begun >= CHILDREN -> begun++; Follow() };
#if RENDEZVOUS
                begun == TOTAL;
#endif
                ended++
            fi
        :: !found && !searching -> atomic { searchers++; searching = true; Follow() }  /* StartSearching */
        :: !found && searching ->
            if
            :: skip                                             /* it looks again */
            :: atomic { asleep = asleep | BIT(self); Follow() };  /* Announce: the bit, and then the state */
                atomic { searchers--; sleepers++; Follow() };
#ifndef BUG_NO_LAST_LOOK
                do                                              /* AnyWork; its own queues are empty */
                :: !found && i == 0 -> atomic { found = injector > 0; i = 1 }
                :: !found && 0 < i && i < 2 * WORKERS - 1 -> atomic {
                        found = ((i & 1) -> ready[(self + (i + 1) / 2) % WORKERS] : lane[(self + i / 2) % WORKERS]) > 0;
                        i++
                    }
#if EAGER
                :: !found && i == 2 * WORKERS - 1 && (asleep & BIT(self)) -> i = 0  /* LookInsteadOfSleeping */
                :: found || (i == 2 * WORKERS - 1 && !(asleep & BIT(self))) -> break
#else
                :: else -> break
#endif
                od;
                i = 0;
#endif
                if
                :: found ->                                     /* GetUp: Cancel, or consume the unpark */
                    found = false;
                    if                                          /* the notice was cleared, but the item is still there */
                    :: atomic { injector != 0 -> shown = true }
                    :: atomic { injector == 0 -> skip }
                    fi;
                    if
                    :: atomic { asleep & BIT(self) -> asleep = asleep & ~BIT(self); Follow() };
                        atomic { sleepers--; searchers++; Follow() }
                    :: atomic { !(asleep & BIT(self)) -> skip };
                        atomic { token[self] -> token[self] = false }
                    fi
                :: else ->
                    if
                    :: atomic { sleepers == WORKERS && !watched -> watched = true }; Wake(1)  /* WatchForStall: SetTimer */
                    :: skip
                    fi;
end_parked:         atomic { token[self] -> token[self] = false }
                fi
            fi
        fi
    od
}

proctype Poster() {
    byte who = NONE, seen, lowest, missing;

#ifdef BUG_WAKE_BEFORE_PUBLISH
    Wake(1);
    injector++;
    shown = true
#else
    atomic { injector++; Follow() };
    if                                                          /* Show */
    :: atomic { shown -> skip }
    :: atomic { !shown -> skip }; shown = true
    fi;
    Wake(1)
#endif
#ifdef TRACES
    ; posted++
#endif
}

#if !EAGER && !defined(TRACES)  /* with these the model never comes to rest */
proctype Monitor() {
    byte i;

end:
    timeout ->
        assert(ended == TOTAL);
        assert(searchers == 0 && sleepers == WORKERS && asleep == BIT(WORKERS) - 1);
        d_step {
            do
            :: i < WORKERS -> assert(!token[i]); i++
            :: else -> break
            od
        }
}
#endif

init {
    byte p;
    atomic {
        ChooseTrace();
#if !EAGER && !defined(TRACES)
        run Monitor();
#endif
        for (p : 0 .. WORKERS - 1) { run Worker(p) };
        for (p : 1 .. POSTERS) { run Poster() }
    }
}

TheClaim

#ifndef TRACES
ltl all_run { <> (ended == TOTAL) }
#endif
