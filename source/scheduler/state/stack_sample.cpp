// Measures the stacks of tasks (StackSample), for SchedulerOptions::stackMeter.
//
// Stacks grow towards lower addresses. Before the task begins, the stack below the current frame is
// set to zero. After the task, the lowest word that is not zero shows how much stack it has used.
#include "platform/compiler.h"
#include "platform/sanitizers.h"
#include "platform/stack_memory.h"
#include "scheduler/state/trace.h"

#include <algorithm>
#include <cstring>

namespace weft::internal {

namespace {

// The functions below run on the stack that they look at. So they leave out this many bytes below
// their own frames, which they need themselves. And the frames between them and the function that
// calls the task take less than this.
constexpr size_t kOwn = StackMeter::kLeastBytes / 2;
constexpr size_t kWord = sizeof(uint64_t);

// Returns the end of the part of the stack that the caller may look at and change. Returns `bottom`
// if there is no such part.
WEFT_FORCEINLINE char *EndBelow(char *bottom) noexcept {
    char *const frame = static_cast<char *>(WEFT_FRAME_ADDRESS());
    return static_cast<size_t>(frame - bottom) > kOwn ? frame - kOwn : bottom;
}

// Sets the stack from `bottom` to EndBelow to zero. Leaves out the lowest pages, if they were never
// touched: they are zero already. The words are volatile, so that the compiler does not call
// memset: the one of AddressSanitizer takes more than kOwn bytes of stack.
WEFT_NOINLINE WEFT_NO_ASAN void Clear(char *bottom) noexcept {
    char *const end = EndBelow(bottom);
    char *word = FirstTouched(bottom, end);
    word += -reinterpret_cast<uintptr_t>(word) % kWord;
    for (; word + kWord <= end; word += kWord)
        *static_cast<volatile uint64_t *>(static_cast<void *>(word)) = 0;
}

}  // namespace

// Lowers m_lowest to the lowest word of the stack that is not zero, if that word lies lower.
WEFT_NOINLINE WEFT_NO_ASAN void StackSample::Look(char *bottom) noexcept {
    char *const end = EndBelow(bottom);
    const char *word = FirstTouched(bottom, end);
    word += -reinterpret_cast<uintptr_t>(word) % kWord;
    for (uint64_t value = 0; word + kWord <= std::min<const char *>(m_lowest, end); word += kWord) {
        std::memcpy(&value, word, kWord);
        if (value == 0) continue;
        m_lowest = word;
        return;
    }
}

WEFT_NOINLINE void StackSample::Begin(StackMeter &meter, char *bottom, StackSample *&inner,
                                      const char *name, TaskFunction function) noexcept {
    if (bottom == nullptr) return;
    m_outer = inner;
    const char *const frame = static_cast<const char *>(WEFT_FRAME_ADDRESS());
    if (m_outer != nullptr && m_outer->m_entry != nullptr) {
        m_outer->m_lowest = std::min(m_outer->m_lowest, frame);
        m_outer->Look(bottom);
    }
    inner = this;
    m_entry = StackMeterAccess::FindNext(meter, name, function);
    if (m_entry == nullptr) return;
    m_top = m_lowest = frame + kOwn;
    Clear(bottom);
}

size_t StackSample::End(char *bottom, StackSample *&inner) noexcept {
    if (bottom == nullptr) return 0;
    inner = m_outer;
    size_t bytes = 0;
    if (m_entry != nullptr) {
        Look(bottom);
        bytes = std::max(static_cast<size_t>(m_top - m_lowest), StackMeter::kLeastBytes);
        StackMeterAccess::Note(*m_entry, bytes);
    }
    if (m_outer != nullptr && m_outer->m_entry != nullptr) Clear(bottom);
    return bytes;
}

}  // namespace weft::internal
