// The rows of oneTBB's parallel_sort, which is not stable, and parallel_scan. oneTBB has no stable
// sort, so these rows are also the peers of weft's other sorts.
#include "algorithm_rows.h"

#if __has_include(<tbb/parallel_scan.h>)

#include "run_onetbb.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>

namespace bench {

namespace {

struct OneTbbAlgorithms : RunsOnOneTbb {
    static constexpr const char *kName = "onetbb";

    template <class Element, class Less>
    static void Sort(std::vector<Element> &elements, Less less) {
        tbb::parallel_sort(elements.begin(), elements.end(), less);
    }

    template <class Element, class Less>
    static void StableSort(std::vector<Element> &elements, std::vector<Element> &, Less less) {
        Sort(elements, less);
    }

    template <class Element, class Key>
    static void SortByKey(std::vector<Element> &elements, std::vector<Element> &, Key key) {
        Sort(elements, [key](const Element &a, const Element &b) { return key(a) < key(b); });
    }

    static float Scan(const std::vector<float> &from, std::vector<float> &to) {
        using Range = tbb::blocked_range<size_t>;
        return tbb::parallel_scan(
            Range(0, from.size()), 0.0f,
            [&](const Range &range, float sum, bool isFinal) {
                for (size_t i = range.begin(); i != range.end(); ++i) {
                    sum += from[i];
                    if (isFinal) to[i] = sum;
                }
                return sum;
            },
            [](float a, float b) { return a + b; });
    }
};

}  // namespace

void AddOneTbbAlgorithmRows(std::vector<Row> &rows, uint32_t workers) {
    AddAlgorithmWorkloads<OneTbbAlgorithms, SortForm::Unstable, SortForm::Stable, SortForm::ByKey>(
        rows, workers);
}

}  // namespace bench

#else

namespace bench {
void AddOneTbbAlgorithmRows(std::vector<Row> &, uint32_t) {}
}  // namespace bench

#endif
