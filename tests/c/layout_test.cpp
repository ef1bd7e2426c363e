// The first include, so that this shows that weft.h needs no other header.
#include "weft/weft.h"

#include <set>
#include <string>

#include <catch2/catch.hpp>

TEST_CASE("C: each status and each report code has its own name", "[c]") {
    std::set<std::string> names;
    for (weft_status status = 0; status <= WEFT_STATUS_TOO_MANY_THREADS; ++status)
        names.insert(weft_status_name(status));
    CHECK(names.size() == WEFT_STATUS_TOO_MANY_THREADS + 1);
    CHECK(names.count("unknown") == 0);
    CHECK(std::string(weft_status_name(WEFT_STATUS_NOT_RUNNING)) == "NotRunning");
    CHECK(std::string(weft_status_name(200)) == "unknown");
    names.clear();
    for (weft_report_code code = 0; code <= WEFT_REPORT_ONE_CPU; ++code) {
        if (code != 20) names.insert(weft_report_name(code));  // older versions had a code 20
    }
    CHECK(names.size() == WEFT_REPORT_ONE_CPU);
    CHECK(names.count("unknown") == 0);
    CHECK(std::string(weft_report_name(WEFT_REPORT_STALLED)) == "Stalled");
    CHECK(std::string(weft_report_name(1000)) == "unknown");
    CHECK(weft_version() == WEFT_VERSION_NUMBER);
}
