/* Waits for a counter, and their end. Names are those of the source: core/counter_waiting.{h,cpp}, core/counter_word.h, and
 * their use in scheduler/wait/wait.cpp and scheduler/wait/fiber_switch.cpp.
 *
 * Modelled    Fibers wait for a target: they check the counter (IsSatisfied), leave their stack, register (Register, which is
 *             Push, by the next context on the thread), and continue once they are made ready. Tasks decrement by one
 *             (Decrement, Sort, SortList, NextOwner). A task adds (Add with its notes). Each load and each CAS of the word is
 *             one step. Accesses to records that no other process can reach are merged with the CAS that publishes or
 *             detaches the records.
 * Bounds      The count begins at DECREMENTS + ADDERS + HOLDER. Fiber 0 waits for zero, fibers 1 .. FIBERS - 1 for 1 or 2.
 *             Each adder adds one and decrements by two. There are as many spare records as adders, so no adder waits for one.
 *             With HOLDER=1 the adders decrement by one and then add one, and the last tasks run when all else is over.
 * Asserted    A fiber continues only if its target was reached after it had registered (reached), only once, and only after
 *             it has left its stack (running). No process accesses the word after fiber 0 has returned and the others have
 *             passed their registration (dead). At the end the word is zero. All processes end (otherwise: invalid end
 *             state). With HOLDER=1, before the last tasks: a fiber whose target was passed, even for a moment, is ready.
 * Liveness    goes_on: a waiter whose target was reached continues.
 * Left out    Memory orders; tags; overflow and underflow; TryDecrement (the same CAS without a list); RegisterOther and
 *             Remove; what a waiter runs meanwhile.
 * Followed    In runs of the source in which no waiter continues (wait_trace.cpp): each change of the word.
 */
#ifndef FIBERS
#define FIBERS 2
#endif
#ifndef DECREMENTS
#define DECREMENTS 2
#endif
#ifndef ADDERS
#define ADDERS 1
#endif
#ifndef HOLDER
#define HOLDER 0
#endif
#define RECORDS (FIBERS + ADDERS)  /* the fibers' own records, then spare records for notes */

/* The word: | count | head : 4 | sorting | eager | */
#define WORD(count, head, sorting, eager) ((count) * 64 + (head) * 4 + (sorting) * 2 + (eager))
#define COUNT(w)     ((w) >> 6)
#define HEAD(w)      (((w) >> 2) & 15)
#define SORTING(w)   (((w) >> 1) & 1)
#define EAGER(w)     ((w) & 1)
#ifdef BUG_ZERO_WHILE_SORTING
#define SATISFIES(w, target) (COUNT(w) <= (target))
#else
#define SATISFIES(w, target) (COUNT(w) <= (target) && ((target) != 0 || !SORTING(w)))
#endif

short word = WORD(DECREMENTS + ADDERS + HOLDER, 0, 0, 0);
byte next[RECORDS], value[RECORDS];
bool dead;                                    /* the counter's memory is gone */
bool running[FIBERS], registered[FIBERS], reached[FIBERS], ready[FIBERS], past[FIBERS], returned[FIBERS];
byte target[FIBERS];
byte finished;                                /* tasks that do not access the word any more */

inline Touch() { assert(!dead) }

#define OBSERVED now.word                     /* in real runs no waiter continues (wait_trace.cpp) */
#define OVER     (finished == DECREMENTS + ADDERS)
#include "follow.pml"

/* Called in each step that changes the count. */
inline Watch() {
    i = 0;
    do
    :: i < FIBERS ->
        if
        :: registered[i] && COUNT(word) <= target[i] -> reached[i] = true
        :: else -> skip
        fi;
        i++
    :: else -> break
    od;
    i = 0
}

inline MakeReady(fiber) {
    assert(!ready[fiber] && reached[fiber]);
    assert(!running[fiber]);
    ready[fiber] = true
}

proctype Waiter(byte self) {
    short w;
    bool waits;

    if
    :: self == 0 -> target[self] = 0
    :: self != 0 -> target[self] = 1
    :: self != 0 -> target[self] = 2
    fi;
    atomic {                                              /* Wait: IsSatisfied */
        Touch();
        waits = !SATISFIES(word, target[self]);
        past[self] = !waits
    };
    if
    :: !waits -> skip
    :: waits ->
#ifndef BUG_REGISTER_BEFORE_LEAVING
        running[self] = false;                            /* SwitchTo: the context is saved */
#endif
        atomic { Touch(); w = word };                     /* FinishSwitch, Register, Push */
        do
        :: SATISFIES(w, target[self]) -> atomic { reached[self] = true; past[self] = true; MakeReady(self); break }
        :: else ->
            d_step {
                Touch();
                if
                :: word == w ->
                    next[self] = HEAD(w);
                    value[self] = target[self];
                    word = WORD(COUNT(w), self + 1, SORTING(w), EAGER(w) || target[self] != 0);
                    Follow();
                    registered[self] = true;
                    reached[self] = COUNT(w) <= target[self];  /* true only for zero during a sort */
                    past[self] = true;
                    waits = false
                :: else -> w = word
                fi
            };
            if
            :: !waits -> break
            :: else -> skip
            fi
        od;
#ifdef BUG_REGISTER_BEFORE_LEAVING
        running[self] = false;
#endif
        atomic { ready[self] -> running[self] = true; registered[self] = false }
    fi;
    atomic { returned[self] = true; w = 0; waits = false };
    if
    :: self == 0 ->                                       /* the user frees the counter */
        byte i;
        atomic {
            do
            :: i < FIBERS -> past[i]; i++
            :: else -> break
            od;
            i = 0;
            dead = true
        }
    :: else -> skip
    fi
}

/* Goes through a list that no other process can reach. `lowest` is the lowest count since the current record was pushed. */
inline SortList(start) {
    list = start;
    do
    :: list != 0 ->
        i = list - 1;
        list = next[i];
        if
        :: i >= FIBERS -> if :: value[i] < lowest -> lowest = value[i] :: else -> skip fi
        :: i < FIBERS && value[i] >= lowest -> next[i] = woken; woken = i + 1
        :: else -> next[i] = kept; kept = i + 1; keptEager = keptEager || value[i] != 0
        fi
    :: else -> break
    od;
    i = 0
}

inline Decrement() {
    atomic { Touch(); w = word };
    do
    :: !done -> d_step {
            Touch();
            if
            :: word == w ->
                assert(COUNT(w) >= 1);
                done = true;
                if
                :: !SORTING(w) && (COUNT(w) == 1 || EAGER(w)) ->
                    word = WORD(COUNT(w) - 1, 0, COUNT(w) != 1, 0);
                    if
                    :: COUNT(w) == 1 -> woken = HEAD(w)
                    :: else -> sorts = true; lowest = COUNT(w) - 1; sortedAt = lowest; SortList(HEAD(w))
                    fi
                :: else -> word = w - WORD(1, 0, 0, 0)
                fi;
                Follow();
                Watch()
            :: else -> w = word
            fi
        }
    :: done -> break
    od;
    done = false;
    if
    :: sorts -> Sort()
    :: else -> skip
    fi;
#ifdef BUG_FINISHER_LOOKS_AGAIN
    Touch();
#endif
    do                                                    /* WakeOwners */
    :: woken != 0 ->
        atomic { list = woken - 1; woken = next[list] };  /* NextOwner */
        atomic { MakeReady(list); list = 0 }
    :: else -> break
    od;
    w = 0
}

inline Sort() {
    atomic { Touch(); w = word };
    do
    :: !done -> d_step {
            Touch();
            if
#ifdef BUG_SORTER_FORGETS_NEW
            :: word == w ->
#else
            :: word == w && HEAD(w) != 0 ->               /* new records: detaches them, too */
                word = WORD(COUNT(w), 0, 1, 0);
                Follow();
                lowest = COUNT(w);
                sortedAt = lowest;
                earlier = kept;
                kept = 0;
                keptEager = false;
                SortList(HEAD(w));
                SortList(earlier);
                earlier = 0;
                w = word
            :: word == w && HEAD(w) == 0 ->
#endif
                if
                :: COUNT(w) < sortedAt ->
                    lowest = COUNT(w);
                    sortedAt = lowest;
                    earlier = kept;
                    kept = 0;
                    keptEager = false;
                    SortList(earlier);
                    earlier = 0
                :: else -> skip
                fi;
                word = WORD(COUNT(w), kept, 0, keptEager);
                Follow();
                kept = 0;
                done = true
            :: else -> w = word
            fi
        }
    :: done -> break
    od;
    atomic { done = false; sorts = false; keptEager = false; lowest = 0; sortedAt = 0 }
}

inline Add() {
    atomic { Touch(); w = word };
    do
    :: !done -> d_step {
            Touch();
            if
            :: word == w ->
                if
#ifndef BUG_ADD_WITHOUT_NOTE
                :: SORTING(w) ->
                    next[note] = HEAD(w);
                    value[note] = COUNT(w);
                    word = WORD(COUNT(w) + 1, note + 1, 1, EAGER(w))
#endif
                :: else -> word = w + WORD(1, 0, 0, 0)
                fi;
                Follow();
                done = true
            :: else -> w = word
            fi
        }
    :: done -> break
    od;
    atomic { done = false; w = 0 }
}

proctype Task(bool adds; byte note) {
    short w;
    byte woken, kept, earlier, lowest, sortedAt, list, i;
    bool keptEager, sorts, done;

#if HOLDER
    Decrement();
    if
    :: adds -> Add()
    :: else -> skip
    fi;
#else
    if
    :: adds -> Add(); Decrement()
    :: else -> skip
    fi;
    Decrement();
#endif
    finished++
}

#if HOLDER
/* Keeps the count above zero until all other processes have done their work. Then it starts the last tasks. */
proctype Holder() {
    byte i;
    atomic {
        finished == DECREMENTS + ADDERS;
        do
        :: i < FIBERS -> past[i]; i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < FIBERS -> assert(!reached[i] || ready[i] || returned[i]); i++
        :: else -> break
        od;
        for (i : 0 .. ADDERS) { run Task(false, 0) }
    }
}
#endif

init {
    byte p;
    atomic {
        ChooseTrace();
        for (p : 0 .. FIBERS - 1) { running[p] = true; run Waiter(p) };
        for (p : 1 .. DECREMENTS) { run Task(false, 0) };
        for (p : 1 .. ADDERS) { run Task(true, FIBERS + p - 1) };
#if HOLDER
        run Holder()
#endif
    };
    (_nr_pr == 1) -> assert(dead && word == WORD(0, 0, 0, 0))
}

#define ALL_BUT_LAST (FIBERS - 1)
TheClaim

#ifndef TRACES
ltl goes_on { [] (reached[ALL_BUT_LAST] -> <> returned[ALL_BUT_LAST]) && [] (reached[0] -> <> returned[0]) }
#endif
