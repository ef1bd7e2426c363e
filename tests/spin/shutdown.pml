/* The end of a run. Names are those of the source: in scheduler/: state/entry_gate.h, run/search.cpp (SearchForTasks),
 * wait/sleep.cpp (Sleep, PendingTasks, RunIsOver, EndRun), wait/external.cpp (BecomeGuest, CeaseGuest, WaitExternal),
 * run/lifecycle.cpp (MainTask, StopScheduler, JoinThreads), run/ending.cpp (WantEnd), submit/post.cpp,
 * submit/wake.cpp (WakeForAny, WakeAll),
 * submit/pending.cpp (CountFinished), find/arrivals.cpp (TakeInjected). The steps are in shutdown_steps.pml.
 *
 * Modelled    WORKERS workers run tasks, search, announce that they sleep, check for work again, check whether the run is
 *             over, close the gate, check this again, and park. VISITORS external threads come in, submit a task, perhaps wait
 *             for it as a guest, and go out, at any time, also too early or too late. The first CHILDREN tasks submit one more
 *             task. A thread that calls Stop wants the end, or with MAIN=1 the main task, with which worker 0 begins. Each
 *             load, store and read-modify-write of closing, scheduler, inside, guests, endWanted, stopping, the counts of
 *             tasks, the injector, the lanes, the idle state, the bits of the sleepers and the parkers is one step.
 * Bounds      Each visitor has its own stripe. The tasks of a lane come out in any order. With ONE_LOOK=1 each search looks
 *             once; in the source the clock ends a search.
 * Asserted    No process accesses the scheduler after its release. At the release no task is pending, including those of
 *             visitors, and there is no guest. All processes end (otherwise: invalid end state).
 * Liveness    all_home: each worker ends, and so does the call of Stop or Run. With ONE_LOOK=1.
 * Left out    Memory orders, attached threads, WaitIdle, scheduling without workers, a second run, the end of the fibers, the
 *             time of a stall.
 * Followed    In whole runs, from Start or Run to the end of the visitors (shutdown_trace.cpp), with two visitors and one
 *             child: each change of closing, scheduler, inside, guests, endWanted, stopping, the counts of tasks, the number
 *             of items in the injector and in each lane, the idle state and the bits of the sleepers. After the release only
 *             the members of the public object. Parkers, and the counters of guests, only by their consequences.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef VISITORS
#define VISITORS 1
#endif
#ifndef CHILDREN
#define CHILDREN 0
#endif
#ifndef MAIN
#define MAIN 0
#endif
#ifndef ONE_LOOK
#define ONE_LOOK 0
#endif
#define TASKS (VISITORS + CHILDREN)
#define BIT(i) (1 << (i))
#define NONE 255
#define MAIN_TASK 254

/* The public object. */
bool closing, running;                  /* `scheduler` is not null */
byte inside[VISITORS];

/* The scheduler. Tasks are numbers: first those of the visitors, each with a counter, then the children. */
bool released;
bool endWanted, stopping;
byte guests, externalSubmitted;
byte submitted[WORKERS], finished[WORKERS];
byte injector, lane[WORKERS];           /* sets of bits */
bool shown;                             /* the notice for the injector */
bool popping[WORKERS];
byte searchers, sleepers;               /* m_state */
byte asleep;                            /* m_asleep */
bool token[WORKERS];                    /* the parkers */
bool answered[VISITORS];                /* the counter of the visitor's task is zero */
byte spawned, home;
bool watched;                           /* a timer for a stall was set; this happens once */

#if defined(TRACES) && WORKERS == 2 && VISITORS == 2
byte gone;
#define COUNT(set) __builtin_popcount(set)
#define SCHEDULER (now.endWanted | now.stopping << 1 | now.guests << 2 | now.externalSubmitted << 4 | now.submitted[0] << 6 | \
                   now.submitted[1] << 8 | now.finished[0] << 9 | now.finished[1] << 12 | COUNT(now.injector) << 15 | \
                   COUNT(now.lane[0]) << 17 | COUNT(now.lane[1]) << 19 | now.searchers << 21 | (now.sleepers & 3) << 23 | \
                   now.asleep << 25)
#define OBSERVED (now.closing | now.running << 1 | now.inside[0] << 2 | now.inside[1] << 3 | \
                  (now.released ? 0 : SCHEDULER) << 4)
#define OVER     (released && gone == VISITORS)
#endif
#include "follow.pml"
#include "shutdown_steps.pml"

proctype Worker(byte self) {
    byte i, who = NONE, seen, lowest, missing, moved, task = NONE;
    short pending;
    bool searching, found, over, nobody, large;                 /* large: on a Large fiber, as the main task is */

#if MAIN
    if
    :: self == 0 -> atomic { running = true; Follow() };        /* the caller of Run: EntryGate::Open */
        large = true;
        task = MAIN_TASK
    :: else -> skip
    fi;
#endif
    do
    :: atomic { task == NONE && stopping -> break }             /* RunLoop, search, ThreadLoop: the worker ends */
    :: task != NONE ->                                          /* the task runs */
        if
        :: atomic { spawned < CHILDREN -> moved = VISITORS + spawned; spawned++ };  /* Publish */
            atomic { submitted[self]++; Follow() };
            atomic { lane[self] = lane[self] | BIT(moved); moved = 0; Follow() };
            Wake(1)
        :: atomic { spawned >= CHILDREN -> skip }
        fi;
        if
#if MAIN
        :: task == MAIN_TASK -> atomic { endWanted = true; Follow() };
            if
            :: Wake(1)                                          /* WantEnd: SetTimer */
            :: skip                                             /* another deadline is earlier */
            fi
#endif
        :: task < VISITORS -> answered[task] = true             /* LowerCounter, with Unpark */
        :: task >= VISITORS && task < TASKS -> skip
        fi;
        atomic { finished[self]++; task = NONE; Follow() }      /* CountFinished */
    :: atomic { task == NONE && !stopping -> skip };
        TakeInjected();                                         /* FindOwn */
        TakeOwn();
        if
        :: searching -> LookAtOthers()                          /* Steal */
        :: !searching && task == NONE && !large ->              /* perhaps a look before it counts as a searcher (MaySteal) */
            if
            :: LookAtOthers()
            :: skip
            fi
        :: else -> skip
        fi;
        if
        :: task != NONE && searching ->                         /* StopSearching */
            searching = false;
            atomic { assert(searchers > 0); searchers--; found = searchers == 0 && sleepers > 0; Follow() };
            if
            :: found -> found = false; Wake(1)
            :: else -> skip
            fi;
            WakeForMore()
        :: !searching && large -> large = false                 /* ContinueOn: its loop continues on a small fiber */
        :: task != NONE && !searching && !large -> skip
        :: task == NONE && !searching && !large ->              /* StartSearching */
            atomic { searching = true; searchers++; Follow() }
#if !ONE_LOOK
        :: task == NONE && searching -> skip                    /* it looks again */
#endif
        :: task == NONE && searching ->
            atomic { asleep = asleep | BIT(self); Follow() };   /* Sleep: Announce */
            atomic { searchers--; sleepers++; Follow() };
            AnyWork(found);
            if :: !found -> found = stopping :: else -> skip fi;
            if
            :: found ->                                         /* GetUp */
                found = false;
                if                                          /* the notice was cleared, but the item is still there */
                :: atomic { injector != 0 -> shown = true }
                :: atomic { injector == 0 -> skip }
                fi;
                if
                :: atomic { asleep & BIT(self) -> asleep = asleep & ~BIT(self); Follow() };
                    atomic { sleepers--; searchers++; Follow() }
                :: atomic { !(asleep & BIT(self)) -> skip }; atomic { token[self] -> token[self] = false }
                fi
            :: else ->
                RunIsOver();
                if
                :: over -> Close();                             /* EndRun */
                    if
                    :: over ->
                        over = false;
                        atomic { stopping = true; Follow() };
                        WakeAll()
                    :: else -> skip
                    fi
                :: !over && sleepers == WORKERS && !watched -> watched = true; Wake(1)  /* WatchForStall: SetTimer */
                :: !over -> skip
                fi;
                atomic { token[self] -> token[self] = false }   /* Park */
            fi
        fi
    od;
    home++
}

proctype Visitor(byte self) {
    byte who = NONE, seen, lowest, missing;

    do
    :: true ->                                                  /* ComeIn */
        atomic { inside[self]++; Follow() };
        if
        :: atomic { !closing -> skip }; break
        :: atomic { closing -> skip };
            atomic { inside[self]--; Follow() };
            !closing
        fi
    od;
    if
    :: atomic { !running -> skip }                              /* the call reports NotRunning */
    :: atomic { running -> Touch() };
        atomic { Touch(); externalSubmitted++; Follow() };       /* Post */
        atomic { Touch(); injector = injector | BIT(self); Follow() };
        atomic { Touch(); shown = true };                       /* Show */
        Wake(1);
        if
        :: skip                                                 /* AddTask, or the task has run */
        :: atomic { Touch(); guests++; Follow() };              /* WaitExternal: BecomeGuest */
            if
            :: atomic { answered[self] -> Touch() }             /* Satisfied: the visitor stays inside */
            :: atomic { !answered[self] -> Touch() };           /* registered */
                atomic { inside[self]--; Follow() };            /* GoOut */
                answered[self];                                 /* Park */
                atomic { inside[self]++; Follow() }             /* ComeBack */
            fi;
            atomic { Touch(); guests--; Follow() };             /* CeaseGuest */
#ifndef BUG_GUEST_LEAVES_SILENTLY
            if
            :: atomic { endWanted -> Touch() }; Wake(1)
            :: atomic { !endWanted -> Touch() }
            fi;
#endif
            Touch()                                             /* LowerCounter: guestsLeft */
        fi
    fi;
    atomic {                                                    /* GoOut */
        inside[self]--;
#ifdef TRACES
        gone++;
#endif
        Follow()
    }
}

/* The caller of Start and Stop, or the thread that Run returns on. */
proctype Caller() {
    byte i, who = NONE, seen, lowest, missing, left;

#if !MAIN
    atomic { running = true; Follow() };                        /* EntryGate::Open */
    atomic { endWanted = true; Follow() };
    if
    :: Wake(1)                                                  /* WantEnd: SetTimer */
    :: skip                                                     /* another deadline is earlier */
    fi;
    Wake(1);                                                    /* StopScheduler */
#endif
    home == WORKERS;                                            /* JoinThreads */
    atomic {
        do
        :: i < WORKERS -> left = left + submitted[i] - finished[i]; i++
        :: else -> break
        od;
        left = left + externalSubmitted;
        assert(left == 0 && injector == 0 && guests == 0);
        released = true;                                        /* Release */
        Follow()
    }
}

init {
    byte p;
    atomic {
#if MAIN
        submitted[0] = 1;                                       /* PrepareMain */
#endif
        ChooseTrace();
        for (p : 0 .. WORKERS - 1) { run Worker(p) };
        run Caller();
        for (p : 0 .. VISITORS - 1) { run Visitor(p) }
    };
    (_nr_pr == 1) -> assert(released && !running && !closing)
}

TheClaim

#ifndef TRACES
ltl all_home { <> released }
#endif
