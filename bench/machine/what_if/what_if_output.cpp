// Prints the table, and writes it for the page.
#include "machine/what_if/what_if.h"

#include "trace/output.h"

namespace machine {

namespace {

std::string GainText(const Gain &gain) {
    if (gain.isNoise) return "within noise";
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", gain.ns * 1e-6);
    return text;
}

void WriteTimes(const char *key, const Sample &base, const Sample &sample, std::ostream &out) {
    const Gain gain = GainOf(base, sample);
    trace::Print(
        out, "\"%s\":{\"ns\":%.0f,\"gain\":%.0f,\"least\":%.0f,\"most\":%.0f,\"isNoise\":%s}", key,
        sample.Median(), gain.ns, gain.least, gain.most, gain.isNoise ? "true" : "false");
}

}  // namespace

void PrintTable(const WhatIfTable &table, std::ostream &out) {
    out << table.note << "\n\n";
    const bool hasSlow = table.recorded.slow != 0;
    trace::Print(out, "%-32s %10s %13s %19s", "change (ms)", "frame", "gain", "least, most");
    if (hasSlow) trace::Print(out, " %11s %13s", "slow frame", "gain");
    const WhatIfRow &base = table.rows[0];
    for (size_t i = 0; i < table.rows.size(); ++i) {
        const WhatIfRow &row = table.rows[i];
        trace::Print(out, "\n%-32s %10.3f", row.text.c_str(), row.middle.Median() * 1e-6);
        if (i == 0) {
            if (hasSlow) trace::Print(out, " %13s %19s %11.3f", "", "", row.slow.Median() * 1e-6);
            continue;
        }
        const Gain gain = GainOf(base.middle, row.middle);
        trace::Print(out, " %13s %9.3f, %8.3f", GainText(gain).c_str(), gain.least * 1e-6,
                     gain.most * 1e-6);
        if (hasSlow)
            trace::Print(out, " %11.3f %13s", row.slow.Median() * 1e-6,
                         GainText(GainOf(base.slow, row.slow)).c_str());
    }
    out << '\n';
}

void WriteJson(const WhatIfTable &table, std::ostream &out) {
    out << "{\"note\":" << trace::Quoted(table.note) << ",\"rows\":[";
    const WhatIfRow &base = table.rows[0];
    for (size_t i = 0; i < table.rows.size(); ++i) {
        const WhatIfRow &row = table.rows[i];
        out << (i == 0 ? "\n" : ",\n") << "{\"change\":" << trace::Quoted(row.text) << ',';
        WriteTimes("middle", base.middle, row.middle, out);
        out << ',';
        WriteTimes("slow", base.slow, row.slow, out);
        out << '}';
    }
    out << "]}\n";
}

}  // namespace machine
