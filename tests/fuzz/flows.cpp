// Functions that run in parallel, sequences whose items add more items, and pipelines. Their tasks
// do not wait.
#include "fuzz/script.h"
#include "fuzz/shared.h"
#include "weft/algorithms/parallel_for_each.h"
#include "weft/algorithms/parallel_invoke.h"
#include "weft/algorithms/parallel_pipeline.h"

#include <iterator>
#include <list>
#include <memory>

namespace fuzz {

using namespace weft;

namespace {

constexpr uint32_t kMostItems = 40;

// How the calls of a flow end early: at one of them, by a cancellation or by an exception.
struct Ending {
    Ending(TaskScheduler &scheduler, uint32_t how, uint32_t at)
        : cancels(how % 4 == 1), throws(how % 4 == 2), where(at), source(scheduler) {}
    void At(uint32_t place) {
        if (place != where || (!cancels && !throws)) return;
        reached.store(true);
        if (throws) throw place;
        source.Cancel();
    }
    /// Calls `flow`, and checks that the exception comes out of it.
    template <class Flow>
    void Call(Flow flow) {
        uint32_t caught = ~0u;
        try {
            flow();
        } catch (uint32_t thrown) {
            caught = thrown;
        }
        Require(caught == (throws && reached.load() ? where : ~0u), "the exception of a flow");
    }

    const bool cancels, throws;
    const uint32_t where;
    CancelSource source;
    std::atomic<bool> reached{false};
};

// An iterator that can be read only once.
class Reading {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = uint32_t;
    using difference_type = std::ptrdiff_t;
    using pointer = const uint32_t *;
    using reference = uint32_t;

    explicit Reading(uint32_t at) : m_at(at) {}
    uint32_t operator*() const { return m_at; }
    Reading &operator++() {
        ++m_at;
        return *this;
    }
    bool operator==(const Reading &other) const { return m_at == other.m_at; }
    bool operator!=(const Reading &other) const { return m_at != other.m_at; }

private:
    uint32_t m_at;
};

// An item of a pipeline, which checks that its filters see it in their order.
struct Piece {
    uint32_t number = ~0u, passed = 0;
    void Pass(uint32_t filter) { Require(passed++ == filter, "an item came to another filter"); }
};

// What the filters of one pipeline check.
struct Pipe {
    Pipe(TaskScheduler &scheduler, uint32_t how, uint32_t at, uint32_t most)
        : ending(scheduler, how, at), flying(most) {}
    Ending ending;
    Place flying, reader{1}, orderly{1}, alone{1};
    uint32_t read = 0, next = 0, counted = 0;  // plain: one item at a time
    std::atomic<uint32_t> worked{0};
    uint32_t items = 0;

    bool Read(Piece &piece) {
        reader.Enter();
        flying.Enter();
        const bool more = read < items;
        if (more) piece = {read++, 0};
        if (!more) flying.Leave();
        reader.Leave();
        if (more) ending.At(4 * piece.number);
        return more;
    }
    void Work(Piece &piece, uint32_t filter) {
        piece.Pass(filter);
        worked.fetch_add(1);
        ending.At(4 * piece.number + 1);
    }
    void InOrder(Piece &piece, uint32_t filter) {
        orderly.Enter();
        piece.Pass(filter);
        Require(piece.number == next++, "an item came out of order");
        orderly.Leave();
        ending.At(4 * piece.number + 2);
    }
    void Serial(Piece &piece, uint32_t filter) {
        alone.Enter();
        piece.Pass(filter);
        ++counted;
        alone.Leave();
        ending.At(4 * piece.number + 3);
    }
};

}  // namespace

void Script::InvokeSeveral() {
    const uint32_t how = m_bytes.Next(), which = m_bytes.Below(3);
    const TaskOptions options = Options();
    Cell *cells = m_mayWait ? m_world.NewCells(3) : nullptr;
    if (cells == nullptr) return;
    for (uint32_t i = 0; i < 3; ++i) Accept(cells[i], options);
    Ending ending(m_scheduler, how % 2 * 2, which);  // ends with an exception, or not
    const auto call = [&](uint32_t i, TaskScheduler &scheduler) {
        if (how % 8 >= 4) scheduler.Yield();
        Leaf(&scheduler, &cells[i]);
        ending.At(i);
    };
    ending.Call([&] {
        ParallelInvoke(
            m_scheduler, options, [&](TaskScheduler *scheduler) { call(0, *scheduler); },
            [&] { call(1, m_scheduler); }, [&](TaskScheduler *scheduler) { call(2, *scheduler); });
    });
    const uint32_t ran = CountRun(cells, 3);
    Require(ending.reached.load() ? ran >= 1 : ran == 3, "a function was not called");
}

void Script::VisitEach() {
    const uint32_t kind = m_bytes.Below(3), count = m_bytes.Below(kMostItems + 1),
                   how = m_bytes.Next(), slotCount = how / 4 % 6;
    LoopOptions options;
    options.grain = m_bytes.Below(5);
    options.priority = static_cast<Priority>(how % 3);
    options.name = "fuzz";
    Cell *cells = m_mayWait ? m_world.NewCells(count) : nullptr;
    if (cells == nullptr) return;
    for (uint32_t i = 0; i < count; ++i) Accept(cells[i], {});
    Ending ending(m_scheduler, how, m_bytes.Below(kMostItems));
    if (ending.cancels) options.cancel = ending.source.Token();
    const auto visit = [&](uint32_t i) {
        Require(i < count, "an item that is none");
        Leaf(TaskScheduler::Current(), &cells[i]);
        ending.At(i);
    };
    if (kind == 0) {
        std::list<uint32_t> items;
        for (uint32_t i = 0; i < count; ++i) items.push_back(i);
        ending.Call([&] {
            ParallelForEach(
                m_scheduler, items.begin(), items.end(), [&](uint32_t &i) { visit(i); }, options);
        });
    } else if (kind == 1) {
        ending.Call(
            [&] { ParallelForEach(m_scheduler, Reading(0), Reading(count), visit, options); });
    } else {
        // Items are the nodes of a tree, whose roots are the first ones. The body adds the
        // children. Not an array on the stack: AddressSanitizer sees an access behind its end.
        const std::unique_ptr<FeederSlot<uint32_t>[]> slots(new FeederSlot<uint32_t>[slotCount]);
        const uint32_t roots = std::min(count, 1 + how % 3);
        const auto descend = [&](uint32_t i, Feeder<uint32_t> &feeder, auto &self) -> void {
            visit(i);
            for (uint32_t child = roots + 2 * i; child < roots + 2 * i + 2; ++child) {
                if (child >= count) continue;
                if (!feeder.Add(child)) {
                    self(child, feeder, self);
                } else {
                    Require(slotCount != 0, "an item was added without a slot");
                }
            }
        };
        ending.Call([&] {
            ParallelForEach(
                m_scheduler, Reading(0), Reading(roots), slots.get(), slotCount,
                [&](uint32_t i, Feeder<uint32_t> &feeder) { descend(i, feeder, descend); },
                options);
        });
    }
    const uint32_t ran = CountRun(cells, count);
    Require(ending.reached.load() ? ran >= 1 : ran == count, "an item was not visited");
    Require(ending.source.IsCancelled() == (ending.cancels && ending.reached.load()),
            "the token of a sequence");
}

void Script::PassThrough() {
    const uint32_t kind = m_bytes.Below(4), tokens = 1 + m_bytes.Below(6),
                   items = m_bytes.Below(kMostItems), how = m_bytes.Next();
    if (!m_mayWait) return;
    PipelineOptions options;
    options.priority = static_cast<Priority>(how / 4 % 3);
    options.name = "fuzz";
    Pipe pipe(m_scheduler, how, m_bytes.Next(), tokens);
    pipe.items = items;
    if (pipe.ending.cancels) options.cancel = pipe.ending.source.Token();
    const std::unique_ptr<PipelineSlot<Piece>[]> slots(new PipelineSlot<Piece>[tokens]);
    const auto read = [&](Piece &piece) { return pipe.Read(piece); };
    const auto work = [&](uint32_t filter) {
        return ParallelFilter([&pipe, filter](Piece &piece) { pipe.Work(piece, filter); });
    };
    const auto inOrder = [&](uint32_t filter) {
        return InOrderFilter([&pipe, filter](Piece &piece) { pipe.InOrder(piece, filter); });
    };
    const auto serial = [&](uint32_t filter) {
        return SerialFilter([&pipe, filter](Piece &piece) { pipe.Serial(piece, filter); });
    };
    const auto last = [&](uint32_t filter) {
        return ParallelFilter([&pipe, filter](Piece &piece) {
            piece.Pass(filter);
            pipe.flying.Leave();
        });
    };
    // Some items overtake others.
    const auto pause = ParallelFilter([this, how](const Piece &piece) {
        if ((piece.number + how / 64) % 4 >= 2) return;
        for (uint32_t i = 0; i <= how % 3; ++i) m_scheduler.Yield();
    });
    pipe.ending.Call([&] {
        if (kind == 0) {
            ParallelPipeline(m_scheduler, options, slots.get(), tokens, read, work(0),
                             ParallelFilter(pause.function), inOrder(1), serial(2), last(3));
        } else if (kind == 1) {
            ParallelPipeline(m_scheduler, options, slots.get(), tokens, read, serial(0),
                             ParallelFilter(pause.function), work(1), inOrder(2), last(3));
        } else if (kind == 2) {
            ParallelPipeline(m_scheduler, options, slots.get(), tokens, read, inOrder(0), work(1),
                             ParallelFilter(pause.function), serial(2), last(3));
        } else {
            ParallelPipeline(m_scheduler, options, slots.get(), tokens, read,
                             ParallelFilter(pause.function), serial(0), inOrder(1), work(2),
                             last(3));
        }
    });
    if (pipe.ending.reached.load()) return;
    Require(pipe.read == items && pipe.worked.load() == items && pipe.next == items &&
                pipe.counted == items && pipe.flying.IsEmpty(),
            "an item did not pass all filters");
}

void Script::MistakeInFlows() {
    const uint32_t kind = m_bytes.Below(6), n = m_bytes.Next();
    Oracle &oracle = m_world.oracle;
    const auto call = [] { Finding("a refused call has called a function"); };
    const auto visit = [](uint32_t) { Finding("a refused call has visited an item"); };
    const auto read = [](Piece &) -> bool { Finding("a refused call has read an item"); };
    const auto pass = [](Piece &) { Finding("a refused call has passed an item on"); };
    TaskOptions wrong = Options();
    wrong.priority = static_cast<Priority>(3 + n % 253);
    PipelineSlot<Piece> slots[2];
    PipelineOptions options;
    if (kind == 5) options.priority = static_cast<Priority>(3 + n % 250);
    TaskScheduler &by = kind < 3 ? *m_world.idle : m_scheduler;
    const ReportCode code = kind < 3 ? ReportCode::NotRunning : ReportCode::BadOption;
    oracle.Expect(code, [&] {
        if (kind == 0) ParallelInvoke(by, call, call);
        if (kind == 1) ParallelForEach(by, Reading(0), Reading(1 + n), visit);
        if (kind == 3) ParallelInvoke(by, wrong, call, call, call);
        if (kind != 2 && kind < 4) return;
        PipelineSlot<Piece> *const given = kind == 4 && n % 2 == 0 ? nullptr : slots;
        const uint32_t tokens = kind != 4 || n % 2 == 0 ? 2 : n % 4 == 1 ? 0 : 1u << 31;
        ParallelPipeline(by, options, given, tokens, read, ParallelFilter(pass));
    });
}

}  // namespace fuzz
