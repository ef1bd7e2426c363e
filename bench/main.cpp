// bench [--rounds N] [--csv FILE] [--only TEXT]
// bench --processor                                   prints the processor's name
// bench --list                                        prints all rows as "workload/system/workers"
//
// --only: the rows in whose "workload/system/workers" the text occurs.
//
// From the repository's root: some rows read bench/frame/aaa.frame.
//
// First figures: weft beside a queue under a mutex and the bare costs of the machine. All rows are
// costs.
#include "rounds.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::vector<bench::Row> AllRows() {
    std::vector<bench::Row> rows;
    bench::AddBareRows(rows);
    bench::AddSerialRows(rows);
    bench::AddMutexRows(rows);
    bench::AddPostRows(rows);
    for (uint32_t workers : {1u, 2u}) {
        bench::AddWeftRows(rows, workers);
        bench::AddOneTbbRows(rows, workers);
        bench::AddBoostFiberRows(rows, workers);
        bench::AddOpenMpRows(rows, workers);
        bench::AddMutexPoolRows(rows, workers);
        bench::AddWeftLoopRows(rows, workers);
        bench::AddOneTbbLoopRows(rows, workers);
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
    if (argc == 2 && std::strcmp(argv[1], "--processor") == 0) {
        std::puts(bench::ProcessorName().c_str());
        return 0;
    }
    if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
        for (const bench::Row &row : AllRows()) std::puts(NameOf(row).c_str());
        return 0;
    }
    unsigned long rounds = 15;
    std::string csv, only;
    bool wrong = argc % 2 == 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--rounds")
            rounds = std::strtoul(argv[i + 1], nullptr, 10);
        else if (option == "--csv")
            csv = argv[i + 1];
        else if (option == "--only")
            only = argv[i + 1];
        else
            wrong = true;
    }
    if (wrong || rounds == 0 || rounds > 1000) {
        std::fprintf(stderr,
                     "usage: bench [--rounds 1..1000] [--csv FILE] [--only TEXT], or bench "
                     "--processor, --list\n");
        return 2;
    }
    std::vector<bench::Row> rows = AllRows();
    const auto isLeftOut = [&](const bench::Row &row) {
        return NameOf(row).find(only) == std::string::npos;
    };
    rows.erase(std::remove_if(rows.begin(), rows.end(), isLeftOut), rows.end());
    bench::RunRounds(rows, static_cast<uint32_t>(rounds));
    std::printf("%s, %lu rounds\n", bench::ProcessorName().c_str(), rounds);
    bench::PrintTable(rows);
    if (!csv.empty() && !bench::WriteCsv(rows, csv)) {
        std::fprintf(stderr, "bench: cannot write %s\n", csv.c_str());
        return 1;
    }
    return 0;
}
