// Implements export_html.h: fills the two places of the page that page/embed.lua has made a source
// of.
#include "trace/export_html.h"

#include "trace/base64.h"
#include "trace/utf8.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace weft::trace {

// page/embed.lua
extern const char kPageTemplate[];
extern const size_t kPageTemplateBytes;

namespace {

// Text in JSON. `<` is escaped, too, so that no text can end the element that has the JSON. A byte
// that is not valid UTF-8 becomes an escape, such as \xff.
std::string Quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : ::trace::ValidUtf8(text)) {
        const unsigned code = static_cast<unsigned char>(c);
        if (code < 0x20 || c == '"' || c == '\\' || c == '<') {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", code);
            result += escape;
        } else {
            result += c;
        }
    }
    return result + '"';
}

std::string Json(const HtmlOptions &options) {
    std::string result = "{\"title\":" + Quoted(options.title) +
                         ",\"budget\":" + std::to_string(options.frameBudget) + ",\"pictures\":[";
    const char *separator = "";
    for (const auto &[frame, url] : options.pictures) {
        result += separator;
        result += "{\"frame\":" + std::to_string(frame) + ",\"url\":" + Quoted(url) + '}';
        separator = ",";
    }
    result += "],\"functions\":{";
    separator = "";
    for (const auto &[address, name] : options.functions) {
        char text[24];
        std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
        result += separator + Quoted(text) + ':' + Quoted(name);
        separator = ",";
    }
    result += '}';
    if (!options.whatIf.empty()) {
        result += ",\"whatIf\":";
        for (const char c : options.whatIf) {  // inside of JSON, `<` occurs only in texts
            if (c == '<')
                result += "\\u003c";
            else
                result += c;
        }
    }
    return result + '}';
}

// In parts, so that there is no second copy of the recording.
void WriteBase64(const std::vector<unsigned char> &bytes, std::ostream &out) {
    constexpr size_t kPart = 3 << 14;  // threes of bytes, so that only the last part has a `=`
    for (size_t i = 0; i < bytes.size(); i += kPart)
        out << ::trace::Base64(bytes.data() + i, std::min(kPart, bytes.size() - i));
}

}  // namespace

bool WriteHtml(const std::vector<unsigned char> &file, const HtmlOptions &options,
               std::ostream &out) {
    const std::string_view page(kPageTemplate, kPageTemplateBytes);
    constexpr std::string_view kOptions = "/*@options*/", kRecording = "/*@recording*/";
    const size_t first = page.find(kOptions), second = page.find(kRecording);
    if (first == page.npos || second == page.npos || second < first) return false;
    out << page.substr(0, first) << Json(options)
        << page.substr(first + kOptions.size(), second - first - kOptions.size());
    WriteBase64(file, out);
    out << page.substr(second + kRecording.size()) << std::flush;
    return out.good();
}

}  // namespace weft::trace
