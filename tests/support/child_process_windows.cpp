// RunInChild without fork. The child is this program, started again. It runs the same test case up
// to the same call, and there it runs the body.
#include "support/child_process.h"

#include "platform/windows_api.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

namespace test {

namespace {

// The number of the call in the test case for which the child was started, from 1.
constexpr const char *kCall = "WEFT_CHILD_CALL";
constexpr const char kArrived[] = "the child has come to its call\n";
constexpr UINT kAborted = 0x40000015;  // STATUS_FATAL_APP_EXIT
constexpr DWORD kTimeoutMs = 60000;

// The count starts again in each test case.
int NumberOfThisCall(const std::string &testCase) {
    static std::string s_testCase;
    static int s_calls = 0;
    if (s_testCase != testCase) s_calls = 0;
    s_testCase = testCase;
    return ++s_calls;
}

void Write(const char *text, size_t bytes) {
    DWORD written;
    WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, static_cast<DWORD>(bytes), &written, nullptr);
}

[[noreturn]] void RunHere(const std::function<void()> &body) {
    SetErrorMode(SEM_FAILCRITICALERRORS |
                 SEM_NOGPFAULTERRORBOX);  // no dialog: no user could answer it
    std::signal(SIGABRT, [](int) { TerminateProcess(GetCurrentProcess(), kAborted); });
    Write(kArrived, sizeof kArrived - 1);
    body();
    TerminateProcess(GetCurrentProcess(), 0);
    std::abort();
}

struct Child {
    HANDLE process = nullptr;
    HANDLE output = nullptr;  // to be read to its end
};

// Returns an error code, or 0.
DWORD StartProgramAgain(const std::string &testCase, int call, Child &child) {
    SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
    HANDLE errors = nullptr;
    if (CreatePipe(&child.output, &errors, &inherited, 0) == 0) return GetLastError();
    SetHandleInformation(child.output, HANDLE_FLAG_INHERIT, 0);
    const HANDLE nowhere = CreateFileA("NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ,
                                       &inherited, OPEN_EXISTING, 0, nullptr);
    STARTUPINFOA startup{};
    startup.cb = sizeof startup;
    startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdInput = startup.hStdOutput = nowhere;
    startup.hStdError = errors;
    char program[MAX_PATH];
    GetModuleFileNameA(nullptr, program, sizeof program);
    std::string name;  // escaped for Catch2's command line
    for (const char c : testCase)
        name += std::string(std::strchr(",[]", c) != nullptr ? "\\" : "") + c;
    std::string line = "\"" + std::string(program) + "\" \"" + name + "\"";
    SetEnvironmentVariableA(kCall, std::to_string(call).c_str());
    PROCESS_INFORMATION made{};
    const bool started = CreateProcessA(program, line.data(), nullptr, nullptr, TRUE, 0, nullptr,
                                        nullptr, &startup, &made) != 0;
    const DWORD error = started ? 0 : GetLastError();
    SetEnvironmentVariableA(kCall, nullptr);
    CloseHandle(errors);
    CloseHandle(nowhere);
    CloseHandle(started ? made.hThread : child.output);
    child.process = made.hProcess;
    return error;
}

// Tries a few times: under high load wine may fail to start a child.
void StartChild(const std::string &testCase, int call, Child &child) {
    constexpr int kAttempts = 3;
    DWORD error = StartProgramAgain(testCase, call, child);
    for (int attempt = 1; error != 0 && attempt < kAttempts; ++attempt) {
        WARN("the child could not be started: error " << error);
        Sleep(500);
        error = StartProgramAgain(testCase, call, child);
    }
    if (error != 0) FAIL("the child could not be started: error " << error);
}

ChildResult ResultOf(DWORD code, std::string output) {
    ChildResult result;
    // Normalises the line ends.
    output.erase(std::remove(output.begin(), output.end(), '\r'), output.end());
    const size_t arrived = output.find(kArrived);
    if (arrived == std::string::npos)
        FAIL("the child did not come to its call: code " << code << ", " << output);
    output.erase(0, arrived + sizeof kArrived - 1);
    result.output = std::move(output);
    // The system ends a process with the code of an exception.
    const bool faulted = code >= 0x80000000u;
    result.signal = code == kAborted ? SIGABRT : faulted ? SIGSEGV : 0;
    result.exited = result.signal == 0;
    result.code = result.exited ? static_cast<int>(code) : 0;
    return result;
}

}  // namespace

ChildResult RunInChild(const std::function<void()> &body) {
    const std::string testCase = Catch::getResultCapture().getCurrentTestName();
    const int call = NumberOfThisCall(testCase);
    if (const char *wanted = std::getenv(kCall)) {
        if (std::atoi(wanted) == call) RunHere(body);
        return {};  // this child was started for another call, so the result does not matter
    }
    Child child;
    StartChild(testCase, call, child);
    std::string output;
    std::thread reader([&] {
        char buffer[512];
        for (DWORD got = 0;
             ReadFile(child.output, buffer, sizeof buffer, &got, nullptr) != 0 && got != 0;) {
            output.append(buffer, got);
        }
    });
    if (WaitForSingleObject(child.process, kTimeoutMs) != WAIT_OBJECT_0)
        TerminateProcess(child.process, 0x800000ff);
    reader.join();
    DWORD code = 0;
    GetExitCodeProcess(child.process, &code);
    CloseHandle(child.process);
    CloseHandle(child.output);
    return ResultOf(code, std::move(output));
}

void EndAfter(unsigned seconds) {
    std::thread([=] {
        Sleep(seconds * 1000);
        TerminateProcess(GetCurrentProcess(), 0x800000ff);
    }).detach();
}

}  // namespace test
