// The program part that all trace programs share: collects different traces and prints them.
#include "spin/traces.h"

#include "platform/env.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>

namespace traces {

void Trace::Begin(std::function<uint32_t()> observe) {
    m_observe = std::move(observe);
    simulator::Observe([this] { Note(); });
    Note();
}

void Trace::Note() {
    if (m_ended) return;
    const uint32_t now = m_observe();
    if (m_values.empty() || m_values.back() != now) m_values.push_back(now);
    m_ended = m_endsHere;
}

void Trace::End() {
    Note();
    simulator::Observe(nullptr);
    m_ended = true;
}

void RunAll(std::vector<std::function<void()>> &works) {
    std::vector<weft::env::Thread> threads(works.size());
    for (size_t i = 0; i < works.size(); ++i) {
        threads[i].Start([](void *work) { (*static_cast<std::function<void()> *>(work))(); },
                         &works[i], 0);
    }
    for (weft::env::Thread &thread : threads) thread.Join();
}

int Print(int argc, char **argv, const std::function<void(Trace &)> &run) {
    const size_t runs = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20;
    const bool isMutant = argc > 2 && argv[2][0] != '\0';
    std::set<std::vector<uint32_t>> found;
    uint64_t seed = 0;
    while (found.size() < runs && seed < runs * 1000) {
        ++seed;
        Trace trace;
        const simulator::Outcome outcome = simulator::Explore(seed, [&] { run(trace); });
        if (isMutant && !trace.HasEnded()) continue;
        if (!isMutant && (!trace.HasEnded() || !outcome.failure.empty())) {
            std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed),
                         outcome.failure.c_str());
            return 1;
        }
        found.insert(trace.Values());
    }
    size_t longest = 0, values = 0;
    for (const std::vector<uint32_t> &trace : found) {
        longest = trace.size() > longest ? trace.size() : longest;
        values += trace.size();
    }
    std::printf("/* %zu different ones of %llu runs, %zu values */\n", found.size(),
                static_cast<unsigned long long>(seed), values);
    std::printf("#define TRACE_COUNT %zu\nstatic const short lengths[] = {", found.size());
    for (const std::vector<uint32_t> &trace : found) std::printf("%zu, ", trace.size());
    std::printf("};\nstatic const int traces[][%zu] = {\n", longest);
    for (const std::vector<uint32_t> &trace : found) {
        std::printf("    {");
        for (const uint32_t value : trace) std::printf("%u, ", value);
        std::printf("},\n");
    }
    std::printf("};\n");
    return 0;
}

}  // namespace traces
