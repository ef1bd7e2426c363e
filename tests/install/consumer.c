/* The smallest user of weft in C. tests/install/run.sh builds it with a shared library. */
#include <weft/weft.h>

static void increment(weft_scheduler *scheduler, void *number) {
    (void)scheduler;
    ++*(int *)number;
}

static void run_main(weft_scheduler *scheduler, void *number) {
    const weft_task task = {increment, number};
    weft_add_tasks_and_wait(scheduler, 1, &task, NULL);
}

int main(void) {
    int number = 41;
    weft_scheduler *scheduler = weft_create(NULL);
    if (scheduler == NULL) return 1;
    const weft_status status = weft_run(scheduler, run_main, &number, NULL);
    weft_destroy(scheduler);
    return status == WEFT_STATUS_OK && number == 42 ? 0 : 1;
}
