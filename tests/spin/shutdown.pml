/* The end of a run: source/scheduler/gate.h, idle.cpp (Sleep, PendingTasks, RunIsOver, EndRun), foreign.cpp (BecomeGuest,
 * CeaseGuest, WaitForeign), lifecycle.cpp (MainTask, StopScheduler, JoinThreads, Release), post.cpp, ready.cpp (WakeForAny,
 * WakeAll).
 *
 * Modelled    WORKERS workers that run tasks, announce, look once more, ask whether the run is over, close the gate and ask
 *             again, and park; VISITORS threads that are no workers, each of which comes in, submits a task, perhaps waits
 *             for it as a guest, and goes out, at any time, also too late. The first CHILDREN tasks submit one more. The end
 *             is wanted by a thread that calls Stop, or with MAIN=1 by the main task, which worker 0 begins with. Each
 *             load, store and read-modify-write of closing, scheduler, inside, guests, endWanted, stopping, the counts of
 *             tasks, the idle state and the parkers is one step. Names as in the source.
 * Bounds      as above; each visitor has a stripe of its own.
 * Asserted    nobody touches the scheduler after its release; at the release
 *             nothing is pending, what visitors submitted included, and nobody is a guest; nobody stays behind (invalid end state).
 * Liveness    all_home: every worker goes home, and the caller of Stop or Run with them.
 * Left out    memory orders, attached threads, WaitIdle, scheduling without workers, a second run, the end of the fibers.
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
#define BIT(i) (1 << (i))
#define NONE 255
#define CHILD 254
#define MAIN_TASK 253

/* The facade. */
bool closing, running = true;           /* `scheduler` is not null */
byte inside[VISITORS];

/* The scheduler. */
bool released;
bool endWanted, stopping;
byte guests, foreignSubmitted;
byte submitted[WORKERS], finished[WORKERS];
byte injector;                          /* visitors' tasks, one bit each */
byte place[WORKERS];                    /* children */
byte searchers, sleepers, asleep;
bool token[WORKERS], answered[VISITORS];
byte spawned, home;

inline Touch() { assert(!released) }

inline Wake() {                         /* WakeForAny */
    if
    :: atomic { !(searchers == 0 && sleepers > 0) -> Touch() }
    :: atomic { searchers == 0 && sleepers > 0 -> Touch() };
        d_step {
            Touch();
            who = 0;
            do
            :: who < WORKERS && !(asleep & BIT(who)) -> who++
            :: else -> break
            od;
            if
            :: who < WORKERS -> asleep = asleep & ~BIT(who)
            :: else -> who = NONE
            fi
        };
        if
        :: who != NONE ->
            atomic { Touch(); sleepers--; searchers++ };
            atomic { Touch(); token[who] = true; who = 0 }
        :: who == NONE -> who = 0
        fi
    fi
}

/* RunIsOver, with PendingTasks: finished first, then submitted. */
inline RunIsOver() {
    over = endWanted;
    if
#ifndef BUG_GUESTS_IGNORED
    :: over -> over = guests == 0
#endif
    :: else -> skip
    fi;
    if
    :: over ->
#ifdef BUG_SUBMITTED_SUMMED_FIRST
        pending = foreignSubmitted;
        do
        :: i < WORKERS -> pending = pending + submitted[i]; i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < WORKERS -> pending = pending - finished[i]; i++
        :: else -> break
        od;
#else
        do
        :: i < WORKERS -> pending = pending - finished[i]; i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < WORKERS -> pending = pending + submitted[i]; i++
        :: else -> break
        od;
        pending = pending + foreignSubmitted;
#endif
        atomic { over = pending == 0; pending = 0; i = 0 }
    :: else -> skip
    fi
}

inline NobodyInside(result) {
    result = true;
    do
    :: i < VISITORS && result -> result = inside[i] == 0; i++
    :: else -> break
    od;
    i = 0
}

proctype Worker(byte self) {
    byte i, who, task = NONE;
    short pending;
    bool searching, found, over, nobody;

#if MAIN
    if
    :: self == 0 -> task = MAIN_TASK
    :: else -> skip
    fi;
#endif
    do
    :: atomic { task == NONE && stopping -> break }             /* RunLoop, ThreadLoop: go home */
    :: task != NONE ->                                          /* it runs */
        if
        :: atomic { spawned < CHILDREN -> spawned++ };          /* Publish */
            submitted[self]++;
            place[self]++;
            Wake()
        :: atomic { spawned >= CHILDREN -> skip }
        fi;
        if
#if MAIN
        :: task == MAIN_TASK -> endWanted = true
#endif
        :: task < VISITORS -> answered[task] = true  /* LowerCounter, Unpark */
        :: task == CHILD -> skip
        fi;
        atomic { finished[self]++; task = NONE }                /* CountFinished */
    :: atomic { task == NONE && !stopping -> skip };
        do                                                      /* the injector, and everybody's place */
        :: task == NONE && i <= WORKERS ->
            if
            :: i == WORKERS ->
                d_step {
                    do
                    :: who < VISITORS && !(injector & BIT(who)) -> who++
                    :: else -> break
                    od;
                    if
                    :: who < VISITORS -> injector = injector & ~BIT(who); task = who
                    :: else -> skip
                    fi;
                    who = 0
                };
                i++
            :: i < WORKERS ->
                d_step {
                    if
                    :: place[i] > 0 -> place[i]--; task = CHILD
                    :: else -> skip
                    fi
                };
                i++
            fi
        :: else -> break
        od;
        i = 0;
        if
        :: task != NONE && searching ->                         /* StopSearching */
            searching = false;
            atomic { searchers--; found = searchers == 0 && sleepers > 0 };
            if
            :: found -> found = false; Wake()
            :: else -> skip
            fi
        :: task != NONE && !searching -> skip
        :: task == NONE ->
            if
            :: !searching -> atomic { searching = true; searchers++ }
            :: else -> skip
            fi;
            asleep = asleep | BIT(self);                        /* Sleep: Announce */
            atomic { searchers--; sleepers++ };
            found = injector != 0;                              /* AnyWork */
            do
            :: i < WORKERS && !found -> found = place[i] > 0; i++
            :: else -> break
            od;
            i = 0;
            if :: !found -> found = stopping :: else -> skip fi;
            if
            :: found ->                                         /* GetUp */
                found = false;
                if
                :: atomic { asleep & BIT(self) -> asleep = asleep & ~BIT(self) }; atomic { sleepers--; searchers++ }
                :: atomic { !(asleep & BIT(self)) -> skip }; atomic { token[self] -> token[self] = false }
                fi
            :: else ->
                RunIsOver();
                if
                :: over ->                                      /* EndRun: Gate::Close */
                    atomic { !closing -> closing = true };
                    do
                    :: true ->
                        do
                        :: true ->
                            NobodyInside(nobody);
                            if :: nobody -> break :: else -> skip fi
                        od;
                        RunIsOver();
#ifdef BUG_CLOSE_WITHOUT_SECOND_LOOK
                        break
#else
                        if
                        :: over ->
                            NobodyInside(nobody);
                            if :: nobody -> break :: else -> skip fi
                        :: else -> break
                        fi
#endif
                    od;
                    nobody = false;
                    if
                    :: over -> running = false
                    :: else -> skip
                    fi;
                    closing = false;
                    if
                    :: over ->
                        over = false;
                        stopping = true;
                        do                                      /* WakeAll */
                        :: i < WORKERS ->
                            if
                            :: atomic { asleep & BIT(i) -> asleep = asleep & ~BIT(i) }; atomic { sleepers--; searchers++ }
                            :: atomic { !(asleep & BIT(i)) -> skip }
                            fi;
#ifdef BUG_WAKES_ONLY_ITSELF
                            if :: i == self -> token[i] = true :: else -> skip fi;
#else
                            token[i] = true;
#endif
                            i++
                        :: else -> break
                        od;
                        i = 0
                    :: else -> skip
                    fi
                :: else -> skip
                fi;
                atomic { token[self] -> token[self] = false }   /* Park */
            fi
        fi
    od;
    home++
}

proctype Visitor(byte self) {
    byte who;

    do
    :: true ->                                                  /* ComeIn */
        inside[self]++;
        if
        :: atomic { !closing -> skip }; break
        :: atomic { closing -> skip };
            inside[self]--;
            !closing
        fi
    od;
    if
    :: atomic { !running -> skip }                              /* it is told that the scheduler does not run */
    :: atomic { running -> Touch() };
        atomic { Touch(); foreignSubmitted++ };                 /* Post */
        atomic { Touch(); injector = injector | BIT(self) };
        Wake();
        if
        :: skip                                                 /* AddTask */
        :: atomic { Touch(); guests++ };                        /* WaitForeign: BecomeGuest */
            inside[self]--;                                     /* GoOut */
            answered[self];                                     /* Park */
            inside[self]++;                                     /* ComeBack */
            atomic { Touch(); guests-- };                       /* CeaseGuest */
#ifndef BUG_GUEST_LEAVES_SILENTLY
            if
            :: atomic { endWanted -> Touch() }; Wake()
            :: atomic { !endWanted -> Touch() }
            fi;
#endif
            Touch()                                             /* LowerCounter: guestsLeft */
        fi
    fi;
    inside[self]--                                              /* GoOut */
}

/* The caller of Stop, or the thread that Run returns on. */
proctype Caller() {
    byte i, who, left;

#if !MAIN
    endWanted = true;
    Wake();
#endif
    home == WORKERS;                                            /* JoinThreads */
    atomic {
        do
        :: i < WORKERS -> left = left + submitted[i] - finished[i]; i++
        :: else -> break
        od;
        left = left + foreignSubmitted;
        assert(left == 0 && injector == 0 && guests == 0);
        released = true                                         /* Release */
    }
}

init {
    byte p;
    atomic {
#if MAIN
        submitted[0] = 1;                                       /* PrepareMain */
#endif
        for (p : 0 .. WORKERS - 1) { run Worker(p) };
        run Caller();
        for (p : 0 .. VISITORS - 1) { run Visitor(p) }
    };
    (_nr_pr == 1) -> assert(released && !running && !closing)
}

ltl all_home { <> released }
