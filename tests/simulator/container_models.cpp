// Models of single containers. Virtual threads call them directly, without a scheduler.
#include "containers/atomic_bit_set.h"
#include "containers/cached_pool.h"
#include "containers/push_list.h"
#include "containers/spin_lock.h"
#include "containers/work_stealing_deque.h"
#include "core/scheduler_tags.h"
#include "core/trace_records.h"
#include "platform/env.h"
#include "simulator/crew.h"
#include "simulator/models.h"
#include "simulator/virtual_threads.h"

#include <initializer_list>
#include <vector>

namespace simulator {

namespace {

using namespace weft::internal;

// Invariant 7: `operation` takes at most `most` atomic operations, whatever the other threads do
// meanwhile.
template <class Operation>
auto Bounded(uint64_t most, Operation operation) {
    const uint64_t before = OwnSteps();
    const auto result = operation();
    Check(OwnSteps() - before <= most, "invariant 7: a deque operation is not bounded");
    return result;
}

constexpr uint64_t kPopSteps = 8, kStealSteps = 5;  // counted in the source

// The owner pushes and pops while two thieves steal and the ring grows. Each item must come out
// exactly once, and each operation must be bounded.
void Deque(uint64_t firstIndex, bool isAcquiredLate = false) {
    WorkStealingDeque<uint64_t> deque;
    if (!isAcquiredLate) Check(deque.Acquire(2, firstIndex), "no memory");
    constexpr uint64_t kItems = 7;
    uint32_t taken[kItems] = {};
    Crew crew;
    crew.Start([&] {
        if (isAcquiredLate) Check(deque.Acquire(2, firstIndex), "no memory");
        uint64_t next = 0;
        uint64_t item;
        while (next < kItems) {
            const uint64_t burst = std::min<uint64_t>(1 + Random(3), kItems - next);
            Check(deque.Reserve(burst), "no memory");
            for (uint64_t i = 0; i < burst; ++i) deque.Stage(i, next + i);
            deque.Publish(burst);
            next += burst;
            for (uint32_t pops = Random(3); pops > 0; --pops) {
                if (Bounded(kPopSteps, [&] { return deque.Pop(item); })) ++taken[item];
            }
        }
        while (deque.Pop(item)) ++taken[item];
    });
    for (int thief = 0; thief < 2; ++thief) {
        crew.Start([&] {
            uint64_t item;
            for (int attempt = 0; attempt < 5; ++attempt) {
                if (Bounded(kStealSteps, [&] { return deque.Steal(item); }) == StealResult::Taken)
                    ++taken[item];
            }
        });
    }
    crew.RunAll();
    for (uint32_t count : taken) Check(count == 1, "a task was lost or run twice in the deque");
}

// Three threads claim bits with ClearAny and set them again. No bit may be claimed twice or be
// lost, and ClearAny must find each of them afterwards: a large set has hints for that.
template <uint32_t kSize>
void BitSet(std::initializer_list<uint32_t> places, bool pauses) {
    AtomicBitSet bits;
    Check(bits.Acquire(kSize), "no memory");
    for (uint32_t place : places) bits.Set(place);
    uint32_t holders[kSize] = {};
    Crew crew;
    for (uint32_t thread = 0; thread < 3; ++thread) {
        crew.Start([&, thread] {
            for (int round = 0; round < 2; ++round) {
                const uint32_t bit = bits.ClearAny(thread * 64);
                if (bit == AtomicBitSet::kNone) continue;
                Check(++holders[bit] == 1, "a bit was claimed twice");
                if (pauses) weft::env::Pause();
                --holders[bit];
                bits.Set(bit);
            }
        });
    }
    crew.RunAll();
    for (uint32_t place : places) Check(bits.Test(place), "a bit was lost");
    for (size_t i = 0; i < places.size(); ++i)
        Check(bits.ClearAny(0) != AtomicBitSet::kNone, "a bit that is set was not found");
}

struct Node {
    Node *next = nullptr;
    uint32_t producer = 0;
    uint32_t order = 0;
};

// Two producers push while a consumer takes all. Each node must arrive once, in the order of its
// producer.
void List() {
    PushList<Node> list;
    Node nodes[2][3];
    uint32_t seen[2] = {};
    const auto consume = [&] {
        for (Node *node = list.TakeAll(); node != nullptr; node = node->next) {
            Check(node->order == seen[node->producer], "a node was lost, or the order changed");
            ++seen[node->producer];
        }
    };
    Crew crew;
    for (uint32_t producer = 0; producer < 2; ++producer) {
        crew.Start([&, producer] {
            for (uint32_t i = 0; i < 3; ++i) {
                nodes[producer][i].producer = producer;
                nodes[producer][i].order = i;
                list.Push(&nodes[producer][i]);
            }
        });
    }
    crew.Start([&] {
        for (int i = 0; i < 4; ++i) consume();
    });
    crew.RunAll();
    consume();
    Check(seen[0] == 3 && seen[1] == 3, "a node was lost");
}

// Three threads add to a sum under a lock. One thread at a time may hold the lock, and it must see
// what the previous holder wrote.
void Lock() {
    SpinLock lock;
    weft::env::Atomic<uint32_t> sum{0};
    Crew crew;
    for (uint32_t thread = 0; thread < 3; ++thread) {
        crew.Start([&] {
            for (int round = 0; round < 2; ++round) {
                const SpinLock::Held held(lock);
                sum.store(sum.load(kRelaxed) + 1, kRelaxed);
            }
        });
    }
    crew.RunAll();
    Check(sum.load(kRelaxed) == 6, "what was written under the lock was lost");
}

// Two users with a cache and one without take objects from a pool that grows once. They pass some
// objects to each other and return them. Each object must have one user at a time, which sees what
// the previous user wrote. No object may be lost, and the pool may hand out only objects that
// exist.
void CachedObjects() {
    struct Object {
        weft::env::Atomic<uint32_t> last{0};  // relaxed: ordered by the pool
        uint32_t newest = 0, users = 0;
    };
    using Pool = CachedPool<Object, 2, 4, 2>;
    constexpr uint32_t kUsers = 2;
    Pool pool;
    Check(pool.Acquire(kUsers), "no memory");
    uint32_t next = 0;
    const auto take = [&](uint32_t user) {
        const uint32_t index = pool.Take(user);
        if (index == Pool::kNone) return index;
        Check(index < Pool::kMaxItems && pool.Has(index), "there is no such object");
        Object &object = pool.At(index);
        Check(++object.users == 1, "an object has two users");
        Check(object.last.load(kRelaxed) == object.newest,
              "what the last user wrote is not visible");
        object.newest = ++next;
        object.last.store(object.newest, kRelaxed);
        return index;
    };
    const auto giveBack = [&](uint32_t index, uint32_t user) {
        --pool.At(index).users;
        pool.GiveBack(index, user);
    };
    weft::env::Atomic<uint32_t> handed{0};
    Crew crew;
    for (uint32_t thread = 0; thread < kUsers + 1; ++thread) {
        crew.Start([&, user = thread < kUsers ? thread : kNoCache] {
            for (int round = 0; round < 2; ++round) {
                uint32_t mine[3];
                uint32_t count = 0;
                for (const uint32_t wanted = 1 + Random(3); count < wanted; ++count) {
                    mine[count] = take(user);
                    if (mine[count] == Pool::kNone) break;
                }
                if (count != 0 && Random(2) != 0) {
                    const uint32_t other = handed.exchange(mine[count - 1] + 1, kAcqRel);
                    if (other != 0)
                        mine[count - 1] = other - 1;
                    else
                        --count;
                }
                for (uint32_t i = 0; i < count; ++i) giveBack(mine[i], user);
            }
        });
    }
    crew.RunAll();
    if (const uint32_t left = handed.load(kRelaxed); left != 0) giveBack(left - 1, kNoCache);
    uint32_t objects = 0;
    for (uint32_t user : {0u, 1u, kNoCache}) {
        while (take(user) != Pool::kNone) ++objects;
    }
    Check(objects == Pool::kMaxItems, "an object was lost");
}

// Two threads publish objects under scheduler tags and release the tags, while two others call
// SchedulerTag::Find. Release must wait until all visits have ended. Shows a visit to a dead
// object.
void Tags() {
    struct Object {
        weft::env::Atomic<uint32_t> visits{0};
        uint32_t expected = 0;
    };
    Object objects[4];
    const auto live = [&](uint32_t first) {
        for (Object *object : {&objects[first], &objects[first + 1]}) {
            SchedulerTag tag;
            Check(tag.Acquire() != 0, "no tag is left");
            tag.Publish(object);
            if (Random(2) != 0) weft::env::Pause();
            tag.Release();
            Check(object->visits.load(kRelaxed) == object->expected,
                  "a visit is not over when the tag is released");
            MarkDead(object, sizeof *object);
        }
    };
    const auto look = [&] {
        for (uint32_t tag = 1; tag <= 2; ++tag) {
            SchedulerTag::Find(
                [](void *found) {
                    Object *object = static_cast<Object *>(found);
                    ++object->expected;
                    object->visits.fetch_add(1, kRelaxed);
                    return Random(2) != 0;
                },
                tag);
        }
    };
    Crew crew;
    for (uint32_t first : {0u, 2u}) {
        crew.Start([&, first] { live(first); });
        crew.Start(look);
    }
    crew.RunAll();
}

// A thread writes records while another one reads. A record that is read must be whole, and must be
// the one that was asked for.
void RingOfRecords() {
    constexpr uint64_t kCapacity = 2, kRecords = 5;
    TraceRing::Cell cells[kCapacity];
    TraceRing ring;
    ring.Use(cells, kCapacity);
    Crew crew;
    crew.Start([&] {
        for (uint64_t i = 0; i < kRecords; ++i) ring.Put({{i, i, i, i}});
    });
    crew.Start([&] {
        const uint64_t end = ring.Written();
        for (uint64_t i = end > kCapacity ? end - kCapacity : 0; i < end; ++i) {
            TraceRecord record;
            if (!ring.Read(i, record)) continue;
            for (const uint64_t word : record.words) Check(word == i, "a torn record");
        }
    });
    crew.RunAll();
    TraceRecord record;
    Check(ring.Written() == kRecords && ring.Read(kRecords - 1, record) &&
              !ring.Read(kRecords - 1 - kCapacity, record),
          "the newest records are kept");
}

}  // namespace

std::vector<Model> ContainerModels() {
    return {
        {"deque", "one owner, two thieves, growth", [] { Deque(0); }},
        {"deque_wrap", "the same, and the indices wrap", [] { Deque(~uint64_t{0} - 2); }},
        {"deque_acquired_late", "thieves look before the deque has memory", [] { Deque(0, true); }},
        {"bit_set", "claims and releases",
         [] {
             BitSet<70>({1, 2, 68}, true);
         }},
        {"bit_set_hints", "claims and releases in a set that has hints",
         [] {
             BitSet<320>({100, 300}, false);
         }},
        {"push_list", "two producers, one consumer", List},
        {"spin_lock", "three threads under a lock", Lock},
        {"cached_pool", "objects through caches, growth, the last objects", CachedObjects},
        {"trace_ring", "records are written while another thread reads them", RingOfRecords},
        {"tags", "threads visit a scheduler that ends", Tags},
    };
}

}  // namespace simulator
