// The smallest user of weft. tests/install/run.sh builds it in each way in which weft can be used.
#include <weft/task_scheduler.h>

void Increment(weft::TaskScheduler *, void *number) { ++*static_cast<int *>(number); }

void Main(weft::TaskScheduler *scheduler, void *number) {
    const weft::Task task{Increment, number};
    scheduler->AddTasksAndWait(1, &task);
}

int main() {
    int number = 41;
    return weft::TaskScheduler().Run(Main, &number) == weft::Status::Ok && number == 42 ? 0 : 1;
}
