// Prints tables for the adapters' pages: a library on weft and on the library's own threads. Not
// part of a run without arguments:
//
//     tests/adapters.sh "[.figures]"
#pragma once

#include "weft/closure.h"

#include "support/scheduler_run.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

namespace test {

inline constexpr uint32_t kFigureWorkers = 2;

/// Returns `count` divided by the seconds that `body()` takes.
template <class Body>
double PerSecond(double count, const Body &body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    return count / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Calls `body` in a task, and waits for it.
template <class Body>
void InTask(weft::TaskScheduler &scheduler, const Body &body) {
    weft::Counter done;
    weft::AddTask(
        scheduler, [&] { body(); }, &done);
    scheduler.WaitForCounter(&done);
}

class Figures {
public:
    /// `scale`: what the measured values are multiplied by, for the table.
    Figures(const char *unit, const char *peer, double scale = 1)
        : m_unit(unit), m_peer(peer), m_scale(scale) {}

    /// Each function measures once, and returns how much was done in a second, or 0 if it failed.
    void Add(const char *name, std::function<double()> onWeft, std::function<double()> onPeer) {
        m_rows.push_back({name, std::move(onWeft), std::move(onPeer), {}, {}, {}});
    }

    /// Measures all rows in interleaved rounds, and prints the medians. Returns false if a
    /// measurement failed.
    bool Measure() {
        for (uint32_t round = 0; round <= kRounds; ++round) {
            for (Row &row : m_rows) {
                const double weft = row.onWeft(), peer = row.onPeer();
                if (weft <= 0 || peer <= 0) return false;
                if (round == 0) continue;  // warms up
                row.weft.push_back(weft);
                row.peer.push_back(peer);
                row.ratios.push_back(weft / peer);
            }
        }
        std::printf("| %s | weft | %s | weft / %s | range |\n|---|---|---|---|---|\n", m_unit,
                    m_peer, m_peer);
        for (Row &row : m_rows) {
            const double ratio = Median(row.ratios);  // sorts them
            std::printf("| %s | %.4g | %.4g | %.2f | %.2f to %.2f |\n", row.name,
                        Median(row.weft) * m_scale, Median(row.peer) * m_scale, ratio,
                        row.ratios.front(), row.ratios.back());
        }
        return true;
    }

private:
    static constexpr uint32_t kRounds = 15;

    struct Row {
        const char *name;
        std::function<double()> onWeft, onPeer;
        std::vector<double> weft, peer, ratios;
    };

    static double Median(std::vector<double> &values) {
        std::sort(values.begin(), values.end());
        return values[values.size() / 2];
    }

    const char *m_unit, *m_peer;
    double m_scale;
    std::vector<Row> m_rows;
};

}  // namespace test
