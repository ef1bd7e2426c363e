/* Waiting for a counter, and cleaning up after it: source/core/counter_waiting.{h,cpp}, counter_word.h, and how
 * source/scheduler/wait.cpp and fiber_switch.cpp use them.
 *
 * Modelled    fibers that wait for a target (IsSatisfied; leave; Register, which is Push, done by the next context;
 *             go on once made ready), tasks that count off one (Decrement, Sort, SortList, NextOwner), and a task that adds
 *             (Add with its notes). Each load of the word and each CAS is one step; what lies in records that nobody else
 *             can reach goes with the CAS that publishes or detaches them. Names as in the source.
 * Bounds      the count begins at DECREMENTS + ADDERS + HOLDER; fiber 0 waits for zero, fibers 1 .. FIBERS - 1 for 1 or 2;
 *             each adder adds one and counts off two; as many spare records as there are adders, so none waits for one.
 *             With HOLDER=1 the adders count off one and then add one, and the last tasks wait until all else is over.
 * Asserted    a fiber goes on only if its target was reached since it registered (reached), once, and only after it was
 *             left (running); nobody touches the word once fiber 0 has returned and the others are past their registration
 *             (dead); the word is clean in the end; nobody is left behind (invalid end state). With HOLDER=1, before the
 *             last tasks: whoever's target was passed, if only for a moment, is ready.
 * Liveness    goes_on: a waiter whose target was reached goes on.
 * Left out    memory orders; tags; overflow, underflow; TryDecrement (the same CAS, without a list); RegisterOther and
 *             Remove; what a waiter runs meanwhile.
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
#define RECORDS (FIBERS + ADDERS)  /* own records first, then spare ones for notes */

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
byte finished;                                /* tasks that will not touch the word again */

inline Touch() { assert(!dead) }

#define OBSERVED now.word                     /* of real runs, in which nobody goes on (wait_trace.cpp) */
#define OVER     (finished == DECREMENTS + ADDERS)
#include "follow.pml"

/* After each change of the count; within the step that changes it. */
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
                    reached[self] = COUNT(w) <= target[self];  /* zero, while somebody sorts */
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

/* Goes through a list that it alone holds; `lowest` is the least count since the record it stands at was pushed. */
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
            :: word == w && HEAD(w) != 0 ->               /* more came: detach them too */
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
/* Keeps the count above zero until all is quiet; then come the last tasks. */
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
