// The sum of all primes below 64,000, in C. Each of 64 tasks adds up the primes of one range. A
// deferred task prints the sum. The main thread is attached: it runs tasks while it waits.
//
//     samples/run.sh c_api
#include <weft/weft.h>

#include <inttypes.h>
#include <stdio.h>

enum { RANGES = 64, NUMBERS = 1000 };

struct range {
    uint32_t first;
    uint64_t sum;
};

struct work {
    struct range ranges[RANGES];
    uint64_t sum;
    unsigned reports;
};

static bool is_prime(uint32_t number) {
    if (number < 2) return false;
    for (uint32_t divisor = 2; divisor * divisor <= number; ++divisor) {
        if (number % divisor == 0) return false;
    }
    return true;
}

// A task. It gets the scheduler that runs it, and the argument that it was submitted with.
static void sum_range(weft_scheduler *scheduler, void *arg) {
    struct range *range = arg;
    (void)scheduler;
    for (uint32_t number = range->first; number < range->first + NUMBERS; ++number) {
        if (is_prime(number)) range->sum += number;
    }
}

// A task that waits: it submits others and needs their results.
static void sum_all(weft_scheduler *scheduler, void *arg) {
    struct work *work = arg;
    weft_task tasks[RANGES];
    for (uint32_t i = 0; i < RANGES; ++i) {
        work->ranges[i].first = i * NUMBERS;
        work->ranges[i].sum = 0;
        tasks[i].function = sum_range;
        tasks[i].arg = &work->ranges[i];
    }
    weft_add_tasks_and_wait(scheduler, RANGES, tasks, NULL);
    for (uint32_t i = 0; i < RANGES; ++i) work->sum += work->ranges[i].sum;
}

static void print_sum(weft_scheduler *scheduler, void *arg) {
    const struct work *work = arg;
    printf("the primes below %d have the sum %" PRIu64 " (worker %" PRIu32 ")\n", RANGES * NUMBERS,
           work->sum, weft_current_worker(scheduler));
}

static void on_report(const weft_report *report, void *user) {
    struct work *work = user;
    ++work->reports;
    printf("report %s: %s. %s\n", weft_report_name(report->code), report->what, report->hint);
}

int main(void) {
    struct work work = {0};
    if (weft_version() / 1000 != WEFT_VERSION_NUMBER / 1000) return 1;  // another minor version

    weft_options options;
    weft_options_init(&options, sizeof options);
    options.workers = 2;
    options.onReport = on_report;
    options.user = &work;
    weft_scheduler *scheduler = weft_create(&options);
    if (scheduler == NULL) return 1;
    if (weft_start(scheduler) != WEFT_STATUS_OK || weft_attach_thread(scheduler) != WEFT_STATUS_OK)
        return 1;

    weft_task_options low;
    weft_task_options_init(&low, sizeof low);
    low.priority = WEFT_PRIORITY_LOW;
    low.name = "print_sum";

    weft_counter summed = WEFT_COUNTER_INIT, printed = WEFT_COUNTER_INIT;
    weft_add_task(scheduler, sum_all, &work, &summed, NULL);
    weft_add_task_after(scheduler, &summed, 0, print_sum, &work, &printed, &low);
    while (!weft_wait_for_counter_until(scheduler, &printed, 0, weft_now() + 100000000,
                                        WEFT_MEANWHILE_ANY_TASK)) {
        printf("still running\n");
    }

    // A mistake: it is reported, and has no effect.
    weft_decrement_counter(scheduler, &printed, 1);

    weft_detach_thread(scheduler);
    weft_destroy(scheduler);
    return work.sum == 193931124 && work.reports == 1 ? 0 : 1;
}
