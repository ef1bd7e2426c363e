// The base of all suites: runs a test, and checks data that threads publish.
//
//     struct TwoThreads : Suite<TwoThreads, 2> {
//         void before() {}                  // alone
//         void thread(unsigned index) {}    // each of them
//         void after() {}                   // alone
//     };
//     int main(int argc, char **argv) {
//         Runner runner(argc, argv);
//         runner.Run<TwoThreads>("two_threads", 50000);
//         return runner.Report();
//     }
//
// A test must not depend on addresses or on earlier iterations, because a failed iteration is run a
// second time to print its history.
#pragma once

#include "platform/env.h"
#include "platform/memory.h"

namespace weft::internal {

// Replaces platform/memory.cpp.
inline void *Memory::AllocateZeroed(size_t bytes, size_t alignment) const noexcept {
    return env::World::Get().Allocate(bytes, alignment);
}
inline void Memory::Free(void *memory, size_t, size_t) const noexcept {
    env::World::Get().Free(memory);
}

}  // namespace weft::internal

namespace relacy {

using namespace weft;
using namespace weft::internal;

// A base class that is constructed before the members of the test, and destroyed after them.
struct Iteration {
    Iteration() noexcept { env::World::Get().Begin(); }
    ~Iteration() { env::World::Get().End(); }
};

template <class Test, int kThreads>
struct Suite : Iteration, rl::test_suite<Test, kThreads> {};

inline void Check(bool condition, const char *what, env::Where where = {}) noexcept {
    if (!condition) env::FailAs(rl::test_result_user_assert_failed, what, where);
}

/// Data that one thread writes and another one reads. Without an order between the two this is a
/// data race.
class Data {
public:
    void Write(int value, env::Where where = {}) noexcept { m_value(where) = value; }
    int Read(env::Where where = {}) const noexcept { return m_value(where); }

private:
    rl::var<int> m_value{0};
};

class Runner {
public:
    /// Arguments: [--iterations PERCENT] [--history] [test...]
    Runner(int argc, char **argv) {
        for (int i = 1; i < argc; ++i) {
            const std::string argument = argv[i];
            if (argument == "--iterations" && i + 1 < argc)
                m_percent = std::stoull(argv[++i]);
            else if (argument == "--history")
                m_history = true;
            else
                m_only.push_back(argument);
        }
    }

    template <class Test>
    void Run(const char *name, uint64_t iterations) {
        bool wanted = m_only.empty();
        for (const std::string &only : m_only) wanted = wanted || only == name;
        if (!wanted) return;
        std::ofstream nowhere;
        rl::test_params params;
        params.test_name = name;
        params.iteration_count = iterations * m_percent / 100 + 1;
        params.execution_depth_limit = 20000;
        params.progress_stream = params.output_stream = &nowhere;
        const auto begin = std::chrono::steady_clock::now();
        const bool ok = Explore<Test>(params) == rl::test_result_success;
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        m_iterations += params.stop_iteration;
        ++(ok ? m_passed : m_failed);
        if (ok) {
            std::printf("%-28s | %9llu iterations | %6.1f s\n", name,
                        static_cast<unsigned long long>(params.stop_iteration), took.count());
        } else {
            std::printf("%s FAILED after %llu iterations: %s\n", name,
                        static_cast<unsigned long long>(params.stop_iteration),
                        rl::test_result_str(params.test_result));
        }
        std::fflush(stdout);
        // The threads of the failed iteration have not ended.
        if (!ok) std::exit(1);
    }

    int Report() const {
        std::printf("%u tests, %llu iterations\n", m_passed,
                    static_cast<unsigned long long>(m_iterations));
        return m_failed == 0 && m_passed != 0 ? 0 : 1;
    }

private:
    // Like rl::simulate, with only one of its three schedulers. The others take as long to compile.
    template <class Test>
    rl::test_result_e Explore(rl::test_params &params) const {
        using Random = rl::random_scheduler<Test::params::thread_count>;
        rl::ostringstream state;
        const rl::test_result_e result = rl::run_test<Test, Random>(params, state, false);
        if (result != rl::test_result_success && m_history) {
            params.initial_state = state.str();
            params.collect_history = true;
            params.output_stream = &std::cout;
            rl::run_test<Test, Random>(params, state, true);
        }
        return result;
    }

    std::vector<std::string> m_only;
    uint64_t m_percent = 100, m_iterations = 0;
    uint32_t m_passed = 0, m_failed = 0;
    bool m_history = false;
};

}  // namespace relacy
