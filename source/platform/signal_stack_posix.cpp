// Signal stacks with sigaltstack, and the fault handler with sigaction.
#include "platform/signal_stack.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace weft::env {

namespace {

constexpr int kSignals[2] = {SIGSEGV, SIGBUS};

pthread_mutex_t s_handlerMutex = PTHREAD_MUTEX_INITIALIZER;
unsigned s_installs = 0;  // guarded by the mutex
struct sigaction s_before[2];
// our handler could not be removed, because a handler that was installed later may call it
bool s_inChain[2];
// relaxed: written before the handler is installed
std::atomic<void (*)(const void *)> s_describe{nullptr};

// The fault handler. It calls the handler that was installed before.
void Handle(int number, siginfo_t *info, void *context) {
    const auto describe = s_describe.load(std::memory_order_relaxed);
    if (describe != nullptr) describe(info->si_addr);
    const struct sigaction &before = s_before[number == kSignals[0] ? 0 : 1];
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        // when we return, the access is repeated, and the system ends the process
        signal(number, SIG_DFL);
    }
}

}  // namespace

void WriteError(const char *text) noexcept {
    for (size_t left = std::strlen(text); left > 0;) {
        const ssize_t written = write(STDERR_FILENO, text, left);
        if (written <= 0) return;
        text += written;
        left -= static_cast<size_t>(written);
    }
}

bool SignalStack::Acquire(internal::Memory memory) noexcept {
    if (m_stack != nullptr) return true;
    m_memory = memory;
    m_bytes = 32 << 10;
#if defined(_SC_SIGSTKSZ)
    m_bytes = std::max(m_bytes, static_cast<size_t>(std::max(sysconf(_SC_SIGSTKSZ), 0l)));
#endif
    m_stack = memory.AllocateZeroed(m_bytes, 16);
    return m_stack != nullptr;
}

void SignalStack::Set() noexcept {
    if (m_stack == nullptr) return;
    stack_t current;
    // the thread has a signal stack already
    if (sigaltstack(nullptr, &current) != 0 || (current.ss_flags & SS_DISABLE) == 0) return;
    stack_t own{};
    own.ss_sp = m_stack;
    own.ss_size = m_bytes;
    m_isSet = sigaltstack(&own, nullptr) == 0;
}

void SignalStack::Reset() noexcept {
    if (!m_isSet) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    m_isSet = false;
}

bool InstallFaultHandler(void (*describe)(const void *address)) noexcept {
    pthread_mutex_lock(&s_handlerMutex);
    bool installed = true;
    if (s_installs++ == 0) {
        s_describe.store(describe, std::memory_order_relaxed);
        struct sigaction action {};
        action.sa_sigaction = Handle;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        for (int i = 0; i < 2; ++i) {
            struct sigaction current;
            const bool known = sigaction(kSignals[i], nullptr, &current) == 0;
            // If it were installed twice, the handler would call itself.
            if (s_inChain[i] && known && current.sa_sigaction != s_before[i].sa_sigaction) continue;
            s_inChain[i] = false;
            installed = sigaction(kSignals[i], &action, &s_before[i]) == 0;
            if (installed) continue;
            while (--i >= 0) {  // not one handler alone: it would never be removed
                if (!s_inChain[i]) sigaction(kSignals[i], &s_before[i], nullptr);
            }
            break;
        }
    }
    if (!installed) --s_installs;
    pthread_mutex_unlock(&s_handlerMutex);
    return installed;
}

void RemoveFaultHandler() noexcept {
    pthread_mutex_lock(&s_handlerMutex);
    if (--s_installs == 0) {
        for (int i = 0; i < 2; ++i) {
            struct sigaction current;
            // If another handler was installed later, it calls ours. Then ours must stay.
            if (sigaction(kSignals[i], nullptr, &current) != 0) continue;
            s_inChain[i] = current.sa_sigaction != Handle;
            if (!s_inChain[i]) sigaction(kSignals[i], &s_before[i], nullptr);
        }
    }
    pthread_mutex_unlock(&s_handlerMutex);
}

}  // namespace weft::env
