// Rows without a scheduler: the cost of the bodies alone.
#include "workloads.h"

namespace bench {

namespace {

uint64_t CountNodes(const Node &node) {
    const uint64_t work = node.Work();
    if (node.size == 1) return 1;
    Node left{}, right{};
    node.Split(work, left, right);
    return 1 + (left.size != 0 ? CountNodes(left) : 0) + (right.size != 0 ? CountNodes(right) : 0);
}

double Tree() {
    const Clock::time_point begin = Clock::now();
    const uint64_t nodes = CountNodes({kTreeNodes, 1, 0});
    const double cost = Since(begin) / kTreeNodes;
    if (nodes != kTreeNodes) Wrong("nodes");
    return cost;
}

double Bulk() {
    Cells cells(kBulk);
    void (*volatile slot)(void *) = WriteCell;
    double cost = 0;
    for (int round = 0; round < 2; ++round) {
        void (*const function)(void *) = slot;
        const Clock::time_point begin = Clock::now();
        for (uint32_t i = 0; i < kBulk; ++i) function(cells.At(i));
        cost = Since(begin) / kBulk;
    }
    cells.Verify();
    return cost;
}

double Sum() {
    std::vector<uint32_t> numbers(kBulk * kSummands, 1);
    std::vector<Part> parts(kBulk);
    for (uint32_t i = 0; i < kBulk; ++i) parts[i].first = &numbers[i * kSummands];
    uint64_t sum = 0;
    double cost = 0;
    for (int round = 0; round < 2; ++round) {
        const Clock::time_point begin = Clock::now();
        for (Part &part : parts) SumPart(&part);
        sum = 0;
        for (const Part &part : parts) sum += part.sum;
        cost = Since(begin) / kBulk;
    }
    if (sum != kBulk * kSummands) Wrong("sum");
    return cost;
}

}  // namespace

void AddSerialRows(std::vector<Row> &rows) {
    rows.push_back({"tree", "serial", 1, "ns", Tree, {}});
    rows.push_back({"bulk_65536", "serial", 1, "ns", Bulk, {}});
    rows.push_back({"sum", "serial", 1, "ns", Sum, {}});
}

}  // namespace bench
