// The rows of weft's sorts and scans. All options but the number of workers are the defaults.
#include "algorithm_rows.h"
#include "run_weft.h"

#include <weft/algorithms/parallel_scan.h>
#include <weft/algorithms/parallel_sort.h>
#include <weft/algorithms/parallel_sort_by_key.h>
#include <weft/algorithms/parallel_stable_sort.h>

namespace bench {

namespace {

struct WeftAlgorithms : RunsOnWeft {
    static constexpr const char *kName = "weft";

    template <class Element, class Less>
    static void Sort(std::vector<Element> &elements, Less less) {
        weft::ParallelSort(*s_running, elements.begin(), elements.end(), less);
    }

    template <class Element, class Less>
    static void StableSort(std::vector<Element> &elements, std::vector<Element> &scratch,
                           Less less) {
        weft::ParallelStableSort(*s_running, elements.begin(), elements.end(), scratch.begin(),
                                 less);
    }

    template <class Element, class Key>
    static void SortByKey(std::vector<Element> &elements, std::vector<Element> &scratch, Key key) {
        weft::ParallelSortByKey(*s_running, elements.begin(), elements.end(), scratch.begin(), key);
    }

    static float Scan(const std::vector<float> &from, std::vector<float> &to) {
        return weft::ParallelInclusiveScan(*s_running, from.begin(), from.end(), to.begin(), 0.0f,
                                           std::plus<>());
    }
};

}  // namespace

void AddWeftAlgorithmRows(std::vector<Row> &rows, uint32_t workers) {
    AddAlgorithmWorkloads<WeftAlgorithms, SortForm::Unstable, SortForm::Stable, SortForm::ByKey>(
        rows, workers);
}

}  // namespace bench
