// Checks that hold for every timeline.
#pragma once

#include "trace/timeline.h"

#include <string>

namespace test {

/// Returns what is wrong with a timeline, or an empty text: times outside of the window, slices
/// that do not nest, segments that overlap, sums that differ.
std::string WrongIn(const trace::Timeline &timeline);

/// Returns what is wrong with the timeline of a run of which all events are there: tasks without a
/// begin, an end or a submission, submitted tasks that never began, waits without a release.
std::string MissingIn(const trace::Timeline &timeline);

}  // namespace test
