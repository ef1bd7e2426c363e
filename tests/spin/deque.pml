/* The work-stealing deque: source/containers/work_stealing_deque.h. Names are those of the source.
 *
 * Modelled    One owner pushes bursts (Push, Publish), pops (Pop), pops with a predicate that refuses (PopIf), and grows the
 *             ring (Grow). THIEVES thieves steal (Steal) as often as they like. Each load, store and read-modify-write of
 *             m_top, m_bottom, m_ring and a slot is one step. An item has two words (LoadWords), so it can be torn.
 * Bounds      ITEMS items in bursts of at most BURST; rings of 2, 4 and 8 slots. Indices are modulo 16 and begin at FIRST,
 *             so they wrap.
 * Asserted    Each item comes out exactly once and is not torn. The ring has room for what was reserved. At the end all
 *             items are out. Invariant 7: Pop and Steal have no loop, neither here nor in the source.
 * Left out    Memory orders (each step is sequentially consistent) and allocations that fail. A read of what only the owner
 *             writes is merged with the step that follows it.
 * Followed    In runs of the source (deque_trace.cpp): each change of m_top, m_bottom and the capacity of m_ring, and which
 *             thread got each item. The slots are seen only by the items that come out.
 */
#ifndef ITEMS
#define ITEMS 4
#endif
#ifndef BURST
#define BURST 2
#endif
#ifndef THIEVES
#define THIEVES 2
#endif
#ifndef FIRST
#define FIRST 14
#endif

#define CAPACITY(r)       (2 << (r))
#define SLOT(r, i)        (CAPACITY(r) - 2 + ((i) & (CAPACITY(r) - 1)))
#define DISTANCE(from, to) (((to) - (from) + 16) & 15)  /* 8 and more: negative */
#define NEGATIVE(d)       ((d) >= 8)

byte top = FIRST;
byte bottom = FIRST;
byte ring = 0;
byte low[14];   /* the slots of all rings: the first word of an item */
byte high[14];  /* and its second word */
byte taken = 0; /* the items that came out: a bit for each */
#ifdef TRACES
short takers;   /* which thread has each item: two bits for each */
#endif

inline Take(first, second, who) {
    assert(first == second);                 /* not torn */
    assert(first != 0 && first <= ITEMS);
    assert(!(taken & (1 << (first - 1))));   /* not twice */
    taken = taken | (1 << (first - 1));
#ifdef TRACES
    takers = takers | (who << (2 * (first - 1)))
#endif
}

#define OBSERVED (now.takers << 10 | now.ring << 8 | now.bottom << 4 | now.top)
#define OVER     (taken == (1 << ITEMS) - 1)
#include "follow.pml"

proctype Owner() {
    byte next = 1;
    byte seen = FIRST;  /* m_topSeen */
    byte count, begin, at, i, item;
    bool won;

    do
    :: next <= ITEMS ->
        if
        :: count = 1
        :: BURST >= 2 && next + 1 <= ITEMS -> count = 2
        :: BURST >= 3 && next + 2 <= ITEMS -> count = 3
        fi;
reserve:
        if
#ifdef BUG_RESERVE_ONE_SHORT
        :: DISTANCE(seen, bottom) + count <= CAPACITY(ring) + 1 -> skip
#else
        :: DISTANCE(seen, bottom) + count <= CAPACITY(ring) -> skip
#endif
        :: else ->
            seen = top;                                         /* MakeRoom */
            if
            :: DISTANCE(seen, bottom) + count <= CAPACITY(ring) -> skip
            :: else ->                                          /* Grow: copies to a ring that no thief can see yet */
                assert(ring < 2);
                d_step {
                    i = seen;
                    do
#ifdef BUG_GROW_LOSES_ONE
                    :: ((i + 1) & 15) != bottom && i != bottom ->
#else
                    :: i != bottom ->
#endif
                        low[SLOT(ring + 1, i)] = low[SLOT(ring, i)];
                        high[SLOT(ring + 1, i)] = high[SLOT(ring, i)];
                        i = (i + 1) & 15
                    :: else -> break
                    od;
                    i = 0
                };
                d_step { ring = ring + 1; Follow() };
                goto reserve
            fi
        fi;
        i = 0;
        do                                                      /* Stage */
        :: i < count ->
            low[SLOT(ring, bottom + i)] = next + i;
            d_step { high[SLOT(ring, bottom + i)] = next + i; i++ }
        :: else -> break
        od;
        atomic { bottom = (bottom + count) & 15; next = next + count; i = 0; count = 0; Follow() }  /* Publish: an exchange */

    :: true ->                                                  /* PopIf */
        begin = (bottom + 15) & 15;
        at = top;
        if
        :: NEGATIVE(DISTANCE(at, begin)) -> if :: next > ITEMS -> break :: else -> skip fi
        :: else -> item = low[SLOT(ring, begin)];               /* only the owner writes slots */
            if
            :: skip                                             /* the predicate refuses */
            :: at == begin ->                                   /* the only item */
#ifdef BUG_POP_ONLY_WITHOUT_CAS
                d_step { top = (at + 1) & 15; Take(item, high[SLOT(ring, begin)], 1); Follow() }
#else
                d_step {
                    if
                    :: top == at -> top = (at + 1) & 15; Take(item, high[SLOT(ring, begin)], 1); Follow()
                    :: else -> skip
                    fi
                }
#endif
            :: at != begin ->
                d_step { bottom = begin; Follow() };            /* exchange */
#ifndef BUG_POP_READS_TOP_FIRST
                at = top;
#endif
                if
                :: NEGATIVE(DISTANCE(at, begin)) -> d_step { bottom = (begin + 1) & 15; Follow() }
                :: !NEGATIVE(DISTANCE(at, begin)) && at != begin -> d_step { Take(item, high[SLOT(ring, begin)], 1); Follow() }
                :: at == begin ->
#ifdef BUG_POP_WITHOUT_CAS
                    d_step { top = (at + 1) & 15; won = true };
#else
                    d_step {
                        if
                        :: top == at -> top = (at + 1) & 15; won = true; Follow()
                        :: else -> skip
                        fi
                    };
#endif
                    d_step {
                        bottom = (begin + 1) & 15;
                        if
                        :: won -> won = false; Take(item, high[SLOT(ring, begin)], 1)
                        :: else -> skip
                        fi;
                        Follow()
                    }
                fi
            fi;
            d_step { item = 0; at = 0 }
        fi;
        begin = 0
    od
}

proctype Thief(byte self) {
    byte at, end, from, first, second;

    do
    :: break
    :: true ->
#ifdef BUG_STEAL_READS_BOTTOM_FIRST
        end = bottom;
        at = top;
#else
        at = top;
        end = bottom;
#endif
        if
        :: NEGATIVE(DISTANCE(at, end)) || at == end -> skip
        :: else ->
            from = ring;
            first = low[SLOT(from, at)];
            second = high[SLOT(from, at)];
            d_step {
                if
                :: top == at -> top = (at + 1) & 15; Take(first, second, self); Follow()
                :: else -> skip
                fi
            }
        fi;
        d_step { at = 0; end = 0; from = 0; first = 0; second = 0 }
    od
}

init {
    byte thief;
    atomic {
        ChooseTrace();
        run Owner();
        for (thief : 1 .. THIEVES) { run Thief(1 + thief) }
    };
    (_nr_pr == 1) -> assert(taken == (1 << ITEMS) - 1)
}

TheClaim
