/* Conformance of a model with the code, with -DTRACES=n (rows `follow` of tests/spin.sh). For each of n traces of the real
 * code, Spin searches for a run of the model in which the same values are observed. The model defines the observed value
 * (OBSERVED, a C expression over its state) and the end of a real run (OVER). It calls Follow() in each step that changes
 * the observed value, and it ends with TheClaim. The verifier prints the traces for which it found no run, and how many of
 * their values the model could follow. Without TRACES this file defines nothing.
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
short observed, which;  /* how many values of this trace were observed; -1: a value that is not in it */
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
    :: IN_TRACE && AT_END && (OVER) -> c_code { accepted[now.which] = 1; }  /* the search ends here */ \
    od \
}
#else
#define Follow() skip
#define ChooseTrace() skip
#define TheClaim
#endif
