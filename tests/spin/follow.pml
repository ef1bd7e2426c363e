/* Conformance, with -DTRACES=n (tests/spin.sh, rows `follow`): for each of n traces of the real code, is there a run of the
 * model in which the same is observed? A model says what that is (OBSERVED, a C expression over its state), calls Follow()
 * within each step that changes it, says when it has come to what was the end of the real run (OVER), and ends with
 * TheClaim. The verifier searches for such a run of each trace, and prints which have none, and how many values of them
 * have one. Without TRACES nothing of this is there.
 */
#ifdef TRACES
c_decl {
\#include <stdio.h>
\#include <stdlib.h>
\#include "traces.h"
static char accepted[TRACE_COUNT];
static int furthest[TRACE_COUNT];
static void Report(void) {
    int i, count = 0;
    for (i = 0; i < TRACE_COUNT; i++) count += accepted[i];
    printf("traces: %d accepted, %d refused\n", count, TRACE_COUNT - count);
    for (i = 0; i < TRACE_COUNT; i++)
        if (!accepted[i]) printf("refused: %d, after %d of %d values\n", i, furthest[i], lengths[i]);
}
};
short observed, which;  /* so many values of this trace have been observed; -1: another one than in the trace */
inline Follow() {
    c_code {
        if (now.observed > 0 && traces[now.which][now.observed - 1] == (OBSERVED)) {
        } else if (now.observed >= 0 && now.observed < lengths[now.which] && traces[now.which][now.observed] == (OBSERVED)) {
            now.observed++;
            if (furthest[now.which] < now.observed) furthest[now.which] = now.observed;
        } else {
            now.observed = -1;
        }
    }
}
inline ChooseTrace() {
    c_code { if (TRACES != TRACE_COUNT) abort(); atexit(Report); };
    select (which : 0 .. TRACES - 1);
    Follow()
}
#define IN_TRACE c_expr { (now.observed > -1 && !accepted[now.which]) }
#define AT_END   c_expr { (now.observed == lengths[now.which]) }
#define TheClaim never { \
    do \
    :: IN_TRACE && !(AT_END && (OVER)) \
    :: IN_TRACE && AT_END && (OVER) -> c_code { accepted[now.which] = 1; }  /* and no further */ \
    od \
}
#else
#define Follow() skip
#define ChooseTrace() skip
#define TheClaim
#endif
