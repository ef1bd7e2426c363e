// Implements the process that measures: it gets requests and sends results through two pipes.
#include "measuring_process.h"

#include "bodies.h"
#include "rounds.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

namespace {

template <class T>
bool Send(int file, T value) {
    return write(file, &value, sizeof value) == static_cast<ssize_t>(sizeof value);
}

template <class T>
bool Receive(int file, T &value) {
    return read(file, &value, sizeof value) == static_cast<ssize_t>(sizeof value);
}

}  // namespace

MeasuringProcess::MeasuringProcess(const std::function<double()> &measure) {
    int requests[2], answers[2];
    if (pipe(requests) != 0 || pipe(answers) != 0) Wrong("no pipe for a process that measures");
    std::fflush(nullptr);
    m_process = fork();
    if (m_process < 0) Wrong("no process to measure in");
    if (m_process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(requests[1]);
        close(answers[0]);
        std::thread([] { pause(); }).detach();
        bool wanted = false;
        while (Receive(requests[0], wanted) && wanted) {
            Spin(2e6);  // raises the clock frequency after a measurement that slept
            if (!Send(answers[1], measure())) break;
        }
        std::fflush(nullptr);
        _exit(0);
    }
    close(requests[0]);
    close(answers[1]);
    m_requests = requests[1];
    m_answers = answers[0];
}

MeasuringProcess::~MeasuringProcess() {
    Send(m_requests, false);
    close(m_requests);
    close(m_answers);
    waitpid(m_process, nullptr, 0);
}

double MeasuringProcess::Measure() {
    double answer = 0;
    if (!Send(m_requests, true) || !Receive(m_answers, answer)) std::exit(1);  // it said why
    return answer;
}

}  // namespace bench
