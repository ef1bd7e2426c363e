/* The steps of pool.pml (running out of fibers). Names are those of the source. `self`, and the variables for results,
 * belong to the process that takes the step.
 */
#line 10005  /* Spin reports these lines as lines of the model. The number lets tests/spin.sh tell them apart. */

inline Unpark(who) { assert(!token[who]); token[who] = true }

inline ClearAny(set, home, found) {
    d_step {
        found = 0;
        do
        :: found < WORKERS && !(set & BIT((found + home) % WORKERS)) -> found++
        :: else -> break
        od;
        if
        :: found < WORKERS -> found = (found + home) % WORKERS; set = set & ~BIT(found); Follow()
        :: else -> found = NONE
        fi
    }
}

/* WakeForAny: wakes a worker that can run tasks. If there is none, wakes a starved one. */
inline Wake(home) {
    if
    :: atomic { !(searchers == 0 && sleepers + others > 0) -> skip }
    :: atomic { searchers == 0 && sleepers + others > 0 -> skip };
        ClearAny(asleep, home, who);
        if
        :: who != NONE -> atomic { sleepers--; searchers++; Follow() }
        :: who == NONE ->
            ClearAny(starvedAsleep, home, who);
            if
            :: who != NONE -> atomic { others--; Follow() }
            :: who == NONE -> skip
            fi
        fi;
        if
        :: who != NONE -> atomic { Unpark(who); who = 0 }
        :: who == NONE -> who = 0
        fi
    fi
}

/* WakeForTasks: wakes only workers that can run tasks, while there are fewer searchers than tasks. */
inline WakeForTasks(home, count) {
    if
    :: atomic { !(searchers < count && sleepers + others > 0) -> skip }
    :: atomic { searchers < count && sleepers + others > 0 -> skip };
        ClearAny(asleep, home, who);
        if
        :: who != NONE -> atomic { sleepers--; searchers++; Follow() }; atomic { Unpark(who); who = 0 }
        :: who == NONE -> who = 0
        fi
    fi
}

inline WakeStarved(home) {
#ifndef BUG_FREE_WAKES_NOBODY
    if
    :: atomic { starved == 0 -> skip }
    :: atomic { starved != 0 -> skip };
        ClearAny(starvedAsleep, home, who);
        if
        :: who != NONE -> atomic { others--; Follow() }; atomic { Unpark(who); who = 0 }
        :: who == NONE -> who = 0
        fi
    fi
#else
    skip
#endif
}

/* ClearAny of m_freeSmall, which has one word here. */
inline TakeFree(found) {
    d_step {
        found = 0;
        do
        :: found < FIBERS && !(free & BIT(found)) -> found++
        :: else -> break
        od;
        if
        :: found < FIBERS -> free = free & ~BIT(found); assert(!held[found]); held[found] = true; Follow()
        :: else -> found = NONE
        fi
    }
}

#if CACHES
inline Hold(fiber) {
    if
    :: fiber != NONE -> assert(!held[fiber]); held[fiber] = true
    :: else -> skip
    fi
}

/* The owner and other workers take the fiber from the cache with an exchange. */
inline TakeSlot(slot, into) {
#ifdef BUG_SLOT_TAKEN_WITHOUT_EXCHANGE
    into = cache[slot];
    d_step { cache[slot] = 0; into = (into == 0 -> NONE : into - 1); Hold(into) }
#else
    d_step { into = (cache[slot] == 0 -> NONE : cache[slot] - 1); cache[slot] = 0; Hold(into) }
#endif
}
#endif

inline AcquireFiber(into) {
#if CACHES
    into = NONE;
    if
    :: used -> used = false; TakeSlot(self, into)
    :: else -> skip
    fi;
    if
    :: into == NONE -> TakeFree(into)
    :: else -> skip
    fi;
    i = 1;
    do
    :: into == NONE && i <= WORKERS ->
        if
        :: atomic { cache[(self + i) % WORKERS] == 0 -> skip }
        :: atomic { cache[(self + i) % WORKERS] != 0 -> skip }; TakeSlot((self + i) % WORKERS, into)
        fi;
        i++
    :: else -> break
    od;
    i = 0
#else
    TakeFree(into)
#endif
}

/* FreeFiber, in FinishSwitch: no thread runs on the fiber any more. */
inline FreeFiber(fiber) {
#if CACHES
    if
    :: atomic { !used && starved == 0 -> used = true }; atomic { held[fiber] = false; cache[self] = fiber + 1; fiber = NONE }
    :: atomic { used || starved != 0 -> skip }; atomic { held[fiber] = false; free = free | BIT(fiber); fiber = NONE }
    fi;
#else
    atomic { held[fiber] = false; free = free | BIT(fiber); fiber = NONE; Follow() };
#endif
    WakeStarved(self)
}

inline StopSearching() {
    if
    :: searching ->
        searching = false;
        atomic { assert(searchers > 0); searchers--; wakes = searchers == 0 && sleepers + others > 0; Follow() };
        if
        :: wakes -> wakes = false; Wake(self)
        :: else -> skip
        fi
    :: else -> skip
    fi
}

/* ReadyFiber: takes the first ready fiber. */
inline TakeReady(into) {
    d_step {
        into = 0;
        do
        :: into < FIBERS && !(ready & BIT(into)) -> into++
        :: else -> break
        od;
        if
        :: into < FIBERS -> ready = ready & ~BIT(into); Follow()
        :: else -> into = NONE
        fi
    }
}

inline SortInbox() {
    if
    :: self == 0 -> atomic {
            mine = mine + inbox;
            myFibers = myFibers | inboxFibers;
            inbox = 0;
            inboxFibers = 0;
            Follow()
        }
    :: else -> skip
    fi
}

inline TakePinnedFiber(into) {
    d_step {
        into = 0;
        do
        :: into < FIBERS && !(myFibers & BIT(into)) -> into++
        :: else -> break
        od;
        if
        :: into < FIBERS -> myFibers = myFibers & ~BIT(into)
        :: else -> into = NONE
        fi
    }
}

/* TakeInjected: moves what others have published to the worker's own deques, one task at a time. */
inline TakeAllInjected() {
    atomic { moved = injected; fibers = injectedFibers; injected = 0; injectedFibers = 0; Follow() };
    if
    :: fibers != 0 -> atomic { ready = ready | fibers; owes = true; Follow() };
        if
        :: fibers & (fibers - 1) -> Wake(self)                  /* two or more */
        :: else -> skip
        fi;
        fibers = 0
    :: else -> skip
    fi;
    if
    :: moved > 0 ->
        tasks = moved;
        do
        :: moved > 0 -> atomic { lane++; moved--; Follow() }
        :: else -> break
        od;
        WakeForTasks(self, tasks);
        tasks = 0
    :: else -> skip
    fi
}

inline TakeInjected() {
#ifdef TRACES
    if
    :: skip                                                     /* the notice is not visible yet */
    :: TakeAllInjected()
    fi
#else
    TakeAllInjected()
#endif
}

/* WatchForStall sets a timer, here only once, and SetTimer wakes a worker. A starved worker that has slept until a deadline
 * wakes one, too (WakeForDeadlines).
 */
inline WatchForStall() {
#ifdef TRACES
    if
    :: atomic { sleepers + others == WORKERS && !watched -> watched = true }; Wake(self)
    :: skip
    fi
#else
    skip
#endif
}

inline WakeForDeadlines() {
#ifdef TRACES
    if
    :: watched -> Wake(self)
    :: skip
    fi
#else
    skip
#endif
}

/* WakeForMore: there may be more tasks where the searcher has found one. */
inline WakeForMore() {
    if
    :: atomic { lane > 0 -> skip }; WakeForTasks(self, 1)
    :: skip
    fi
}

inline SetAny(result) {         /* FiberPool::AnyFree(Small) */
    result = free != 0;
#if CACHES
    i = 0;
    do
    :: i < WORKERS && !result -> result = cache[i] != 0; i++
    :: else -> break
    od;
    i = 0
#endif
}

/* TakeSleeperAt, and then the parker. */
inline TakeSleeperAt(w) {
    if
    :: atomic { asleep & BIT(w) -> asleep = asleep & ~BIT(w); Follow() };
        atomic { sleepers--; searchers++; Follow() };
        atomic { Unpark(w) }
    :: atomic { !(asleep & BIT(w)) -> skip };
        if
        :: atomic { starvedAsleep & BIT(w) -> starvedAsleep = starvedAsleep & ~BIT(w); Follow() };
            atomic { others--; Follow() };
            atomic { Unpark(w) }
        :: atomic { !(starvedAsleep & BIT(w)) -> skip }
        fi
    fi
}

/* OfferRoom: the fiber is registered on its counter. */
inline OfferRoom() {
    SetAny(found);
    if
    :: !found -> atomic { inLine = BIT(WORKERS) - 1; Follow() };
        if
        :: atomic { sleepers + others == 0 -> skip }            /* WakeEverySleeper: one after the other */
        :: atomic { sleepers + others > 0 -> skip };
            do
            :: tries < WORKERS -> TakeSleeperAt(tries); tries++
            :: else -> break
            od;
            tries = 0
        fi
    :: else -> found = false
    fi
}

/* Rescue, by a worker without a fiber: takes a task out of a lane, finds no waiter for it, and puts it back. */
inline Rescue() {
    atomic { inLine = inLine & ~BIT(self) };
    do
    :: atomic { tries < RESCUES && lane > 0 -> lane--; tries++; Follow() }; atomic { lane++; Follow() }
    :: break
    od;
    tries = 0
}

/* Pays an owed wake-up, unless the worker picked the only ready fiber. `ready` also contains fibers of other workers. */
inline PayWake(picked) {
    if
    :: owes ->
        owes = false;
        if
        :: atomic { picked != NONE -> skip }
        :: atomic { picked == NONE || ready != 0 -> skip }; Wake(self)
        fi
    :: else -> skip
    fi
}

