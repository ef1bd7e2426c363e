// Writes the page of a recording by bench/trace/export_html.h, for tests/trace_page.sh.
//
//     write_html RECORDING TITLE BUDGET > report.html
#include "trace/export_html.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

int main(int count, char **arguments) {
    if (count != 4) return 2;
    std::ifstream file(arguments[1], std::ios::binary);
    const std::vector<unsigned char> bytes((std::istreambuf_iterator<char>(file)), {});
    weft::trace::HtmlOptions options;
    options.title = arguments[2];
    options.frameBudget = std::strtoull(arguments[3], nullptr, 10);
    options.pictures = {{3, "data:image/gif;base64,R0lGODlhAQABAAAAACw="}};
    options.functions = {{0x402000, "Load<File>"}};
    options.whatIf = R"({"note":"<b>","base":{"p50":2e6,"p99":3e6},"rows":[]})";
    return weft::trace::WriteHtml(bytes, options, std::cout) ? 0 : 1;
}
