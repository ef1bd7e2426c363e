// The page that shows a recording: one HTML file that needs no network. It holds the recording, and
// analyses it in the browser. bench/trace/page/ has the page.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace weft::trace {

/// What the page shows beside the recording. All of it may be left out.
struct HtmlOptions {
    std::string title;         ///< The heading of the page.
    uint64_t frameBudget = 0;  ///< The nanoseconds that a frame may take.
    /// Numbers of frames, and their pictures as data addresses (`data:image/png;base64,...`).
    std::vector<std::pair<uint32_t, std::string>> pictures;
    /// Addresses of functions, and their names, for tasks without a name and for blocking calls.
    std::vector<std::pair<uint64_t, std::string>> functions;
    /// A table of what would help, in JSON: `whatIf` at the top of page/page.js.
    std::string whatIf;
};

/// Writes the page of a recording. `file`: the recording as Recorder::Write has written it; it may
/// be cut or damaged. Returns false if the stream has failed.
bool WriteHtml(const std::vector<unsigned char> &file, const HtmlOptions &options,
               std::ostream &out);

}  // namespace weft::trace
