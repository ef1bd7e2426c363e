/* Using the memory of a counter again. Names are those of the source: core/counter_waiting.{h,cpp} (Add, Decrement, Push,
 * NextOwner), and in scheduler/: submit/submit.cpp (Submit), submit/notify.cpp (WakeOwners), wait/wait.cpp.
 *
 * Modelled    Fiber 0 does the following ROUNDS times: it makes a counter or keeps the last one, submits TASKS tasks, waits
 *             for zero, perhaps destroys the counter, and continues at once at the same address. Fiber 1 waits for zero or one
 *             in each round. WORKERS workers take tasks, one or several at a time, and decrement the counter by all of them
 *             (a load, then a CAS, and Sort because of fiber 1's target). Then they go through the list of notified records,
 *             one at a time, while the fibers that they have made ready already run and register their records again.
 * Bounds      ROUNDS, TASKS, WORKERS; two fibers. The model counts the rounds, so it finds an ABA problem: the same bits in
 *             another round.
 * Asserted    Only the tasks of a round, and the fibers that wait in it, access the word in this round. No process accesses
 *             it while it is destroyed. Fiber 0 continues only when all tasks of the round have ended. Each wait ends once.
 * Liveness    ends: fiber 0 reaches the end of the last round.
 * Left out    Memory orders, tags, notes (no process adds during a sort), the switch to another fiber (wait.pml).
 * Followed    In runs of the whole scheduler until all is quiet (reuse_trace.cpp): each change of the word, of the round, of
 *             the number of its finished tasks, and of the number of waits of each fiber. Also that no thread accesses the
 *             word while it is destroyed, not even to read it. In these runs each decrement is for one task. Larger ones
 *             occur only if a round has more than 16 tasks (slices), or in AddTasksAndWait with its own counter.
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
byte ended;       /* finished tasks of this round, before their decrement */
byte next[2], value[2];
bool ready[2];
byte submitted;   /* the last round whose tasks were submitted */
byte past;        /* the last round in which fiber 1 has registered, or does not have to */
byte went[2];     /* number of waits that have ended */
bool over;

#ifdef TRACES
#define OBSERVED (now.round | now.ended << 2 | now.went[0] << 4 | now.went[1] << 6 | now.word << 8)
#define OVER     (over && went[1] == ROUNDS && tasks == 0 && Worker[1]@end && Worker[2]@end && Worker[WORKERS]@end)
#endif
#include "follow.pml"

inline Touch(mine) { assert(alive && round == mine) }

/* Wait, on fiber `self`. The word `w` and `target` belong to the process that takes the step. */
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
                done = true;
                Follow()
            :: else -> w = word
            fi
        }
    :: done -> break
    od;
    if
    :: waits -> atomic { ready[self] -> ready[self] = false; waits = false }
    :: else -> skip
    fi;
    atomic { done = false; w = 0; went[self]++; Follow() }
}

proctype Owner() {
    byte w, mine, target;
    bool done, waits;

    do
    :: mine < ROUNDS ->
        mine++;
        if
        :: !alive -> atomic { alive = true; word = 0; round = mine; ended = 0; Follow() }
        :: alive -> atomic { round = mine; ended = 0; Follow() } /* uses the same counter again */
        fi;
        atomic { Touch(mine); w = word };                       /* Submit: Add, and then publish */
        do
        :: !done -> d_step {
                Touch(mine);
                if
                :: word == w -> assert(!SORTING(w)); word = w + WORD(TASKS, 0, 0, 0); done = true; Follow()
                :: else -> w = word
                fi
            }
        :: done -> break
        od;
        atomic { done = false; w = 0; tasks = tasks + TASKS; submitted = mine };
        Wait(0, mine);
        assert(ended == TASKS);
        past == mine;                                           /* the user knows that fiber 1 has registered, or has waited */
        if
        :: atomic { alive = false; word = JUNK; Follow() }
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
        submitted == mine;                                      /* fiber 0 has submitted the tasks */
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
    byte w, mine, ran, woken, kept, earlier, lowest, sortedAt, list, i;
    bool keptEager, sorts, done;

end:
    do
    :: atomic { tasks > 0 -> tasks--; mine = round };
        atomic { ended++; ran = 1; Follow() };                  /* the task itself */
        do                                                      /* and others of the same claim */
        :: atomic { tasks > 0 -> tasks-- }; atomic { ended++; ran++; Follow() }
        :: break
        od;
        atomic { Touch(mine); w = word };                       /* Decrement */
        do
        :: !done -> d_step {
                Touch(mine);
                if
                :: word == w ->
                    assert(COUNT(w) >= ran);
                    done = true;
                    if
                    :: !SORTING(w) && (COUNT(w) == ran || EAGER(w)) ->
#ifdef BUG_LIST_TAKEN_LATER
                        word = w - WORD(ran, 0, 0, 0);
                        if
                        :: COUNT(w) == ran -> list = 1
                        :: else -> skip
                        fi
#else
                        word = WORD(COUNT(w) - ran, 0, COUNT(w) != ran, 0);
                        if
                        :: COUNT(w) == ran -> woken = HEAD(w)
                        :: else -> sorts = true; lowest = COUNT(w) - ran; sortedAt = lowest; SortList(HEAD(w))
                        fi
#endif
                    :: else -> word = w - WORD(ran, 0, 0, 0)
                    fi;
                    Follow()
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
        fi;
#ifdef BUG_FINISHER_LOOKS_AGAIN
        Touch(mine);
#endif
        atomic { w = 0; mine = 0; ran = 0 };
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
        ChooseTrace();
        for (p : 1 .. WORKERS) { run Worker() };
        run Owner();
        run Companion()
    };
    (_nr_pr == 1 + WORKERS && over) -> assert(tasks == 0)
}

TheClaim

#ifndef TRACES
ltl ends { <> over }
#endif
