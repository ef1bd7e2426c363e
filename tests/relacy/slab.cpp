// TaskSlab: the tasks of a batch are copied to a slab. The worker that runs a task must see the
// copy, and the memory may be overwritten only after that.
#include "relacy/suite.h"

#include "containers/task_slab.h"

namespace relacy {

namespace {

struct Slabs : Suite<Slabs, 3> {
    static constexpr uint32_t kTasks = 3;
    TaskSlab slabs[3];  // of the owner and two thieves
    Task *first = nullptr;
    Data tasks[8];  // by their index in the first block
    env::Atomic<uint32_t> offered[kTasks];

    void before() {
        for (TaskSlab &slab : slabs) Check(slab.Acquire(), "no memory");
        first = slabs[0].Take(1);
        slabs[0].GiveBack(first, 1);
    }
    void thread(unsigned index) {
        if (index == 0) {
            for (uint32_t i = 0; i < kTasks; ++i) {
                Task *task = slabs[0].Take(1);
                const auto place = static_cast<uint32_t>(task - first);
                Check(place < 8, "a task was not reused");
                tasks[place].Write(static_cast<int>(i));
                offered[i].store(place + 1, kRelease);
            }
        } else {
            for (uint32_t i = 0; i < kTasks; ++i) {
                // One of the two thieves runs each task.
                const uint32_t place = offered[i].exchange(0, kAcquire);
                if (place == 0) continue;
                Check(tasks[place - 1].Read() == static_cast<int>(i),
                      "a task has the data of another one");
                slabs[index].GiveBack(first + place - 1, 1);
                slabs[index].FlushOthers();
            }
        }
    }
    void after() {
        for (TaskSlab &slab : slabs) slab.Release();
    }
};

}  // namespace

}  // namespace relacy

int main(int argc, char **argv) {
    using namespace relacy;
    Runner runner(argc, argv);
    runner.Run<Slabs>("slabs", 100000);
    return runner.Report();
}
