// What the calls in the tables of samples/coming_from/ take from around them: see coming_from.sh.
// Nothing here is ever run or linked. (Without a guard, as blocks.h.)

#include "blocks.h"

#include <weft/inspect.h>
#include <weft/trace/recorder.h>

template <class T>
T &Of();  // an object of the game

using T = int;

// A function or function object of the game, which takes and returns what the call wants.
struct Callable {
    template <class... Arguments>
    T operator()(Arguments &&...) const;
};
struct IsMoreLeft {
    bool operator()(T &) const;
};

// `options` are those that the call wants.
struct AnyOptions : weft::SchedulerOptions {
    operator weft::TaskOptions() const;
    operator weft::LoopOptions() const;
};

extern weft::TaskScheduler &scheduler, &s;
extern AnyOptions options;
extern weft::Counter counter, ready, resumed;
extern const weft::Task task, *tasks;
extern const weft::TaskFunction Main, Function, function;
extern void *arg, *user;
extern T data, *begin, *end, item, value;
extern weft::Feeder<T> &feeder;
extern uint32_t n, max, size, rows, columns;
extern size_t first, last;
extern std::chrono::milliseconds time_;  // `time` is in <ctime>
extern std::exception_ptr error;
extern Callable f, g, lambda, visit, body;
extern IsMoreLeft input;
extern weft::PipelineSlot<T> *slots;
weft::internal::PipelineFilter<weft::internal::FilterMode::InOrder, Callable> filters();
extern weft::WorkerLocal<T> local;
extern weft::Result<T> result, out, x, y;
extern weft::WaitGroup wg;
extern weft::Event event, *const events[2];
extern weft::TicketQueue queue;
extern weft::Ticket ticket;
extern weft::QueuedTask place;
extern weft::TaskGroup group;
extern weft::Graph graph, other;
extern weft::GraphNode a, b, c, d;
void write(void *, const char *, size_t);
