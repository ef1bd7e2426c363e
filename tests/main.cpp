// Catch2's main, for every test program.

#if defined(__EMSCRIPTEN__)
#define CATCH_CONFIG_RUNNER
#else
#define CATCH_CONFIG_MAIN
#endif
// Catch2's handler for SIGSEGV would hide the stack overflow reports, and runs on a signal stack of
// its own.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include <catch2/catch.hpp>

#include "case_limit.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#if defined(__EMSCRIPTEN__)
#include <cerrno>

#include <pthread.h>
#endif

namespace {

// For tests/run.sh: ends each run with the line that it adds up, and on demand names each test case
// as it starts, so that a crash or a hang is known by its test case.
class Summary : public Catch::TestEventListenerBase {
public:
    using TestEventListenerBase::TestEventListenerBase;

    void testRunEnded(const Catch::TestRunStats &stats) override {
        const Catch::Counts &cases = stats.totals.testCases;
        const auto passed = cases.passed + cases.failedButOk;
        s_failed = cases.failed - m_leftOut;
        if (m_leftOut != 0) std::cout << m_leftOut << " left out: they need threads" << std::endl;
        std::cout << '\n' << passed << " passed, " << s_failed << " failed" << std::endl;
    }

#if defined(__EMSCRIPTEN__)
    // A test case that fails after a refusal is left out.
    void testCaseStarting(const Catch::TestCaseInfo &info) override {
        s_refused = false;
        Announce(info);
    }
    void testCaseEnded(const Catch::TestCaseStats &stats) override {
        if (stats.totals.testCases.failed != 0 && s_refused) ++m_leftOut;
    }
    static bool s_refused;
#else
    void testCaseStarting(const Catch::TestCaseInfo &info) override {
        Announce(info);
        const auto &tags = info.lcaseTags;
        test::BeginCase(info.name, std::find(tags.begin(), tags.end(), "long") != tags.end());
    }
    void testCaseEnded(const Catch::TestCaseStats &stats) override {
        test::EndCase(stats.totals.testCases.failed == 0);
    }
#endif

    static std::size_t s_failed;

private:
    void Announce(const Catch::TestCaseInfo &info) const {
        if (m_announce) std::cout << "running: " << info.name << std::endl;
    }
    std::size_t m_leftOut = 0;
    const bool m_announce = std::getenv("WEFT_ANNOUNCE_TESTS") != nullptr;
};

std::size_t Summary::s_failed = 1;

}  // namespace

CATCH_REGISTER_LISTENER(Summary)

#if defined(__EMSCRIPTEN__)
bool Summary::s_refused = false;

// The linker redirects calls of weft and of the tests to these functions (--wrap). Emscripten
// refuses both calls, too.
extern "C" int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                                     void *) {
    Summary::s_refused = true;
    return EAGAIN;
}
extern "C" int __wrap_fork() {
    Summary::s_refused = true;
    return -1;
}

// What main returns is lost if the program has changed stacks meanwhile.
int main(int argc, char **argv) {
    Catch::Session().run(argc, argv);
    std::exit(Summary::s_failed == 0 ? 0 : 1);
}
#endif
