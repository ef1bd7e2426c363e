// The model of weak memory: the stores of each location, and the view of each thread.
#include "simulator/weak_memory.h"

#include "simulator/virtual_threads.h"

#include <algorithm>
#include <unordered_map>

namespace simulator::weak {

namespace {

constexpr uint32_t kKept = 8;  // number of latest stores that a location keeps

struct Record {
    uint64_t value;
    View released;  // the view that an acquire load of this store adds to its own
};

// One atomic variable. Its stores are numbered. Number 0 is its value before the first store that
// was recorded.
struct Location {
    Record records[kKept];  // store n has place n % kKept
    uint32_t newest;
    uint32_t newestSeqCst;
};

// The state of the running schedule. The next schedule uses the locations again, with the memory of
// their views.
std::unordered_map<const void *, uint32_t> s_numbers;
std::vector<Location> s_locations;
uint32_t s_count = 0;
View s_views[kMaxThreads];

bool IsAcquire(std::memory_order order) {
    return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

bool IsRelease(std::memory_order order) {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

uint32_t &At(View &view, uint32_t location) {
    if (view.size() <= location) view.resize(location + 1, 0);
    return view[location];
}

void Join(View &into, const View &from) {
    if (into.size() < from.size()) into.resize(from.size(), 0);
    for (size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

View &Mine() { return s_views[CurrentThread()]; }

// Returns null if all stores were made while there was only one thread.
Location *Find(const void *address, uint32_t &number) {
    const auto found = s_numbers.find(address);
    if (found == s_numbers.end()) return nullptr;
    number = found->second;
    return &s_locations[number];
}

Location &FindOrMake(const void *address, uint64_t before, uint32_t &number) {
    if (Location *found = Find(address, number)) return *found;
    number = s_count++;
    s_numbers[address] = number;
    if (s_locations.size() < s_count) s_locations.resize(s_count);
    Location &location = s_locations[number];
    location.newest = location.newestSeqCst = 0;
    location.records[0].value = before;
    location.records[0].released.clear();
    return location;
}

// Appends a store. `inherited` is the view that it carries even if it is no release.
void Append(Location &location, uint32_t number, uint64_t value, std::memory_order order,
            const View *inherited) {
    View &mine = Mine();
    const uint32_t index = ++location.newest;
    Record &record = location.records[index % kKept];
    record.value = value;
    if (inherited != nullptr) {
        if (inherited != &record.released) record.released = *inherited;
    } else {
        record.released.clear();
    }
    At(mine, number) = index;
    if (IsRelease(order)) Join(record.released, mine);
    At(record.released, number) = index;
    if (order == std::memory_order_seq_cst) location.newestSeqCst = index;
}

class ViewOrders final : public Orders {
public:
    void Reset() noexcept override {
        s_numbers.clear();
        s_count = 0;
        for (View &view : s_views) view.clear();
    }

    uint64_t Load(const void *address, uint64_t newest, std::memory_order order) noexcept override {
        uint32_t number = 0;
        Location *location = Find(address, number);
        if (location == nullptr) return newest;
        uint32_t &known = At(Mine(), number);
        uint32_t oldest = known;
        if (order == std::memory_order_seq_cst) oldest = std::max(oldest, location->newestSeqCst);
        if (location->newest >= kKept) oldest = std::max(oldest, location->newest - kKept + 1);
        uint32_t index = location->newest;
        // Old values are read only now and then. So loops end, and the consequences of one old
        // value can develop.
        if (oldest < index && Random(3) == 0) index = oldest + Random(index - oldest);
        if (index != location->newest) NoteChoice(location->newest - index);
        known = index;
        const Record &record = location->records[index % kKept];
        if (IsAcquire(order)) Join(Mine(), record.released);
        return record.value;
    }

    void Store(const void *address, uint64_t before, uint64_t value,
               std::memory_order order) noexcept override {
        uint32_t number = 0;
        if (IsAlone() && Find(address, number) == nullptr) return;
        Location &location = FindOrMake(address, before, number);
        Append(location, number, value, order, nullptr);
    }

    void Update(const void *address, uint64_t before, uint64_t value,
                std::memory_order order) noexcept override {
        uint32_t number = 0;
        if (IsAlone() && Find(address, number) == nullptr) return;
        Location &location = FindOrMake(address, before, number);
        const View inherited = location.records[location.newest % kKept].released;
        if (IsAcquire(order)) Join(Mine(), inherited);
        Append(location, number, value, order, &inherited);
    }

    void LoadNewest(const void *address, std::memory_order order) noexcept override {
        uint32_t number = 0;
        Location *location = Find(address, number);
        if (location == nullptr) return;
        At(Mine(), number) = location->newest;
        if (IsAcquire(order)) Join(Mine(), location->records[location->newest % kKept].released);
    }

    void Forget(const void *address) noexcept override { s_numbers.erase(address); }

    void Publish(View &view) noexcept override { Join(view, Mine()); }

    void TakeOver(const View &view) noexcept override { Join(Mine(), view); }

    void Started(uint32_t started) noexcept override { s_views[started] = Mine(); }

    void Joined(uint32_t joined) noexcept override { Join(Mine(), s_views[joined]); }
};

ViewOrders s_orders;

}  // namespace

void TurnOn() noexcept { g_orders = &s_orders; }

}  // namespace simulator::weak
