// A small bank that tasks and two external threads use at once. A task that waits frees its worker.
//
//     accounts                             SharedMutex
//     a bounded queue of orders            Mutex, ConditionVariable
//     at most two open counters            Semaphore
//     a ledger in the order of tickets     TicketQueue
//     the opening of the bank              Event
//     the end of all work                  WaitGroup
//
//     samples/run.sh sync
#include <weft/external_work.h>
#include <weft/sync/condition_variable.h>
#include <weft/sync/event.h>
#include <weft/sync/mutex.h>
#include <weft/sync/semaphore.h>
#include <weft/sync/shared_mutex.h>
#include <weft/sync/ticket_queue.h>
#include <weft/sync/wait_group.h>
#include <weft/task_scheduler.h>

#include <cstdio>
#include <deque>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

constexpr uint32_t kAccounts = 8, kOrders = 400, kAudits = 50, kQueueLength = 4;
constexpr int kStart = 1000;

struct Order {
    uint32_t from, to;
    int amount;
    weft::Ticket ticket;  // its line in the ledger
};

struct Bank {
    explicit Bank(weft::TaskScheduler &scheduler)
        : opens(scheduler),
          counters(scheduler, 2),
          accountsMutex(scheduler),
          queueMutex(scheduler),
          notFull(scheduler),
          notEmpty(scheduler),
          ledgerOrder(scheduler),
          allDone(scheduler, kOrders + 1) {}

    void Put(const Order &order) {
        std::unique_lock<weft::Mutex> lock(queueMutex);
        notFull.wait(lock, [this] { return queue.size() < kQueueLength; });
        queue.push_back(order);
        lock.unlock();
        notEmpty.notify_one();
    }
    Order Take() {
        std::unique_lock<weft::Mutex> lock(queueMutex);
        notEmpty.wait(lock, [this] { return !queue.empty(); });
        const Order order = queue.front();
        queue.pop_front();
        lock.unlock();
        notFull.notify_one();
        return order;
    }
    void Carry(const Order &order) {
        const std::lock_guard<weft::SharedMutex> lock(accountsMutex);
        accounts[order.from] -= order.amount;
        accounts[order.to] += order.amount;
    }
    int Total() {
        const std::shared_lock<weft::SharedMutex> lock(accountsMutex);
        return std::accumulate(accounts.begin(), accounts.end(), 0);
    }

    weft::Event opens;
    weft::Semaphore counters;
    weft::SharedMutex accountsMutex;
    std::vector<int> accounts = std::vector<int>(kAccounts, kStart);
    weft::Mutex queueMutex;
    weft::ConditionVariable notFull, notEmpty;
    std::deque<Order> queue;
    weft::TicketQueue ledgerOrder;
    std::vector<int> ledger;  // the amounts, in the order of the tickets
    weft::WaitGroup allDone;
};

// There is one task for each order. It takes any order.
void Clerk(weft::TaskScheduler *, void *arg) {
    Bank &bank = *static_cast<Bank *>(arg);
    bank.opens.Wait();
    bank.counters.acquire();
    const Order order = bank.Take();
    bank.Carry(order);
    bank.counters.release();
    order.ticket.Wait();
    bank.ledger.push_back(order.amount);
    order.ticket.Done();
    bank.allDone.Done();
}

// An external thread that puts orders into the queue. It blocks while the queue is full.
void Post(Bank *bank) {
    for (uint32_t i = 0; i < kOrders; ++i) {
        bank->Put({i % kAccounts, (i * 3 + 1) % kAccounts, static_cast<int>(i % 7 + 1),
                   bank->ledgerOrder.Take()});
    }
}

// Another external thread. It checks that no money was lost or made.
void Audit(Bank *bank, uint32_t *wrong) {
    bank->opens.Wait();
    for (uint32_t i = 0; i < kAudits; ++i) {
        if (bank->Total() != kStart * static_cast<int>(kAccounts)) ++*wrong;
    }
    bank->allDone.Done();
}

}  // namespace

int main() {
    weft::SchedulerOptions options;
    options.fibers = kOrders + 8;  // a waiting clerk holds a fiber
    weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok) return 1;

    uint32_t wrong = 0;
    bool inOrder = true;
    {
        Bank bank(scheduler);
        // all tasks may wait for external threads: prevents a report
        const weft::ExternalWork outside(scheduler);
        const std::vector<weft::Task> clerks(kOrders, {Clerk, &bank});
        weft::Counter ended;
        scheduler.AddTasks(kOrders, clerks.data(), &ended);
        std::thread post(Post, &bank), audit(Audit, &bank, &wrong);
        bank.opens.Set();
        bank.allDone.Wait();
        post.join();
        audit.join();
        scheduler.WaitForCounter(&ended);
        if (bank.Total() != kStart * static_cast<int>(kAccounts)) ++wrong;
        for (uint32_t i = 0; i < kOrders; ++i)
            inOrder = inOrder && bank.ledger[i] == static_cast<int>(i % 7 + 1);
    }
    scheduler.Stop();

    const bool right = wrong == 0 && inOrder;
    std::printf("%u orders, %u audits, %u wrong; the ledger is %s: %s\n", kOrders, kAudits, wrong,
                inOrder ? "in order" : "OUT OF ORDER", right ? "right" : "WRONG");
    return right ? 0 : 1;
}
