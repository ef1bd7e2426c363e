/* Going to sleep and being woken: source/mechanisms/idle_set.h, source/scheduler/idle.cpp (SearchForTasks, StopSearching,
 * Sleep, GetUp, LookInsteadOfSleeping), ready.cpp (MakeReady, WakeWanted, WakeForAny), find_work.cpp (FindOwn), any_work.cpp (AnyWork).
 *
 * Modelled    WORKERS workers that look, search, announce, look once more, and park; POSTERS threads that are no workers,
 *             each of which publishes one task in the injector and then looks for a sleeper (Post); and workers that publish:
 *             they move all that is in the injector to their own place, tasks or fibers (TakeInjected); the first CHILDREN
 *             tasks to run submit one task each (Publish), or make a fiber ready whose wake-up is owed until the next pick
 *             (looksNext, owesWake). Each look at a place, each change of the idle state, of a
 *             sleeper's bit, and of a parker is one step. Names as in the source.
 * Bounds      WORKERS, POSTERS, CHILDREN; one place for each worker, and the injector. Balanced and Quiet: a search may end after
 *             any look. EAGER=1: a worker that has announced looks on instead of parking.
 * Asserted    a worker has an unpark to consume if its bit was taken, and no other; a park token is never overwritten; when
 *             all is quiet, nobody searches, every published task has run, and the state counts as many sleepers as there
 *             are. RENDEZVOUS=1: no task ends before all have begun, so each needs a worker of its own: a task that is left
 *             to a worker that is busy shows as an invalid end state.
 * Liveness    all_run: every published task is run.
 * Left out    memory orders; priorities, pinned work, starved and inactive workers (pool.pml); claims; the clock that
 *             decides how often a searcher looks. The epoch, which only reports need.
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
#define INJECTOR WORKERS
#define PLACES (WORKERS + 1)
#define TOTAL (POSTERS + CHILDREN)
#define NONE 255

byte place[PLACES];         /* tasks and ready fibers: each worker's deques, and the injector */
byte searchers, sleepers;   /* m_state, one word: read and changed in one step */
bool asleep[WORKERS];       /* m_asleep */
bool token[WORKERS];        /* the parkers */
byte spawned, begun, ended;

inline Unpark(who) { assert(!token[who]); token[who] = true }

/* TakeSleeper: ClearAny, and then the state. */
inline TakeSleeper(home, who) {
    d_step {
        who = 0;
        do
        :: who < WORKERS && !asleep[(who + home) % WORKERS] -> who++
        :: else -> break
        od;
        if
        :: who < WORKERS -> who = (who + home) % WORKERS; asleep[who] = false
        :: else -> who = NONE
        fi
    }
}

/* WakeForAny; WakeForTasks of one. */
inline Wake(home) {
    if
    :: atomic { !(searchers == 0 && sleepers > 0) -> skip }     /* Wanted */
    :: atomic { searchers == 0 && sleepers > 0 -> skip };
        TakeSleeper(home, who);
        if
        :: who != NONE ->
            atomic { sleepers--; searchers++ };
            atomic { Unpark(who); who = 0 }
        :: who == NONE -> who = 0
        fi
    fi
}

proctype Worker(byte self) {
    byte i, who;
    bool found, owes, searching;

end:
    do
    :: atomic { i = place[INJECTOR]; place[INJECTOR] = 0 };     /* FindOwn: TakeInjected */
        if
        :: i == 0 -> skip
        :: i > 0 ->
            place[self] = place[self] + i;
            if
            :: Wake(self)                                       /* tasks */
            :: owes = true                                      /* fibers: one of them may be picked next */
            fi;
            if
            :: i > 1 -> Wake(self)                              /* a second one, if still nobody searches */
            :: else -> skip
            fi
        fi;
        i = 0;
        do                                                      /* ByPriority; as a searcher, FindElsewhere */
        :: !found && (i == 0 || (searching && i < WORKERS)) ->
            if
            :: atomic { place[(i + self) % WORKERS] > 0 -> place[(i + self) % WORKERS]--; found = true }
            :: atomic { place[(i + self) % WORKERS] == 0 -> i++ }
            fi
        :: else -> break
        od;
        i = 0;
        if
        :: owes ->
            owes = false;
            if
            :: found && place[self] == 0 -> skip                /* IsHandOver */
            :: else -> Wake(self)
            fi
        :: else -> skip
        fi;
        if
        :: found ->
            if
            :: searching ->                                     /* StopSearching */
                searching = false;
                atomic { assert(searchers > 0); searchers--; found = searchers == 0 && sleepers > 0 };
#ifdef BUG_LAST_SEARCHER_SILENT
                found = false;
#endif
                if
                :: found -> Wake(self)
                :: else -> skip
                fi
            :: else -> skip
            fi;
            found = false;
            if                                                  /* the task runs */
            :: atomic { spawned < CHILDREN -> spawned++ };
                begun++;
                if
                :: place[self]++; Wake(self)                    /* Publish */
                :: atomic { place[self] == 0 -> place[self]++; owes = true }  /* it ends, and MakeReady hands over */
                fi
            :: atomic { spawned >= CHILDREN -> begun++ }
            fi;
#if RENDEZVOUS
            if
            :: begun == TOTAL -> skip
            :: owes -> skip
            fi;
#endif
            ended++
        :: !found && !searching -> atomic { searchers++; searching = true }     /* StartSearching */
        :: !found && searching ->
            if
            :: skip                                             /* it looks again */
            :: asleep[self] = true;                             /* Announce: the bit, and then the state */
                atomic { searchers--; sleepers++ };
#ifndef BUG_NO_LAST_LOOK
                do                                              /* AnyWork */
                :: i < PLACES && !found ->
                    if
                    :: atomic { place[i] > 0 -> found = true }
                    :: atomic { place[i] == 0 -> i++ }
                    fi
#if EAGER
                :: i == PLACES && !found && asleep[self] -> i = 0  /* LookInsteadOfSleeping */
                :: found || (i == PLACES && !asleep[self]) -> break
#else
                :: else -> break
#endif
                od;
                i = 0;
#endif
                if
                :: found ->                                     /* GetUp: Cancel, or consume the unpark */
                    found = false;
                    if
                    :: atomic { asleep[self] -> asleep[self] = false };
                        atomic { sleepers--; searchers++ }
                    :: atomic { !asleep[self] -> skip };
                        atomic { token[self] -> token[self] = false }
                    fi
                :: else ->
end_parked:         atomic { token[self] -> token[self] = false }
                fi
            fi
        fi
    od
}

proctype Poster() {
    byte who;

#ifdef BUG_WAKE_BEFORE_PUBLISH
    Wake(0);
    place[INJECTOR]++
#else
    place[INJECTOR]++;
    Wake(0)
#endif
}

#if !EAGER  /* otherwise it is never quiet */
proctype Monitor() {
    byte i, count;

end:
    timeout ->
        assert(ended == TOTAL);
        assert(searchers == 0 && sleepers == WORKERS);
        d_step {
            do
            :: i < WORKERS -> assert(asleep[i] && !token[i]); i++
            :: else -> break
            od
        }
}
#endif

init {
    byte p;
    atomic {
#if !EAGER
        run Monitor();
#endif
        for (p : 0 .. WORKERS - 1) { run Worker(p) };
        for (p : 1 .. POSTERS) { run Poster() }
    }
}

ltl all_run { <> (ended == TOTAL) }
