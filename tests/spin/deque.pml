/* The work-stealing deque: source/containers/work_stealing_deque.h.
 *
 * Modelled    one owner (Push and Publish of bursts, Pop, a PopIf that refuses, Grow) and THIEVES thieves (Steal), who
 *             make as many attempts as they like. Each load, store and read-modify-write of m_top, m_bottom, m_ring and of
 *             a slot is one step; an item is two words (LoadWords), so that it can be torn. Names as in the source.
 * Bounds      ITEMS items in bursts of at most BURST; rings of 2, 4 and 8 slots; indices modulo 16, beginning at FIRST,
 *             so that they wrap.
 * Asserted    each item comes out exactly once and whole; the ring has room for what is reserved; all items are out in the
 *             end. Invariant 7: pop and steal have no loop here, as they have none there.
 * Left out    memory orders (each step is sequentially consistent), failing allocation. Reads of what only the owner
 *             writes are merged with the step that follows them.
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
byte low[14];   /* the slots of all rings; an item's first word */
byte high[14];  /* and its second */
byte taken = 0; /* items that came out, one bit each */

inline Take(first, second) {
    assert(first == second);                 /* not torn */
    assert(first != 0 && first <= ITEMS);
    assert(!(taken & (1 << (first - 1))));   /* not twice */
    taken = taken | (1 << (first - 1))
}

proctype Owner() {
    byte next = 1;
    byte seen = FIRST;  /* m_topSeen */
    byte count, begin, at, i, item;

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
            :: else ->                                          /* Grow: copies into a ring that nobody sees yet */
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
                ring = ring + 1;
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
        atomic { bottom = (bottom + count) & 15; next = next + count; i = 0; count = 0 }  /* Publish: an exchange */

    :: true ->                                                  /* PopIf */
        begin = (bottom + 15) & 15;
#ifdef BUG_POP_READS_TOP_FIRST
        at = top;
#endif
        if
        :: NEGATIVE(DISTANCE(top, begin)) -> if :: next > ITEMS -> break :: else -> skip fi
        :: else -> item = low[SLOT(ring, begin)];               /* the owner's own */
            if
            :: skip                                             /* the predicate refuses */
            :: bottom = begin;                                  /* exchange */
#ifndef BUG_POP_READS_TOP_FIRST
                at = top;
#endif
                if
                :: NEGATIVE(DISTANCE(at, begin)) -> bottom = (begin + 1) & 15
                :: !NEGATIVE(DISTANCE(at, begin)) && at != begin -> d_step { Take(item, high[SLOT(ring, begin)]) }
                :: at == begin ->
                    d_step {
#ifdef BUG_POP_WITHOUT_CAS
                        Take(item, high[SLOT(ring, begin)]);
                        top = (at + 1) & 15
#else
                        if
                        :: top == at -> top = (at + 1) & 15; Take(item, high[SLOT(ring, begin)])
                        :: else -> skip
                        fi
#endif
                    };
                    bottom = (begin + 1) & 15
                fi
            fi;
            d_step { item = 0; at = 0 }
        fi;
        begin = 0
    od
}

proctype Thief() {
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
                :: top == at -> top = (at + 1) & 15; Take(first, second)
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
        run Owner();
        for (thief : 1 .. THIEVES) { run Thief() }
    };
    (_nr_pr == 1) -> assert(taken == (1 << ITEMS) - 1)
}
