// Makes the mistakes that weft reports, one after the other. Prints each report: its code, what was
// wrong, and what to do. A child process makes a mistake that ends the process, and its stderr is
// read.
//
//     samples/run.sh anti_patterns
#include "anti_patterns/mistakes.h"

#include <cstdio>
#include <regex>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using anti_patterns::AllMistakes;
using anti_patterns::Log;
using anti_patterns::Mistake;

// Replaces addresses, because they differ from run to run.
std::string WithoutAddresses(const std::string &text) {
    return std::regex_replace(text, std::regex("0x[0-9a-f]+"), "0x...");
}

// Returns the first line that the child writes to stderr, or an empty text.
std::string MakeInChild(const Mistake &mistake) {
    int pipeEnds[2];
    if (pipe(pipeEnds) != 0) return {};
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const rlimit noCoreFile{0, 0};
        setrlimit(RLIMIT_CORE, &noCoreFile);
        dup2(pipeEnds[1], STDERR_FILENO);
        Log log;
        mistake.make(log);
        _exit(0);
    }
    close(pipeEnds[1]);
    std::string output;
    char part[4096];
    for (ssize_t bytes; (bytes = read(pipeEnds[0], part, sizeof part)) > 0;) {
        output.append(part, static_cast<size_t>(bytes));
    }
    close(pipeEnds[0]);
    int status = 0;
    const bool died = child > 0 && waitpid(child, &status, 0) == child && status != 0;
    const std::string prefix = "weft: fatal: ";
    if (!died || output.compare(0, prefix.size(), prefix) != 0) return {};
    return output.substr(prefix.size(), output.find('\n') - prefix.size());
}

std::string Make(const Mistake &mistake) {
    if (mistake.fatal) return MakeInChild(mistake);
    Log log;
    mistake.make(log);
    return log.TextOf(mistake.code);
}

}  // namespace

int main() {
    bool right = true;
    for (const Mistake &mistake : AllMistakes()) {
        const std::string report = Make(mistake);
        right &= !report.empty();
        std::printf("%-16s  %s\n", mistake.codeName,
                    report.empty() ? "NOT REPORTED" : WithoutAddresses(report).c_str());
    }
    return right ? 0 : 1;
}
