/* The steps of shutdown.pml (the end of a run). Names are those of the source. `self`, and the variables for results, belong to
 * the process that takes the step. */
#line 10004  /* Spin reports these lines as lines of the model. The number lets tests/spin.sh tell them apart. */

inline Touch() { assert(!released) }

/* TakeSleeper: ClearAny in one word, then the state, then the parker. */
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
            :: else -> seen = asleep & ~(BIT(lowest + 1) - 1)   /* another process took this bit */
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

/* WakeForTasks: wakes a worker for each task without a searcher. For one task also WakeForAny. In the source a call wakes up
 * to three workers, which wake further ones. Here at most two workers sleep besides the caller. */
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

/* WakeForMore: looks at the worker's own lane and the one where it last found something, which may be either. */
inline WakeForMore() {
    if
    :: atomic { lane[self] != 0 || lane[(self + 1) % WORKERS] != 0 -> skip }; Wake(1)
    :: skip
    fi
}

/* Any task of a set. */
#define CanTake(set) (lowest < TASKS && (set & BIT(lowest)))
#define CanPass(set) (lowest < TASKS && (!(set & BIT(lowest)) || (set >> (lowest + 1)) != 0))

/* TakeInjected: if the notice is visible, moves the visitors' tasks to the worker's own lane, one task at a time. */
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

/* The last item leaves a deque in several steps. Between them other workers may find the deque empty or not. */
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

/* RunIsOver with PendingTasks, which adds finished tasks first, then submitted ones. */
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

/* EntryGate::Close. `over` is the result of RunIsOver while no thread was inside. */
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
