/* A counter's memory used again: source/mechanisms/counter_waiting.{h,cpp} (Add, Decrement, Push, NextOwner),
 * source/scheduler/submit.cpp (Submit), wait.cpp, ready.cpp (WakeOwners).
 *
 * Modelled    fiber 0 goes ROUNDS times through: make a counter, or keep the last one; submit TASKS tasks; wait for zero;
 *             destroy it, perhaps, and go on at once at the same address. Fiber 1 waits for zero or one in each round.
 *             WORKERS workers take tasks and count them off (load, then CAS; with fiber 1's target also Sort), and walk
 *             through the list that they get, a record at a time, while the fibers that they made ready already run, and
 *             register their own records again. Names as in the source.
 * Bounds      ROUNDS, TASKS, WORKERS; two fibers. Rounds are counted, so that an ABA shows: the same bits in another round.
 * Asserted    nobody but the tasks of a round, and those who wait in it, touches the word in that round, and nobody while
 *             it is destroyed; fiber 0 goes on when all tasks of the round have ended, not before; each wait ends once.
 * Liveness    ends: fiber 0 comes to the end of the last round.
 * Left out    memory orders, tags, notes (nobody adds while somebody sorts), the switch to another fiber (wait.pml).
 */
#ifndef ROUNDS
#define ROUNDS 3
#endif
#ifndef TASKS
#define TASKS 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif

/* The word: | count | head : 2 | sorting | eager | */
#define WORD(count, head, sorting, eager) ((count) * 16 + (head) * 4 + (sorting) * 2 + (eager))
#define COUNT(w)     ((w) >> 4)
#define HEAD(w)      (((w) >> 2) & 3)
#define SORTING(w)   (((w) >> 1) & 1)
#define EAGER(w)     ((w) & 1)
#define JUNK         WORD(TASKS, 3, 1, 1)
#ifdef BUG_ZERO_WHILE_SORTING
#define SATISFIES(w, target) (COUNT(w) <= (target))
#else
#define SATISFIES(w, target) (COUNT(w) <= (target) && ((target) != 0 || !SORTING(w)))
#endif

byte word = JUNK;
bool alive;
byte round;       /* 1 .. ROUNDS */
byte tasks;       /* submitted and not taken */
byte ended;       /* of this round, before their decrement */
byte next[2], value[2];
bool ready[2];
byte submitted;   /* the last round whose tasks were submitted */
byte past;        /* the last round in which fiber 1 is registered, or need not be */
bool over;

inline Touch(mine) { assert(alive && round == mine) }

/* Wait, on fiber `self`: the word `w`, and `target` are the caller's. */
inline Wait(self, mine) {
    atomic { Touch(mine); w = word };
    do
    :: !done && SATISFIES(w, target) ->
        atomic { done = true; past = (self == 1 -> mine : past) }
    :: !done && !SATISFIES(w, target) ->
        d_step {
            Touch(mine);
            if
            :: word == w ->
                next[self] = HEAD(w);
                value[self] = target;
                word = WORD(COUNT(w), self + 1, SORTING(w), EAGER(w) || target != 0);
                past = (self == 1 -> mine : past);
                waits = true;
                done = true
            :: else -> w = word
            fi
        }
    :: done -> break
    od;
    if
    :: waits -> atomic { ready[self] -> ready[self] = false; waits = false }
    :: else -> skip
    fi;
    atomic { done = false; w = 0 }
}

proctype Owner() {
    byte w, mine, target;
    bool done, waits;

    do
    :: mine < ROUNDS ->
        mine++;
        if
        :: !alive -> atomic { alive = true; word = 0; round = mine; ended = 0 }
        :: alive -> atomic { round = mine; ended = 0 }          /* the same counter goes on */
        fi;
        atomic { Touch(mine); w = word };                       /* Submit: Add, and then publish */
        do
        :: !done -> d_step {
                Touch(mine);
                if
                :: word == w -> assert(!SORTING(w)); word = w + WORD(TASKS, 0, 0, 0); done = true
                :: else -> w = word
                fi
            }
        :: done -> break
        od;
        atomic { done = false; w = 0; tasks = tasks + TASKS; submitted = mine };
        Wait(0, mine);
        assert(ended == TASKS);
        past == mine;                                           /* the user knows that fiber 1 waits, or has waited */
        if
        :: atomic { alive = false; word = JUNK }
        :: skip
        fi
    :: else -> break
    od;
    over = true
}

proctype Companion() {
    byte w, mine, target;
    bool done, waits;

    do
    :: mine < ROUNDS ->
        mine++;
        submitted == mine;                                      /* fiber 0 says so */
        if
        :: target = 0
        :: target = 1
        fi;
        Wait(1, mine)
    :: else -> break
    od
}

inline SortList(start) {
    list = start;
    do
    :: list != 0 ->
        i = list - 1;
        list = next[i];
        if
        :: value[i] >= lowest -> next[i] = woken; woken = i + 1
        :: else -> next[i] = kept; kept = i + 1; keptEager = keptEager || value[i] != 0
        fi
    :: else -> break
    od;
    i = 0
}

proctype Worker() {
    byte w, mine, woken, kept, earlier, lowest, sortedAt, list, i;
    bool keptEager, sorts, done;

end:
    do
    :: atomic { tasks > 0 -> tasks--; mine = round };
        ended++;                                                /* the task itself */
        atomic { Touch(mine); w = word };                       /* Decrement */
        do
        :: !done -> d_step {
                Touch(mine);
                if
                :: word == w ->
                    assert(COUNT(w) >= 1);
                    done = true;
                    if
                    :: !SORTING(w) && (COUNT(w) == 1 || EAGER(w)) ->
#ifdef BUG_LIST_TAKEN_LATER
                        word = w - WORD(1, 0, 0, 0);
                        if
                        :: COUNT(w) == 1 -> list = 1
                        :: else -> skip
                        fi
#else
                        word = WORD(COUNT(w) - 1, 0, COUNT(w) != 1, 0);
                        if
                        :: COUNT(w) == 1 -> woken = HEAD(w)
                        :: else -> sorts = true; lowest = COUNT(w) - 1; sortedAt = lowest; SortList(HEAD(w))
                        fi
#endif
                    :: else -> word = w - WORD(1, 0, 0, 0)
                    fi
                :: else -> w = word
                fi
            }
        :: done -> break
        od;
        done = false;
#ifdef BUG_LIST_TAKEN_LATER
        if
        :: list == 1 -> atomic { Touch(mine); woken = HEAD(word); word = word & ~13; list = 0 }
        :: else -> skip
        fi;
#endif
        if
        :: !sorts -> skip
        :: sorts ->                                             /* Sort */
            atomic { Touch(mine); w = word };
            do
            :: !done -> d_step {
                    Touch(mine);
                    if
                    :: word == w && HEAD(w) != 0 ->
                        word = WORD(COUNT(w), 0, 1, 0);
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
                        kept = 0;
                        done = true
                    :: else -> w = word
                    fi
                }
            :: done -> break
            od;
            atomic { done = false; sorts = false; keptEager = false; lowest = 0; sortedAt = 0 }
        fi;
#ifdef BUG_FINISHER_LOOKS_AGAIN
        Touch(mine);
#endif
        atomic { w = 0; mine = 0 };
        do                                                      /* WakeOwners: NextOwner, MakeReady */
        :: woken != 0 ->
#ifdef BUG_NEXT_AFTER_READY
            atomic { assert(!ready[woken - 1]); ready[woken - 1] = true };
            woken = next[woken - 1]
#else
            atomic { list = woken - 1; woken = next[list] };
            atomic { assert(!ready[list]); ready[list] = true; list = 0 }
#endif
        :: else -> break
        od
    od
}

init {
    byte p;
    atomic {
        for (p : 1 .. WORKERS) { run Worker() };
        run Owner();
        run Companion()
    };
    (_nr_pr == 1 + WORKERS && over) -> assert(tasks == 0)
}

ltl ends { <> over }
