/* Falling asleep and waking up. Names are those of the source: core/idle.h, and in scheduler/: submit/wake.cpp
 * (Published, WakePlain, Inject), policy/places.cpp (TakeInjected, AnyWork), policy/next_work.cpp (NextWork), run/idle_loop.cpp
 * (FindWork, Sleep).
 *
 * Modelled    WORKERS workers look for work, search, announce that they sleep, check for work again, and park. POSTERS external
 *             threads each put a task into the injector, and then check for sleepers (Inject). Workers publish, too: the first
 *             CHILDREN tasks submit one task each to their worker's deque, and a worker that sees items in the injector
 *             moves them there. Each look at a deque, and each change of a deque, of the state of Idle, of a sleeper's bit and
 *             of a parker is one step.
 * Bounds      WORKERS, POSTERS, CHILDREN; one level, no choosy workers. IdlePolicy is Balanced or Sleep: a search may end after
 *             any look.
 * Asserted    A worker has a token to consume if and only if its bit was taken. A token is never overwritten. No number in the
 *             state falls below zero. When nothing happens any more, there is no searcher, each published task has run, and the
 *             state counts the sleepers right. With RENDEZVOUS=1 no task ends before all have begun, so each needs its own
 *             worker. A task that is left to a busy worker then causes an invalid end state.
 * Liveness    all_run: each published task runs.
 * Left out    Memory orders; priorities, groups and pinned work; ready fibers and hand-overs; chunks of several tasks; deadlines
 *             and stalls; the clock that bounds a search.
 * Followed    In runs of the whole scheduler until all is quiet (sleep_trace.cpp): each change of the state, of the bits of the
 *             sleepers, of the number of items in the injector and in each deque, and of the number of tasks that have begun.
 *             Parkers are compared at the end: all threads are parked.
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
#ifndef RENDEZVOUS
#define RENDEZVOUS 0
#endif
#define TOTAL (POSTERS + CHILDREN)
#define NONE 255
#define BIT(i) (1 << (i))

byte injector, queue[WORKERS];  /* numbers of tasks */
byte searchers, sleepers;       /* m_state, one word: read and changed in one step */
byte asleep;                    /* m_plain */
bool token[WORKERS];            /* the parkers */
byte begun, ended;

#if defined(TRACES) && WORKERS == 2
byte posted;
#define OBSERVED ((now.searchers & 3) | (now.sleepers & 3) << 2 | now.asleep << 4 | now.begun << 6 | now.injector << 8 | \
                  now.queue[0] << 10 | now.queue[1] << 12)
#define OVER     (posted == POSTERS && Worker[1]@end_parked && Worker[2]@end_parked && !token[0] && !token[1])
#endif
#include "follow.pml"

inline Unpark(who) { assert(!token[who]); token[who] = true }

/* TakeAny: ClearAny in one word, then the state. Then the parker. */
inline TakeAny() {
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
        atomic { assert(sleepers > 0); sleepers--; searchers++; Follow() };
        atomic { Unpark(who); who = NONE }
    :: else -> skip
    fi
}

/* WakePlain, for up to two entries. A woken worker is not told to wake more: that needs more than three sleepers. */
inline WakePlain(entries) {
    atomic { wakes = (entries < sleepers -> entries : sleepers) };
    do
    :: wakes > 0 -> wakes--; TakeAny()
    :: else -> break
    od
}

/* Published, for one entry. */
inline Published() {
    if
    :: atomic { searchers != 0 || sleepers == 0 -> skip }       /* PlainWanted */
    :: atomic { searchers == 0 && sleepers != 0 -> skip }; WakePlain(1)
    fi
}

/* PublishedOwn looks before the call of Published. */
inline PublishedOwn() {
    if
    :: atomic { searchers != 0 || sleepers == 0 -> skip }       /* Wanted */
    :: atomic { searchers == 0 && sleepers != 0 -> skip }; Published()
    fi
}

inline TakeInjected() {
    if
    :: atomic { injector == 0 -> skip }
    :: atomic { injector != 0 -> skip };
        atomic { i = injector; injector = 0; Follow() };
        do
        :: i > 0 -> atomic { queue[self]++; i--; Follow() }; PublishedOwn()
        :: else -> break
        od
    fi
}

/* Sets `left` to the number of tasks that the victim has left. */
#define OTHER ((self + i) % WORKERS)
inline Steal() {
    i = 1;
    do
    :: i < WORKERS && !found -> atomic {
            if
            :: queue[OTHER] > 0 -> queue[OTHER]--; found = true; left = queue[OTHER]; i = WORKERS; Follow()
            :: queue[OTHER] == 0 -> i++
            fi
        }
    :: else -> break
    od;
    i = 0
}

inline NextWork() {
    TakeInjected();
    atomic {                                                    /* only the owner adds to its deque */
        if
        :: queue[self] > 0 -> queue[self]--; found = true; left = 0; Follow()
        :: queue[self] == 0 -> skip
        fi
    };
    if
    :: found -> skip
    :: !found -> Steal(); rests = false
    :: !found && !rests -> rests = true                         /* Thief::Rests: not for ever */
    fi
}

inline StartSearching() { atomic { searchers++; searching = true; Follow() } }

inline StopSearching() {
    searching = false;
    atomic { assert(searchers > 0); searchers--; isLast = searchers == 0 && sleepers > 0; Follow() };
#ifdef BUG_LAST_SEARCHER_SILENT
    isLast = false;
#endif
    if
    :: isLast && left > 1 -> WakePlain(2)
    :: isLast && left <= 1 -> WakePlain(1)
    :: else -> skip
    fi;
    isLast = false
}

/* The state, then the bit. */
inline Announce() {
#ifdef BUG_BIT_FIRST
    atomic { asleep = asleep | BIT(self); Follow() };
    atomic { assert(searchers > 0); searchers--; sleepers++; Follow() }
#else
    atomic { assert(searchers > 0); searchers--; sleepers++; Follow() };
    atomic { asleep = asleep | BIT(self); Follow() }
#endif
}

/* Looks at all deques, then at the injector. */
inline AnyWork() {
    do
    :: !found && i < WORKERS -> atomic { found = queue[i] > 0; i++ }
    :: !found && i == WORKERS -> atomic { found = injector > 0; i++ }
    :: else -> break
    od;
    i = 0
}

/* TakeAt, or the token of the process that has taken the bit. */
inline GetUp() {
    if
    :: atomic { asleep & BIT(self) -> asleep = asleep & ~BIT(self); Follow() };
        atomic { assert(sleepers > 0); sleepers--; searchers++; Follow() }
    :: atomic { !(asleep & BIT(self)) -> skip };
        atomic { token[self] -> token[self] = false }
    fi
}

inline RunTask() {
    if
    :: atomic { begun < CHILDREN -> begun++; Follow() };
        atomic { queue[self]++; Follow() };
        PublishedOwn()
    :: atomic { begun >= CHILDREN -> begun++; Follow() }
    fi;
#if RENDEZVOUS
    begun == TOTAL;
#endif
    ended++
}

proctype Worker(byte self) {
    byte i, who = NONE, seen, lowest, wakes, left;
    bool found, searching, isLast, rests;

end:
    do
    :: NextWork();
        if
        :: found ->
            found = false;
            if
            :: searching -> StopSearching()
            :: else -> skip
            fi;
            left = 0;
            RunTask()
        :: !found && !searching -> StartSearching()
        :: !found && searching ->
            if
            :: skip                                             /* it looks again */
            :: Announce();
#ifndef BUG_NO_LAST_LOOK
                AnyWork();
#endif
                if
                :: found -> found = false; GetUp()
                :: else ->
end_parked:         atomic { token[self] -> token[self] = false }
                fi
            fi
        fi
    od
}

proctype Poster() {
    byte who = NONE, seen, lowest, wakes;

#ifdef BUG_WAKE_BEFORE_PUBLISH
    Published();
    injector++
#else
    atomic { injector++; Follow() };                            /* Inject */
    Published()
#endif
#ifdef TRACES
    ; posted++
#endif
}

#ifndef TRACES
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
#ifndef TRACES
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
