/* The end of a run: the steps of shutdown.pml, named as in the source. `self`, and what they leave results in, are the caller's.
 */
#line 10004  /* Spin shows these lines as if they were the model's: so tests/spin.sh tells them apart */

inline Touch() { assert(!released) }

/* ClearAny, within one word, then the state, then the parker. */
inline TakeSleeper() {
    atomic { Touch(); seen = asleep; who = NONE };
    do
    :: seen != 0 ->
        d_step {
            Touch();
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
        atomic { Touch(); sleepers--; searchers++; Follow() };
        atomic { Touch(); token[who] = true }
    :: else -> skip
    fi
}

/* WakeForTasks: one for each task without a searcher. With one task, WakeForAny, too. The source wakes up to three and lets these wake the
 * others; here at most two sleep besides the caller. */
inline Wake(count) {
    if
    :: atomic { !(searchers < count && sleepers > 0) -> Touch() }  /* Missing */
    :: atomic {
           searchers < count && sleepers > 0 ->
           missing = (count - searchers < sleepers -> count - searchers : sleepers); Touch()
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

/* One of a set's tasks, any of them. */
#define CanTake(set) (lowest < TASKS && (set & BIT(lowest)))
#define CanPass(set) (lowest < TASKS && (!(set & BIT(lowest)) || (set >> (lowest + 1)) != 0))

/* What visitors submitted goes to the worker's own lane when its notice is seen; a task at a time. */
inline TakeInjected() {
    if
    :: atomic { !shown -> seen = 0 }
    :: atomic { shown -> shown = false }; atomic { seen = injector; injector = 0; Follow() }
    fi;
    if
    :: seen == 0 -> skip
    :: seen != 0 ->
        do
        :: seen != 0 -> atomic {
                do
                :: CanTake(seen) -> seen = seen & ~BIT(lowest); lane[self] = lane[self] | BIT(lowest); Follow(); break
                :: CanPass(seen) -> lowest++
                od;
                lowest = 0;
                moved++
            }
        :: else -> break
        od;
        Wake(moved);
        moved = 0
    fi
}

inline TakeTask(place) {
    atomic {
        do
        :: CanTake(place) -> place = place & ~BIT(lowest); task = lowest; Follow(); break
        :: CanPass(place) -> lowest++
        :: lowest == TASKS -> break
        od;
        lowest = 0
    }
}

/* The last one leaves a deque in steps: between them others may find it empty or not. */
inline TakeOwn() {
    atomic { TakeTask(lane[self]); popping[self] = task != NONE && lane[self] == 0 };
    popping[self] = false
}

inline LookAtOthers() {
    i = 1;
    do
    :: i < WORKERS && task == NONE -> TakeTask(lane[(self + i) % WORKERS]); i++
    :: else -> break
    od;
    i = 0
}

inline AnyWork(result) {
    result = injector != 0;
    do
    :: i < WORKERS && !result ->
        if
        :: atomic { lane[i] != 0 || popping[i] -> result = true }
        :: atomic { lane[i] == 0 -> skip }
        fi;
        i++
    :: else -> break
    od;
    i = 0
}

/* With PendingTasks: finished first, then submitted. */
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
        pending = externalSubmitted;
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
        pending = pending + externalSubmitted;
#endif
        atomic { over = pending == 0; pending = 0; i = 0 }
    :: else -> skip
    fi
}

inline NobodyInside() {
    nobody = true;
    do
    :: i < VISITORS && nobody -> nobody = inside[i] == 0; i++
    :: else -> break
    od;
    i = 0
}

/* EntryGate::Close: `over` is what the question said while nobody was inside. */
inline Close() {
    atomic { !closing -> closing = true; Follow() };
    do
    :: true ->
        do
        :: true ->
            NobodyInside();
            if :: nobody -> break :: else -> skip fi
        od;
        RunIsOver();
#ifdef BUG_CLOSE_WITHOUT_SECOND_LOOK
        break
#else
        if
        :: over ->
            NobodyInside();
            if :: nobody -> break :: else -> skip fi
        :: else -> break
        fi
#endif
    od;
    nobody = false;
    if
    :: over -> atomic { running = false; Follow() }
    :: else -> skip
    fi;
    atomic { closing = false; Follow() }
}

inline WakeAll() {
    do
    :: i < WORKERS ->
        if
        :: atomic { asleep & BIT(i) -> asleep = asleep & ~BIT(i); Follow() };
            atomic { sleepers--; searchers++; Follow() }
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
}
