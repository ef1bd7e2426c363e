// Implements the class WhatIf.
#include "machine/what_if/what_if.h"

#include "trace/critical_path.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>

namespace machine {

namespace {

constexpr uint32_t kMostWorkers = 120;
constexpr uint32_t kTogether = 6;  // frames that overlap
constexpr double kSmall = 0.025;   // of the frame; no prediction is as exact as that
constexpr double kRough = 0.05;
constexpr double kPause = 400;  // longer than in Costs, because idle workers take most of the run

double MeanOf(std::vector<double>::const_iterator begin, std::vector<double>::const_iterator end) {
    return begin == end ? 0 : std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

double MedianOf(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const size_t middle = values.size() / 2;
    return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

double Sample::Median() const { return MedianOf(times); }

Gain GainOf(const Sample &base, const Sample &changed) {
    std::vector<double> gains;
    for (size_t i = 0; i < std::min(base.times.size(), changed.times.size()); ++i)
        gains.push_back(base.times[i] - changed.times[i]);
    if (gains.empty()) return {0, 0, 0, true};
    const auto [least, most] = std::minmax_element(gains.begin(), gains.end());
    const double gain = MedianOf(gains);
    const bool isSmall = std::abs(gain) < kSmall * base.Median();
    return {gain, *least, *most, isSmall || (*least <= 0 && *most >= 0)};
}

FrameTimes MeansOf(const std::vector<double> &times, size_t middleFrames) {
    const auto end = times.begin() + static_cast<ptrdiff_t>(middleFrames);
    return {MeanOf(times.begin(), end), MeanOf(end, times.end())};
}

WhatIf::WhatIf(const trace::Recording &recording, const WhatIfOptions &options)
    : m_options(options), m_names(recording.names) {
    const trace::Timeline timeline = trace::BuildTimeline(recording);
    FindPlace(recording, timeline);
    if (timeline.frames.empty()) {
        m_problem = "no frames: mark them with weft::MarkFrame, or use a FramePipeline";
        return;
    }
    if (m_place.workers == 0 || recording.Slots() > kMostWorkers) {
        m_problem = "only recordings with 1 to " + std::to_string(kMostWorkers) +
                    " workers and attached threads can run again";
        return;
    }
    ChooseFrames(timeline, FindWork(recording));
}

// The time from the call that wakes a worker until the worker runs is that of the recording.
void WhatIf::FindPlace(const trace::Recording &recording, const trace::Timeline &timeline) {
    m_place.workers = recording.workers;
    m_place.fibers = recording.fibers;
    m_place.costs.pause = kPause;
    std::vector<double> wakeUps;
    for (const std::vector<trace::Park> &parks : timeline.parks) {
        for (const trace::Park &park : parks) {
            if (park.woken != trace::kUnknown)
                wakeUps.push_back(static_cast<double>(park.end - park.woken));
        }
    }
    if (wakeUps.size() < 10) return;
    Costs &costs = m_place.costs;
    const double wakeUp = MedianOf(wakeUps);
    costs.wake = std::min(costs.wake, wakeUp / 2);
    costs.wakeUp = wakeUp - costs.wake;
}

namespace {

// Returns how long threads were off their processors on the critical paths of these frames, per
// frame. A replay leaves this out.
double MeanOffCpu(const trace::Timeline &timeline, const std::vector<uint32_t> &numbers) {
    int64_t sum = 0;
    for (const trace::Frame &frame : timeline.frames) {
        if (std::find(numbers.begin(), numbers.end(), frame.number) == numbers.end()) continue;
        for (const trace::PathPart &part : trace::CriticalPath(timeline, frame))
            sum += part.idle == trace::Idle::OffCpu ? part.end - part.begin : 0;
    }
    return static_cast<double>(sum) / static_cast<double>(numbers.size());
}

// Takes a frame by itself if it does not overlap with others. Otherwise takes it with some of those
// after it, and one before and after these, whose times do not count.
FrameGraph CutAround(const trace::Timeline &timeline, const RecordedWork &work,
                     const trace::Frame &frame, uint32_t together) {
    Stretch stretch{{frame.number}, frame.begin, frame.end, frame.begin, frame.end};
    FrameGraph alone = CutStretch(work, stretch);
    if (alone.first.size() + alone.threads.size() <= 1) return alone;
    for (const trace::Frame &other : timeline.frames) {
        if (other.end == frame.begin) stretch.begin = other.begin;
        if (other.begin != stretch.end) continue;
        stretch.end = other.end;
        if (stretch.frames.size() == together) break;
        stretch.lastMark = other.end;
        stretch.frames.push_back(other.number);
    }
    return CutStretch(work, stretch);
}

}  // namespace

void WhatIf::ChooseFrames(const trace::Timeline &timeline, const RecordedWork &work) {
    std::vector<trace::Frame> byLength = timeline.frames;
    std::stable_sort(
        byLength.begin(), byLength.end(),
        [](const trace::Frame &a, const trace::Frame &b) { return a.Length() < b.Length(); });
    const size_t count = byLength.size();
    const size_t middle = std::min<size_t>(m_options.middleFrames, count);
    const auto first = byLength.begin() + static_cast<ptrdiff_t>((count - middle) / 2);
    std::vector<trace::Frame> chosen(first, first + static_cast<ptrdiff_t>(middle));
    for (size_t i = 0; i < std::min<size_t>(m_options.slowFrames, count); ++i) {
        const trace::Frame &frame = byLength[count - 1 - i];
        if (static_cast<double>(frame.Length()) > m_options.budgetNs) chosen.push_back(frame);
    }
    std::vector<trace::Frame> ran;
    for (size_t i = 0; i < chosen.size(); ++i) {
        // The time of one frame says little if it overlaps: it depends on those around it.
        if (i >= middle && m_middle != 0 && m_frames[0].frames.size() > 1) break;
        FrameGraph graph = CutAround(timeline, work, chosen[i], i < middle ? kTogether : 1);
        if (graph.driver == kNone) continue;
        graph.recordedNs -= MeanOffCpu(timeline, graph.frames);
        if (i < middle) ++m_middle;
        m_frames.push_back(std::move(graph));
        ran.push_back(chosen[i]);
    }
    if (m_frames.empty())
        m_problem = "the events of the task or thread that ended the frames are missing";
    ChooseNames(timeline, ran);
}

// Takes the names with the longest time on the critical paths.
void WhatIf::ChooseNames(const trace::Timeline &timeline, const std::vector<trace::Frame> &frames) {
    std::map<uint32_t, int64_t> times;
    for (const trace::Frame &frame : frames) {
        for (const trace::CauseTime &time :
             trace::Causes(timeline, trace::CriticalPath(timeline, frame))) {
            if (time.cause.idle == trace::Idle::None) times[time.cause.name] += time.ns;
        }
    }
    const auto isPlayed = [&](uint32_t name) {
        return name != 0 && name < m_names.size() &&
               std::any_of(m_frames.begin(), m_frames.end(), [&](const FrameGraph &frame) {
                   return std::any_of(frame.jobs.begin(), frame.jobs.end(),
                                      [&](const GraphJob &job) { return job.name == name; });
               });
    };
    std::vector<std::pair<int64_t, uint32_t>> sorted;
    for (const auto &[name, ns] : times) {
        if (isPlayed(name)) sorted.push_back({-ns, name});
    }
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < std::min<size_t>(sorted.size(), m_options.names); ++i)
        m_chosen.push_back(sorted[i].second);
}

std::vector<WhatIfRow> WhatIf::Changes() const {
    std::vector<WhatIfRow> rows;
    const auto add = [&](const std::string &text, const Change &change) {
        rows.push_back({text, change, {}, {}});
    };
    for (const uint32_t name : m_chosen) add(m_names[name] + " 20 % faster", {name, 0.8});
    for (const uint32_t name : m_chosen) add(m_names[name] + " takes no time", {name, 0});
    const uint32_t workers = m_place.workers;
    for (const uint32_t other : {workers - 1, workers + 1, workers + 2, workers * 2}) {
        if (other == 0 || other > kMostWorkers) continue;
        if (!rows.empty() && rows.back().change.workers == other) continue;
        Change change;
        change.workers = other;
        add(std::to_string(other) + (other == 1 ? " worker" : " workers"), change);
    }
    const auto priorityOf = [&](uint32_t name) -> std::optional<weft::Priority> {
        for (const FrameGraph &frame : m_frames) {
            for (const GraphBatch &batch : frame.batches) {
                if (batch.name == name) return batch.priority;
            }
        }
        return {};
    };
    for (const uint32_t name : m_chosen) {
        const std::optional<weft::Priority> now = priorityOf(name);
        if (!now.has_value()) continue;
        if (*now != weft::Priority::High)
            add(m_names[name] + " with priority High", {name, 1, weft::Priority::High});
        if (*now != weft::Priority::Low)
            add(m_names[name] + " with priority Low", {name, 1, weft::Priority::Low});
    }
    return rows;
}

void WhatIf::Run(WhatIfRow &row) const {
    for (uint32_t order = 1; order <= m_options.orders; ++order) {
        const FrameTimes times = MeansOf(Replay(m_frames, m_place, row.change, order), m_middle);
        row.middle.times.push_back(times.middle);
        row.slow.times.push_back(times.slow);
    }
}

FrameTimes WhatIf::Recorded() const {
    std::vector<double> times;
    for (const FrameGraph &frame : m_frames) times.push_back(frame.recordedNs);
    return MeansOf(times, m_middle);
}

WhatIfTable RunAll(const WhatIf &whatIf, const std::vector<WhatIfRow> &rows) {
    WhatIfTable table;
    table.rows = rows;
    table.rows.insert(table.rows.begin(), WhatIfRow{"no change", {}, {}, {}});
    for (WhatIfRow &row : table.rows) whatIf.Run(row);
    table.recorded = whatIf.Recorded();

    const auto error = [](double time, double recorded) {
        char text[32];
        std::snprintf(text, sizeof text, "%+.1f %%", 100 * (time / recorded - 1));
        return std::string(text);
    };
    const size_t slow = whatIf.Frames().size() - whatIf.MiddleFrames();
    uint32_t guessed = 0;
    for (const FrameGraph &frame : whatIf.Frames()) guessed += frame.guessed;
    const size_t together = whatIf.Frames()[0].frames.size();
    table.note =
        std::to_string(whatIf.MiddleFrames()) + " frames of medium length" +
        (together > 1 ? ", each with those around it" : "") +
        (slow != 0 ? " and " + std::to_string(slow) + " slow ones" : "") + ", run again on " +
        std::to_string(whatIf.ThePlace().workers) + " virtual cores in " +
        std::to_string(whatIf.Orders()) +
        " orders. Replay error: " + error(table.rows[0].middle.Median(), table.recorded.middle);
    if (slow != 0)
        table.note += ", slow frames " + error(table.rows[0].slow.Median(), table.recorded.slow);
    table.note += ".";
    if (std::abs(table.rows[0].middle.Median() / table.recorded.middle - 1) > kRough)
        table.note += " That is much, so the gains are rough.";
    if (guessed != 0)
        table.note += " " + std::to_string(guessed) +
                      " waits last as long as in the recording, whatever else changes.";
    return table;
}

}  // namespace machine
