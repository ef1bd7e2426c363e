// Measures weft, other job systems and the bare costs of the machine. A lower figure is better in
// every row. Run it from the root of the repository, because some rows read bench/frame/aaa.frame.
#include "rounds.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

namespace {

std::vector<bench::Row> AllRows() {
    std::vector<bench::Row> rows;
    bench::AddBareRows(rows);
    bench::AddSerialRows(rows);
    bench::AddMutexRows(rows);
    bench::AddPostRows(rows);
    bench::AddIoRows(rows);
    for (uint32_t workers : {1u, 2u}) {
        bench::AddWeftRows(rows, workers);
        bench::AddCRows(rows, workers);
        bench::AddOneTbbRows(rows, workers);
        bench::AddBoostFiberRows(rows, workers);
        bench::AddOpenMpRows(rows, workers);
        bench::AddMutexPoolRows(rows, workers);
        bench::AddWeftLoopRows(rows, workers);
        bench::AddResultRows(rows, workers);
        bench::AddOneTbbLoopRows(rows, workers);
        bench::AddWeftFlowRows(rows, workers);
        bench::AddOneTbbFlowRows(rows, workers);
        bench::AddWeftGraphRows(rows, workers);
        bench::AddOneTbbGraphRows(rows, workers);
        bench::AddWeftAlgorithmRows(rows, workers);
        bench::AddOneTbbAlgorithmRows(rows, workers);
        bench::AddLibstdcxxAlgorithmRows(rows, workers);
        bench::AddFrameLayerRows(rows, workers);
        bench::AddLoadedRows(rows, workers);
    }
    return rows;
}

std::string NameOf(const bench::Row &row) {
    return row.workload + '/' + row.system + '/' + std::to_string(row.workers);
}

}  // namespace

int main(int argc, char **argv) {
    uint32_t rounds = 15;
    std::string csv, only;
    bool processor = false, list = false;
    CLI::App app("Measures weft, other systems, and the bare costs of the machine.");
    app.add_option("--rounds", rounds, "measure each row so often")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--csv", csv, "write the results to this file, too");
    app.add_option("--only", only, "measure the rows whose name contains this text");
    app.add_flag("--list", list, "print the names of all rows: workload/system/workers");
    app.add_flag("--processor", processor, "print the name of the processor");
    CLI11_PARSE(app, argc, argv);

    if (processor) {
        std::puts(bench::ProcessorName().c_str());
        return 0;
    }
    if (list) {
        for (const bench::Row &row : AllRows()) std::puts(NameOf(row).c_str());
        return 0;
    }
    std::vector<bench::Row> rows = AllRows();
    const auto isLeftOut = [&](const bench::Row &row) {
        return NameOf(row).find(only) == std::string::npos;
    };
    rows.erase(std::remove_if(rows.begin(), rows.end(), isLeftOut), rows.end());
    bench::RunRounds(rows, rounds);
    std::printf("%s, %u rounds\n", bench::ProcessorName().c_str(), rounds);
    bench::PrintTable(rows);
    if (!csv.empty() && !bench::WriteCsv(rows, csv)) {
        std::fprintf(stderr, "bench: cannot write %s\n", csv.c_str());
        return 1;
    }
    return 0;
}
