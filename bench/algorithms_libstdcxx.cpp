// The rows of libstdc++'s parallel mode, which uses OpenMP: sort, stable_sort and partial_sum. They
// allocate their memory themselves.
#include "algorithm_rows.h"

#if defined(_OPENMP) && __has_include(<parallel/algorithm>)

#include <omp.h>
#include <parallel/algorithm>
#include <parallel/numeric>

namespace bench {

namespace {

struct LibstdcxxAlgorithms {
    static constexpr const char *kName = "libstdcxx";

    template <class Body>
    static void Run(uint32_t workers, Body body) {
        omp_set_num_threads(static_cast<int>(workers));
        body();
    }

    template <class Element, class Less>
    static void Sort(std::vector<Element> &elements, Less less) {
        __gnu_parallel::sort(elements.begin(), elements.end(), less);
    }

    template <class Element, class Less>
    static void StableSort(std::vector<Element> &elements, std::vector<Element> &, Less less) {
        __gnu_parallel::stable_sort(elements.begin(), elements.end(), less);
    }

    template <class Element, class Key>
    static void SortByKey(std::vector<Element> &elements, std::vector<Element> &scratch, Key key) {
        StableSort(elements, scratch,
                   [key](const Element &a, const Element &b) { return key(a) < key(b); });
    }

    static float Scan(const std::vector<float> &from, std::vector<float> &to) {
        __gnu_parallel::partial_sum(from.begin(), from.end(), to.begin());
        return to.back();
    }
};

}  // namespace

void AddLibstdcxxAlgorithmRows(std::vector<Row> &rows, uint32_t workers) {
    AddAlgorithmWorkloads<LibstdcxxAlgorithms, SortForm::Unstable, SortForm::Stable,
                          SortForm::ByKey>(rows, workers);
}

}  // namespace bench

#else

namespace bench {
void AddLibstdcxxAlgorithmRows(std::vector<Row> &, uint32_t) {}
}  // namespace bench

#endif
