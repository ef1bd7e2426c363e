// deque_trace RUNS: traces for deque.pml: the deque's indices and ring, and which thread got each
// item. The threads are those of the model within its default bounds. The owner pushes four items
// in bursts of up to two, pops now and then, and at the end pops until the deque is empty. Two
// thieves steal.
#include "containers/work_stealing_deque.h"
#include "spin/traces.h"
#include "support/private_members.h"

namespace {

using namespace weft::internal;

struct Item {
    uint64_t words[2];
};
using Deque = WorkStealingDeque<Item>;

}  // namespace

namespace test {

struct Top {
    friend constexpr auto Member(Top);
};
struct Bottom {
    friend constexpr auto Member(Bottom);
};
struct RingOf {
    friend constexpr auto Member(RingOf);
};
template struct Reveal<Top, &Deque::m_top>;
template struct Reveal<Bottom, &Deque::m_bottom>;
template struct Reveal<RingOf, &Deque::m_ring>;

}  // namespace test

namespace {

constexpr uint64_t kItems = 4, kFirst = ~uint64_t{0} - 1;  // modulo 16: 14, as in the model
constexpr uint32_t kThieves = 2;

// The items that came out, packed as in deque.pml: two bits for each item, which thread has it. The
// bit above them is set if anything else came out.
class Taken {
public:
    void Add(uint32_t who, const Item &item) {
        const uint64_t number = item.words[0] - 1;
        if (item.words[0] != item.words[1] || number >= kItems ||
            (m_bits >> (2 * number) & 3) != 0) {
            m_bits |= 1 << (2 * kItems);
        } else {
            m_bits |= who << (2 * number);
        }
    }
    uint32_t Bits() const { return m_bits; }

private:
    uint32_t m_bits = 0;
};

uint32_t Observe(const Deque &deque, const Taken &taken) {
    const uint64_t top = (deque.*Member(test::Top())).Peek(),
                   bottom = (deque.*Member(test::Bottom())).Peek();
    const uint64_t capacity = (deque.*Member(test::RingOf())).Peek()->capacity;
    const uint32_t ring = capacity == 2 ? 0 : capacity == 4 ? 1 : capacity == 8 ? 2 : 3;
    return taken.Bits() << 10 | ring << 8 | static_cast<uint32_t>(bottom & 15) << 4 |
           static_cast<uint32_t>(top & 15);
}

void Push(Deque &deque, uint64_t next, uint64_t count) {
    if (count == 1 && simulator::Random(2) != 0) {
        simulator::Check(deque.Push({{next, next}}), "no memory");
        return;
    }
    simulator::Check(deque.Reserve(count), "no memory");
    for (uint64_t i = 0; i < count; ++i) deque.Stage(i, {{next + i, next + i}});
    deque.Publish(count);
}

bool Pop(Deque &deque, Taken &taken, bool refuses) {
    Item item;
    const bool popped = deque.PopIf(item, [=](const Item &) { return !refuses; });
    if (popped) taken.Add(1, item);
    return popped;
}

void Owner(Deque &deque, Taken &taken) {
    for (uint64_t next = 1; next <= kItems;) {
        const uint64_t count = next < kItems ? 1 + simulator::Random(2) : 1;
        Push(deque, next, count);
        next += count;
        for (uint32_t pops = simulator::Random(3); pops > 0; --pops)
            Pop(deque, taken, simulator::Random(4) == 0);
    }
    while (Pop(deque, taken, false)) {
    }
}

void Thief(Deque &deque, Taken &taken, uint32_t who) {
    for (uint32_t attempts = 1 + simulator::Random(4); attempts > 0; --attempts) {
        Item item;
        if (deque.Steal(item) == StealResult::Taken) taken.Add(who, item);
    }
}

void Run(traces::Trace &trace) {
    Deque deque;
    Taken taken;
    simulator::Check(deque.Acquire(2, kFirst), "no memory");
    trace.Begin([&] { return Observe(deque, taken); });
    std::vector<std::function<void()>> works;
    works.push_back([&] { Owner(deque, taken); });
    for (uint32_t thief = 0; thief < kThieves; ++thief)
        works.push_back([&, thief] { Thief(deque, taken, 2 + thief); });
    traces::RunAll(works);
    trace.End();
}

}  // namespace

int main(int argc, char **argv) { return traces::Print(argc, argv, Run); }
