// WebAssembly has no signals. An access outside of the memory ends the program.
#include "platform/signal_stack.h"

#include <cstdio>

namespace weft::env {

void WriteError(const char *text) noexcept { std::fputs(text, stderr); }

bool SignalStack::Acquire(internal::Memory) noexcept { return true; }
void SignalStack::Set() noexcept {}
void SignalStack::Reset() noexcept {}

bool InstallFaultHandler(void (*)(const void *)) noexcept { return false; }
void RemoveFaultHandler() noexcept {}

}  // namespace weft::env
