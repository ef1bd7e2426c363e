/* Waits for a counter, and their end. Names are those of the source: core/counters.{h,cpp}, core/counter_word.h, and their use
 * in scheduler/wait/wait.cpp and scheduler/run/fiber_switch.cpp.
 *
 * Modelled    Fibers wait for a target: they check the counter (IsReached), leave their stack, register (Register, which is
 *             Push, by the next context on the thread), and continue once they are made ready. Tasks decrement by one (Lower
 *             with TakeReached and Unlock, NextOwner). A task adds (Add). A remover takes fiber 1 off the list (RemoveIf: Lock
 *             and Unlock), as a deadline does. Each change of the word is one step. A load is merged with the CAS that follows,
 *             because that one fails if the word has changed. So are accesses to records that no other process can reach.
 * Bounds      The count begins at DECREMENTS + ADDERS + HOLDER. Fiber 0 waits for zero, fibers 1 .. FIBERS - 1 for 1 or 2.
 *             Each adder adds one and decrements by two. With HOLDER=1 the adders decrement by one and then add one, and the
 *             last tasks run when all else is over. One remover, or none (REMOVER=0).
 * Asserted    A fiber continues only if its target was reached after it had registered (reached) or if it was removed, only
 *             once, and only after it has left its stack (running). No process accesses the word after fiber 0 has returned,
 *             the others have passed their registration, and the remover has returned (dead). At the end the word is zero.
 *             All processes end (otherwise: invalid end state). With HOLDER=1, before the last tasks: a fiber whose target
 *             was passed, even for a moment, is ready.
 * Liveness    goes_on: a waiter whose target was reached continues.
 * Left out    Memory orders; tags; priorities; overflow and underflow; LowerPlain (the same CAS without a list); the shape of
 *             the list and of the heap: `list` is the set of the fibers in it; the notice for values.
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
#ifndef REMOVER
#define REMOVER 1
#endif
#define BIT(fiber) (1 << (fiber))

byte count = DECREMENTS + ADDERS + HOLDER;    /* the word: the count, the list, and two bits */
byte list;
bool locked, eager;
bool dead;                                    /* the counter's memory is gone */
bool running[FIBERS], reached[FIBERS], removed[FIBERS], ready[FIBERS], past[FIBERS], returned[FIBERS];
byte target[FIBERS];
bool isRemoverDone = !REMOVER;
byte finished;                                /* tasks and removers that do not access the word any more */

#define OBSERVED (now.count * 8 + (now.list != 0) * 4 + now.locked * 2 + now.eager)
#define OVER     (finished == DECREMENTS + ADDERS + REMOVER)
#include "follow.pml"

inline Touch() { assert(!dead) }

inline MakeReady(fiber) {
    assert(!ready[fiber] && !running[fiber] && (reached[fiber] || removed[fiber]));
    ready[fiber] = true
}

proctype Waiter(byte self) {
    byte i;

    if
    :: self == 0 -> target[self] = 0
    :: self != 0 -> target[self] = 1
    :: self != 0 -> target[self] = 2
    fi;
    if
    :: atomic { count <= target[self] -> Touch(); past[self] = true }  /* IsReached */
    :: atomic { count > target[self] -> Touch() };
#ifndef BUG_REGISTER_BEFORE_LEAVING
        running[self] = false;                            /* SwitchTo: the context is saved */
#endif
        if                                                /* RegisterWaiter, Register, Push */
        :: atomic { count <= target[self] -> Touch(); past[self] = true; reached[self] = true; MakeReady(self) }
#ifdef BUG_PUSH_WHILE_LOCKED
        :: atomic { count > target[self] ->
#else
        :: atomic { count > target[self] && !locked ->
#endif
               Touch();
               list = list | BIT(self);
               eager = eager || target[self] != 0;
               past[self] = true;
               Follow()
           }
        fi;
#ifdef BUG_REGISTER_BEFORE_LEAVING
        running[self] = false;
#endif
        atomic { ready[self] -> running[self] = true }
    fi;
    returned[self] = true;
    if
    :: self == 0 -> atomic {                              /* the user frees the counter */
           do
           :: i < FIBERS -> past[i]; i++
           :: else -> break
           od;
           isRemoverDone -> dead = true
       }
    :: else -> skip
    fi
}

/* The caller has locked the counter, or taken the whole list. Sets `woken`, and what is kept. */
inline Sort(value) {
    woken = 0;
    keptEager = false;
    do
    :: i < FIBERS ->
        if
        :: !(list & BIT(i)) -> skip
        :: (list & BIT(i)) && target[i] >= value -> woken = woken | BIT(i)
        :: (list & BIT(i)) && target[i] < value -> keptEager = keptEager || target[i] != 0
        fi;
        i++
    :: else -> break
    od;
    i = 0;
    kept = list & ~woken
}

/* Called in each step that lowers the count. */
inline Watch() {
    do
    :: i < FIBERS ->
        if
        :: (list & BIT(i)) && count <= target[i] -> reached[i] = true
        :: else -> skip
        fi;
        i++
    :: else -> break
    od;
    i = 0
}

/* An addition: the count may have risen. */
inline Unlock() {
    Touch();
    assert(locked);
#ifdef BUG_UNLOCK_STORES
    count = left;
#endif
#ifdef BUG_EAGER_FORGOTTEN
    keptEager = false;
#endif
    list = kept;
    eager = keptEager;
    locked = false;
    Follow()
}

inline Lower() {
    d_step {
#ifndef BUG_LOWER_WHILE_LOCKED
        !locked;
#endif
        Touch();
        assert(count >= 1);
        count--;
        left = count;
        Watch();
        if
        :: left == 0 -> woken = list; list = 0; eager = false
        :: left != 0 && eager -> locked = true; locks = true; Sort(left)
        :: left != 0 && !eager -> skip
        fi;
        Follow()
    };
    if
    :: locks -> d_step { Unlock(); locks = false }        /* TakeReached */
    :: else -> skip
    fi;
#ifdef BUG_FINISHER_LOOKS_AGAIN
    Touch();
#endif
    do
    :: woken != 0 -> d_step {                             /* NextOwner */
           do
           :: !(woken & BIT(i)) -> i++
           :: else -> break
           od;
           woken = woken & ~BIT(i);
           MakeReady(i);
           i = 0
       }
    :: else -> break
    od
}

inline Add() { atomic { Touch(); count++; Follow() } }

proctype Task(bool adds) {
    byte left, woken, kept, i;
    bool locks, keptEager;

#if HOLDER
    Lower();
    if
    :: adds -> Add()
    :: else -> skip
    fi;
#else
    if
    :: adds -> Add(); Lower()
    :: else -> skip
    fi;
    Lower();
#endif
    finished++
}

#if REMOVER
proctype Remover() {
    byte left, kept, found;
    bool keptEager;

    if                                                    /* Lock */
    :: atomic { list == 0 && !locked -> Touch() }
    :: d_step {
           list != 0 && !locked;
           Touch();
           locked = true;
           left = count;
           found = list & BIT(1);
           kept = list & ~BIT(1);
           keptEager = kept & ~BIT(0);
           Follow()
       };
       d_step { Unlock() };
       if
       :: found != 0 -> atomic { removed[1] = true; MakeReady(1) }
       :: else -> skip
       fi
    fi;
    atomic { isRemoverDone = true; finished++ }
}
#endif

#if HOLDER
/* Keeps the count above zero until all other processes have done their work. Then it starts the last tasks. */
proctype Holder() {
    byte i;
    atomic {
        finished == DECREMENTS + ADDERS + REMOVER;
        do
        :: i < FIBERS -> past[i]; i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < FIBERS -> assert(!reached[i] || ready[i]); i++
        :: else -> break
        od;
        for (i : 0 .. ADDERS) { run Task(false) }
    }
}
#endif

init {
    byte p;
    atomic {
        ChooseTrace();
        for (p : 0 .. FIBERS - 1) { running[p] = true; run Waiter(p) };
        for (p : 1 .. DECREMENTS) { run Task(false) };
        for (p : 1 .. ADDERS) { run Task(true) };
#if REMOVER
        run Remover();
#endif
#if HOLDER
        run Holder()
#endif
    };
    (_nr_pr == 1) -> assert(dead && count == 0 && list == 0 && !locked && !eager)
}

#define ALL_BUT_LAST (FIBERS - 1)
TheClaim

#ifndef TRACES
ltl goes_on { [] (reached[ALL_BUT_LAST] -> <> returned[ALL_BUT_LAST]) && [] (reached[0] -> <> returned[0]) }
#endif
