// Results: values that are set once, and tasks that begin when values are known.
#include "weft/data/result.h"

#include "fuzz/script.h"

namespace fuzz {

using namespace weft;

namespace {

constexpr uint32_t kInputs = 3;

// A value that counts how many of its kind exist.
struct Tracked {
    Tracked(std::atomic<int32_t> &alive, uint32_t number) : count(alive), value(number) {
        if (number % 8 == 7) throw number;
        count.fetch_add(1);
    }
    Tracked(const Tracked &) = delete;
    Tracked &operator=(const Tracked &) = delete;
    ~Tracked() { count.fetch_sub(1); }
    std::atomic<int32_t> &count;
    const uint32_t value;
};

struct Racing {
    Result<Tracked> result;
    std::atomic<int32_t> alive{0};
    std::atomic<uint32_t> number{0}, winners{0}, winner{0};

    static void Set(TaskScheduler *scheduler, void *cell) {
        Racing &self = *static_cast<Racing *>(static_cast<Cell *>(cell)->target);
        const uint32_t own = self.number.fetch_add(1);
        Leaf(scheduler, cell);
        if (!self.result.TrySet(*scheduler, self.alive, own)) return;
        self.winners.fetch_add(1);
        self.winner.store(own);
    }
};

struct Single {
    Result<uint32_t> *result;
    uint32_t value;

    static void Set(TaskScheduler *scheduler, void *cell) {
        const Single self = *static_cast<Single *>(static_cast<Cell *>(cell)->target);
        Leaf(scheduler, cell);
        // Afterwards the result may be gone.
        if (self.value % 4 == 3) {
            self.result->SetException(*scheduler, std::make_exception_ptr(self.value));
        } else {
            self.result->Set(*scheduler, self.value);
        }
    }
};

// Returns what Get returns or throws, and whether it has thrown.
template <class Get>
std::pair<uint32_t, bool> Outcome(Get get) {
    try {
        return {get(), false};
    } catch (uint32_t thrown) {
        return {thrown, true};
    }
}

}  // namespace

void Script::UseResult() {
    const uint32_t kind = m_bytes.Below(3), n = m_bytes.Next(), count = 1 + m_bytes.Below(8);
    if (!m_mayWait) return;
    if (kind == 0) {
        Single single{nullptr, n};
        Result<uint32_t> result;
        single.result = &result;
        if (AddHelpers(1, Single::Set, &single, SomeCounter()) == nullptr) return;
        // Not until it succeeds: the thread might not run the helper meanwhile.
        const Meanwhile meanwhile = static_cast<Meanwhile>(count % 5);
        for (uint32_t i = 0; i < count / 3; ++i) result.WaitFor(m_scheduler, Short(), meanwhile);
        const auto [value, threw] = Outcome([&] { return result.Get(m_scheduler); });
        Require(value == n && threw == (n % 4 == 3), "the value of a result");
        Require((result.Error() != nullptr) == threw && result.IsReady(), "the error of a result");
        return;
    }
    Racing racing;
    Counter setting;
    for (uint32_t round = 0; round < kind; ++round) {
        racing.number.store(n);
        racing.winners.store(0);
        if (AddHelpers(count, Racing::Set, &racing, &setting) == nullptr) return;
        const auto [value, threw] =
            Outcome([&] { return racing.result.Get(m_scheduler, Meanwhile::AnyTask).value; });
        m_scheduler.WaitForCounter(&setting);
        Require(racing.winners.load() == 1 && value == racing.winner.load(),
                "not exactly one of several has set a result");
        Require(threw == (value % 8 == 7), "the exception of a constructor");
        Require(racing.alive.load() == (threw ? 0 : 1), "how many values a result has");
        racing.result.Reset();
        Require(racing.alive.load() == 0 && !racing.result.IsReady(), "a result that was reset");
    }
}

// Three results that tasks or the script set, and what depends on them.
void Script::UseWhen() {
    const uint32_t first = m_bytes.Below(kInputs), failing = m_bytes.Next(), n = m_bytes.Next();
    const bool isSetHere = m_bytes.Below(2) != 0;
    const TaskOptions options = Options();
    Cell *cells = m_mayWait ? m_world.NewCells(2) : nullptr;
    if (cells == nullptr) return;
    Accept(cells[0], options);
    Accept(cells[1], options);
    Result<uint32_t> in[kInputs], sum, next;
    Result<> all, done;
    Result<uint32_t> winner;
    Counter tasks;
    // A value that Single::Set makes an exception of has the remainder 3.
    uint32_t values[kInputs], failed = kInputs;
    for (uint32_t i = kInputs; i-- > 0;) {
        const bool fails = (failing >> i & 1) != 0;
        values[i] = (n + i) * 4 + (fails ? 3 : i);
        if (fails) failed = i;
    }
    const bool sumFails = failed == kInputs && (failing & 8) != 0;
    const auto add = [cell = &cells[0], sumFails](TaskScheduler *running, uint32_t &a, uint32_t &b,
                                                  uint32_t &c) {
        Leaf(running, cell);
        if (sumFails) throw a;
        return a + b * 3 + c * 5;
    };
    const auto twice = [cell = &cells[1]](TaskScheduler *running, uint32_t &value) {
        Leaf(running, cell);
        return value * 2;
    };
    bool accepted = AddTaskWhen(m_scheduler, options, add, sum, in[0], in[1], in[2]);
    accepted = Then(m_scheduler, sum, twice, next, options) && accepted;
    accepted = WhenAll(m_scheduler, all, in[0], in[1], in[2]) && accepted;
    accepted = WhenAny(m_scheduler, winner, tasks, in[0], in[1], in[2]) && accepted;
    accepted = AddTaskWhen(
                   m_scheduler, [](uint32_t &) {}, done, all, next) &&
               accepted;
    Require(accepted, "a task that waits for results was refused");
    Require(!sum.IsReady() && !all.IsReady() && !winner.IsReady() && tasks.Value() == kInputs,
            "what depends on results is known too early");
    const auto set = [&](uint32_t i) {
        if (values[i] % 4 == 3) {
            in[i].SetException(m_scheduler, std::make_exception_ptr(values[i]));
        } else {
            in[i].Set(m_scheduler, values[i]);
        }
    };
    Single singles[kInputs];
    Counter setting;
    if (isSetHere) {
        set(first);
        Require(winner.Get(m_scheduler) == first, "WhenAny does not name the first result");
        Require(!all.IsReady() && !sum.IsReady() && cells[0].ran.load() == 0,
                "what depends on results is known too early");
        for (uint32_t i = 0; i < kInputs; ++i)
            if (i != first) set(i);
    } else {
        for (uint32_t i = 0; i < kInputs; ++i) {
            singles[i] = {&in[i], values[i]};
            if (AddHelpers(1, Single::Set, &singles[i], &setting) == nullptr) set(i);
        }
    }
    const uint32_t named = winner.Get(m_scheduler);
    Require(named < kInputs && in[named].IsReady(), "WhenAny names a result that is not known");
    const bool fails = failed != kInputs || sumFails;
    const uint32_t error = failed != kInputs ? values[failed] : values[0],
                   value = values[0] + values[1] * 3 + values[2] * 5;
    Require(Outcome([&] { return sum.Get(m_scheduler); }) ==
                std::pair<uint32_t, bool>(fails ? error : value, fails),
            "the value of a task that waits for results");
    Require(Outcome([&] { return next.Get(m_scheduler); }) ==
                std::pair<uint32_t, bool>(fails ? error : value * 2, fails),
            "the value of what follows");
    const auto wait = [&](Result<> &result) {
        return Outcome([&] {
            result.Get(m_scheduler);
            return 0u;
        });
    };
    const bool hasFailed = failed != kInputs;
    Require(wait(all) == std::pair<uint32_t, bool>(hasFailed ? error : 0, hasFailed),
            "the exception of WhenAll");
    Require(wait(done) == std::pair<uint32_t, bool>(fails ? error : 0, fails),
            "the exception of what follows several");
    m_scheduler.WaitForCounter(&tasks);
    m_scheduler.WaitForCounter(&setting);
    cells[0].accepted = !hasFailed;
    cells[1].accepted = !fails;
    for (uint32_t i = 0; i < kInputs; ++i)
        Require(Outcome([&] { return in[i].Value(); }) ==
                    std::pair<uint32_t, bool>(values[i], (failing >> i & 1) != 0),
                "an input has changed");
}

void Script::MistakeInResults() {
    const uint32_t kind = m_bytes.Below(10), n = m_bytes.Next();
    Oracle &oracle = m_world.oracle;
    TaskScheduler &idle = *m_world.idle;
    Result<uint32_t> result, out;
    const auto value = [](uint32_t &) -> uint32_t { Finding("a refused function was called"); };
    if (kind < 3) {
        Require(result.Set(m_scheduler, n), "the first Set");
        oracle.Expect(ReportCode::WrongThread, [&] {
            const auto error = std::make_exception_ptr(n);
            Require(!(kind == 0   ? result.Set(m_scheduler, n + 1)
                      : kind == 1 ? result.SetException(m_scheduler, error)
                                  : result.Set(idle, n + 1)),
                    "the second Set");
        });
        return Require(!result.TrySet(m_scheduler, n + 2) && result.Value() == n,
                       "a mistake has changed a result");
    }
    if (kind == 3) {
        oracle.Expect(ReportCode::NotRunning, [&] { result.Set(idle, n); });
        Require(!result.IsReady(), "a result of one that does not run is known");
        result.Reset();
        Require(result.Set(m_scheduler, n), "a result that was reset");
        return Require(result.Value() == n, "a result that was reset");
    }
    if (kind == 4) {
        bool threw = false;
        oracle.Expect(ReportCode::NotRunning, [&] {
            try {
                result.Get(idle);
            } catch (const std::bad_optional_access &) {
                threw = true;
            }
        });
        Require(threw, "a refused wait has a value");
    }
    TaskOptions wrong = Options();
    wrong.priority = static_cast<Priority>(3 + n % 253);
    uint32_t (*const none)(uint32_t &) = nullptr;
    Counter tasks;
    const ReportCode code = kind == 5   ? ReportCode::NullTask
                            : kind <= 7 ? ReportCode::BadOption
                                        : ReportCode::NotRunning;
    if (kind > 4) {
        oracle.Expect(code, [&] {
            bool accepted = false;
            if (kind == 5) accepted = AddTaskWhen(m_scheduler, none, out, result);
            if (kind == 6) accepted = AddTaskWhen(m_scheduler, wrong, value, out, result);
            if (kind == 7) accepted = AddTaskWhen(m_scheduler, value, out, out);
            if (kind == 8) accepted = AddTaskWhen(idle, value, out, result);
            if (kind == 9) accepted = WhenAny(idle, out, tasks, result, result);
            Require(!accepted, "a wrong AddTaskWhen");
        });
    }
    Require(result.Pending().Value() == 1 && out.Pending().Value() == 1 && tasks.IsZero(),
            "a mistake has changed a result");
}

}  // namespace fuzz
