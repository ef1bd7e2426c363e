// Catch2's main, for every test program.

#define CATCH_CONFIG_MAIN
// Catch2's handler for SIGSEGV would hide the stack overflow reports, and runs on a signal stack of
// its own.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include <catch2/catch.hpp>

#include <cstdlib>
#include <iostream>

namespace {

// For tests/run.sh: ends each run with the line that it adds up, and on demand names each test case
// as it starts, so that a crash or a hang is known by its test case.
class Summary : public Catch::TestEventListenerBase {
public:
    using TestEventListenerBase::TestEventListenerBase;

    void testCaseStarting(const Catch::TestCaseInfo &info) override {
        if (m_announce) std::cout << "running: " << info.name << std::endl;
    }

    void testRunEnded(const Catch::TestRunStats &stats) override {
        const Catch::Counts &cases = stats.totals.testCases;
        const auto passed = cases.passed + cases.failedButOk;
        std::cout << '\n' << passed << " passed, " << cases.failed << " failed" << std::endl;
    }

private:
    const bool m_announce = std::getenv("WEFT_ANNOUNCE_TESTS") != nullptr;
};

}  // namespace

CATCH_REGISTER_LISTENER(Summary)
