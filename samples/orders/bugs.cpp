#include "orders/bugs.h"

#include <weft/sync/mutex.h>
#include <weft/time.h>

#include <chrono>
#include <mutex>

using namespace std::chrono_literals;

namespace {

// The result of a task is read before the task has ended. Loading takes a millisecond, and most
// often the level has been parsed by then.
struct Level {
    bool isRight;
    int enemies = 0;
};

void ParseLevel(weft::TaskScheduler *, void *level) { static_cast<Level *>(level)->enemies = 3; }

void LoadLevel(weft::TaskScheduler *scheduler, void *arg) {
    Level &level = *static_cast<Level *>(arg);
    const weft::Task parse{ParseLevel, &level};
    if (level.isRight)
        scheduler->AddChildTasks(1, &parse);
    else
        scheduler->AddTask(parse);  // no counter counts it
    weft::SleepFor(*scheduler, 1ms);
}

bool ReadsEarly(weft::TaskScheduler &scheduler, bool right) {
    Level level{right};
    weft::Counter loaded;
    scheduler.AddTask({LoadLevel, &level}, &loaded);
    scheduler.WaitForCounter(&loaded);
    const bool isRight = level.enemies == 3;
    scheduler.WaitIdle();  // `level` must live until its last task has ended
    return isRight;
}

// Two tasks of a batch rely on their order.
struct Mesh {
    int vertices = 0;
    int box = 0;
};

void FillMesh(weft::TaskScheduler *, void *mesh) { static_cast<Mesh *>(mesh)->vertices = 8; }

void MeasureMesh(weft::TaskScheduler *, void *arg) {
    Mesh &mesh = *static_cast<Mesh *>(arg);
    mesh.box = mesh.vertices;
}

bool BatchInOrder(weft::TaskScheduler &scheduler, bool right) {
    Mesh mesh;
    const weft::Task tasks[] = {{FillMesh, &mesh}, {MeasureMesh, &mesh}};
    if (right) {
        scheduler.AddTasksAndWait(1, &tasks[0]);
        scheduler.AddTasksAndWait(1, &tasks[1]);
    } else {
        scheduler.AddTasksAndWait(2, tasks);
    }
    return mesh.box == 8;
}

// A value is read before a wait, and written after it. Meanwhile another task changes it.
struct Purse {
    bool isRight;
    int gold = 0;
};

void FindPrice(weft::TaskScheduler *, void *price) { *static_cast<int *>(price) = 5; }

void Sell(weft::TaskScheduler *scheduler, void *arg) {
    Purse &purse = *static_cast<Purse *>(arg);
    const int gold = purse.gold;
    int price = 0;
    const weft::Task find{FindPrice, &price};
    scheduler->AddTasksAndWait(1, &find);
    purse.gold = (purse.isRight ? purse.gold : gold) + price;
}

bool LosesUpdate(weft::TaskScheduler &scheduler, bool right) {
    Purse purse{right};
    const weft::Task tasks[] = {{Sell, &purse}, {Sell, &purse}, {Sell, &purse}};
    scheduler.AddTasksAndWait(3, tasks);
    return purse.gold == 15;
}

// Two tasks lock two mutexes in different orders: a deadlock.
struct Trade {
    weft::Mutex *first, *second;
    int *items;
};

void MoveItem(weft::TaskScheduler *, void *arg) {
    Trade &trade = *static_cast<Trade *>(arg);
    const std::lock_guard<weft::Mutex> one(*trade.first);
    const std::lock_guard<weft::Mutex> other(*trade.second);
    ++*trade.items;
}

bool LocksInTwoOrders(weft::TaskScheduler &scheduler, bool right) {
    weft::Mutex chest(scheduler), bag(scheduler);
    int items = 0;
    Trade trades[] = {{&chest, &bag, &items}, {&bag, &chest, &items}};
    if (right) trades[1] = trades[0];
    const weft::Task tasks[] = {{MoveItem, &trades[0]}, {MoveItem, &trades[1]}};
    scheduler.AddTasksAndWait(2, tasks);
    return items == 2;
}

// A wait with a deadline is assumed to succeed, although the deadline has passed.
void FindPath(weft::TaskScheduler *, void *length) { *static_cast<int *>(length) = 12; }

bool IgnoresTimeout(weft::TaskScheduler &scheduler, bool right) {
    int length = 0;
    weft::Counter searching;
    scheduler.AddTask({FindPath, &length}, &searching);
    const bool isFound = weft::WaitForCounterFor(scheduler, &searching, 2ms);
    const bool isRight = length == 12 || (right && !isFound);
    scheduler.WaitForCounter(&searching);
    return isRight;
}

// A High task is assumed to end before a Normal one begins.
struct Texture {
    bool isOpen = false;
    bool isDrawn = false;
};

void OpenTexture(weft::TaskScheduler *, void *texture) {
    static_cast<Texture *>(texture)->isOpen = true;
}

void DrawTexture(weft::TaskScheduler *, void *arg) {
    Texture &texture = *static_cast<Texture *>(arg);
    texture.isDrawn = texture.isOpen;
}

bool PriorityAsOrder(weft::TaskScheduler &scheduler, bool right) {
    Texture texture;
    weft::Counter opened, drawn;
    scheduler.AddTask({OpenTexture, &texture}, &opened, {weft::Priority::High});
    if (right) scheduler.WaitForCounter(&opened);
    scheduler.AddTask({DrawTexture, &texture}, &drawn);
    scheduler.WaitForCounter(&drawn);
    scheduler.WaitForCounter(&opened);
    return texture.isDrawn;
}

}  // namespace

const OrderBug kOrderBugs[] = {
    {"early_read", "a result is read before its task has ended", ReadsEarly},
    {"batch_order", "two tasks of a batch rely on their order", BatchInOrder},
    {"lost_update", "a value is read before a wait and written after it", LosesUpdate},
    {"lock_order", "two tasks lock two mutexes in different orders", LocksInTwoOrders},
    {"ignored_timeout", "a wait with a deadline is assumed to succeed", IgnoresTimeout},
    {"priority_order", "a High task is assumed to end before a Normal one", PriorityAsOrder},
};
const size_t kOrderBugCount = sizeof kOrderBugs / sizeof *kOrderBugs;
