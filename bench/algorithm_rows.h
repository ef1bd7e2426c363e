// Workloads of sorts and scans, written once for all systems. Besides Run (workloads.h) a system
// has these members:
//
//     template <class Element, class Less>
//     static void Sort(std::vector<Element> &elements, Less less);   // or not
//     template <class Element, class Less>
//     static void StableSort(std::vector<Element> &elements, std::vector<Element> &scratch,
//                            Less less);                             // or not
//     template <class Element, class Key>
//     static void SortByKey(std::vector<Element> &elements, std::vector<Element> &scratch,
//                           Key key);                                // or not
//     static float Scan(const std::vector<float> &from, std::vector<float> &to);
//
// A cost is in nanoseconds for each element.
#pragma once

#include "workloads.h"

namespace bench {

/// A draw call, sorted by its key.
struct DrawCall {
    uint32_t key, mesh, material, instance;
    bool operator==(const DrawCall &other) const {
        return key == other.key && mesh == other.mesh && material == other.material &&
               instance == other.instance;
    }
};

/// Returns another number for each `i`: both steps can be undone. So all keys differ, and each sort
/// has only one result.
inline uint32_t KeyOf(uint32_t i) {
    for (int turn = 0; turn < 3; ++turn) {
        i *= 0x9e3779b1u;
        i ^= i >> 15;
    }
    return i;
}

enum class SortForm { Unstable, Stable, ByKey };

template <class System>
class AlgorithmWorkloads {
public:
    template <SortForm kForm>
    static double SortNumbers(uint32_t workers, uint32_t count) {
        return Sorted<kForm>(
            workers, count, [](uint32_t i) { return KeyOf(i); },
            [](uint32_t number) { return number; });
    }

    template <SortForm kForm>
    static double SortDraws(uint32_t workers, uint32_t count) {
        return Sorted<kForm>(
            workers, count,
            [](uint32_t i) {
                return DrawCall{KeyOf(i), i, ~i, i / 2};
            },
            [](const DrawCall &draw) { return draw.key; });
    }

    static double SumsOf(uint32_t workers, uint32_t count) {
        // Whole numbers whose sums have at most 24 bits: so they are exact in any order.
        std::vector<float> from(count), to(count), expected(count);
        float sum = 0;
        for (uint32_t i = 0; i < count; ++i)
            expected[i] = sum += from[i] = static_cast<float>(i % 16);
        double cost = 0;
        System::Run(workers, [&] {
            cost = MedianOf([&] {
                const Clock::time_point begin = Clock::now();
                if (System::Scan(from, to) != sum) Wrong("scan");
                return Since(begin) / count;
            });
        });
        if (to != expected) Wrong("scan");
        return cost;
    }

private:
    // Other programs may use the machine now and then.
    template <class Once>
    static double MedianOf(Once once) {
        once();
        std::vector<double> samples;
        while (samples.size() < 7) samples.push_back(once());
        return Median(std::move(samples));
    }

    // Sorts other elements each time: the processor would learn the branches of a short sort.
    template <SortForm kForm, class Value, class Key>
    static double Sorted(uint32_t workers, uint32_t count, Value value, Key key) {
        using Element = decltype(value(0u));
        const auto less = [key](const Element &a, const Element &b) { return key(a) < key(b); };
        std::vector<Element> own(count), scratch(count);
        uint32_t next = 0;
        double cost = 0;
        System::Run(workers, [&] {
            cost = MedianOf([&] {
                for (Element &element : own) element = value(next++);
                const Clock::time_point begin = Clock::now();
                if constexpr (kForm == SortForm::Unstable) System::Sort(own, less);
                if constexpr (kForm == SortForm::Stable) System::StableSort(own, scratch, less);
                if constexpr (kForm == SortForm::ByKey) System::SortByKey(own, scratch, key);
                return Since(begin) / count;
            });
        });
        std::vector<Element> expected(count);
        for (uint32_t i = 0; i < count; ++i) expected[i] = value(next - count + i);
        std::sort(expected.begin(), expected.end(), less);
        if (own != expected) Wrong("sort");
        return cost;
    }
};

/// Adds the rows of the sorts that the system has.
template <class System, SortForm... kForms>
void AddAlgorithmWorkloads(std::vector<Row> &rows, uint32_t workers,
                           const char *name = System::kName) {
    using All = AlgorithmWorkloads<System>;
    const auto add = [&](const std::string &workload, auto measure) {
        rows.push_back({workload, name, workers, "ns", measure, {}});
    };
    const auto addSorts = [&](const std::string &sort, auto form) {
        constexpr SortForm kForm = decltype(form)::value;
        add(sort + "_1000000", [=] { return All::template SortNumbers<kForm>(workers, 1000000); });
        add(sort + "_draws_100000",
            [=] { return All::template SortDraws<kForm>(workers, 100000); });
        add(sort + "_draws_1000", [=] { return All::template SortDraws<kForm>(workers, 1000); });
    };
    const auto nameOf = [](SortForm form) {
        return form == SortForm::Unstable ? "sort"
               : form == SortForm::Stable ? "stable_sort"
                                          : "sort_by_key";
    };
    (addSorts(nameOf(kForms), std::integral_constant<SortForm, kForms>()), ...);
    for (uint32_t count : {1000u, 100000u, 1000000u})
        add("scan_" + std::to_string(count), [=] { return All::SumsOf(workers, count); });
}

}  // namespace bench
