/* Going to sleep and being woken: source/core/idle_set.h, source/scheduler/idle.cpp (SearchForTasks, StopSearching,
 * Sleep, GetUp, LookInsteadOfSleeping), ready.cpp (MakeReady, WakeWanted, WakeForAny), stall.cpp (WatchForStall),
 * find_work.cpp (FindOwn), any_work.cpp (AnyWork).
 *
 * Modelled    WORKERS workers that look, search, announce, look once more, and park; POSTERS threads that are no workers,
 *             each of which publishes one task (FIBERS=1: ready fiber) in the injector and then looks for a sleeper (Post);
 *             and workers that publish: when they see its notice, they move what is in the injector to their own lane, or
 *             among their ready fibers (TakeInjected); the first CHILDREN tasks to run submit one task each (Publish), or
 *             make a fiber ready whose wake-up is owed until the next pick (willPollNext, wakePending), by yielding or by their
 *             end. Each look at a deque, each change of one, of the idle state, of a sleeper's bit, and of a parker is one
 *             step. The wake-up by who first finds that all sleep, which sets the time of a stall. Names as in the source.
 * Bounds      WORKERS, POSTERS, CHILDREN; one lane. Balanced and Sleep: a search may end after any look. EAGER=1: a worker
 *             that has announced looks on instead of parking.
 * Asserted    a worker has an unpark to consume if its bit was taken, and no other; a park token is never overwritten; when
 *             all is quiet, nobody searches, every published task has run, and the state counts as many sleepers as there
 *             are. RENDEZVOUS=1: no task ends before all have begun, so each needs a worker of its own: a task that is left
 *             to a worker that is busy shows as an invalid end state.
 * Liveness    all_run: every published task is run.
 * Left out    memory orders; priorities, pinned work, starved and inactive workers (pool.pml); claims; the clock that
 *             decides how often a searcher looks. The epoch, which only reports need.
 * Followed    each change of the idle state, of the sleepers' bits, of how much is in the injector, in each lane and among each
 *             worker's ready fibers, and of how many tasks have begun, in runs of the whole scheduler up to its coming to
 *             rest (sleep_trace.cpp). Parkers only then: all are parked.
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

byte injector;              /* how many tasks and ready fibers */
byte lane[WORKERS], ready[WORKERS];
byte searchers, sleepers;   /* m_state, one word: read and changed in one step */
byte asleep;                /* m_asleep */
bool token[WORKERS];        /* the parkers */
bool shown;                 /* the notice of what is in the injector */
bool watched;               /* the time of a stall has been noted */
byte begun, ended;

#if defined(TRACES) && WORKERS == 2
byte posted;
#define OBSERVED (now.searchers | (now.sleepers & 3) << 2 | now.asleep << 4 | now.begun << 6 | now.injector << 8 | \
                  now.lane[0] << 10 | now.lane[1] << 12 | now.ready[0] << 14 | now.ready[1] << 16)
#define OVER     (posted == POSTERS && Worker[1]@end_parked && Worker[2]@end_parked && !token[0] && !token[1])
#endif
#include "follow.pml"

inline Unpark(who) { assert(!token[who]); token[who] = true }

/* ClearAny, within one word, then the state, then the parker. */
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
            :: else -> seen = asleep & ~(BIT(lowest + 1) - 1)   /* somebody was faster */
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

/* WakeForTasks: one for each task without a searcher. With one task, WakeForAny, too. The source wakes up to three and lets these wake the
 * others; here at most two sleep besides the caller. */
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

/* Of the worker's own lane and of the one where it last found something, which may be either. */
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
    :: i > 0 -> owes = true;                                    /* one of them may be picked next */
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

/* What the owner misses in one of its own stays missing: nobody else adds. So its looks at both are one step. */
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
    :: yielded -> atomic {                                      /* NotUrgent */
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
        :: atomic { found && isFiber && ready[self] == 0 -> skip }  /* IsHandOver */
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
        :: !searching && !found ->                              /* perhaps once before it is counted (MaySteal) */
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
                :: if                                           /* it yields or ends, and MakeReady hands over */
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
                do                                              /* AnyWork; its own are empty */
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
                    if                                          /* the notice was hidden, and nobody has taken it yet */
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

#if !EAGER && !defined(TRACES)  /* otherwise it is never quiet */
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
