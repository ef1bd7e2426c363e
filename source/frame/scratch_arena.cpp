// An arena of runs of blocks. Each run begins with a header that names the run before it.
#include "weft/frame/scratch_arena.h"

#include "frame/blocks.h"
#include "platform/compiler.h"

#include <cstring>

namespace weft {

using namespace internal;

namespace {

// The header at the beginning of each run of blocks.
struct RunHeader {
    size_t usedBefore;   // bytes in use of the run before, when this run was taken
    uint32_t runBefore;  // the first block of the run before; kNoBlock: none
    uint32_t blocks;
};

// Copies the header of a run.
RunHeader HeaderOf(const char *run) noexcept {
    RunHeader header;
    std::memcpy(&header, run, sizeof header);
    return header;
}

}  // namespace

void *ScratchArena::Allocate(size_t bytes, size_t alignment) noexcept {
    const BlockPoolState *pool = Blocks::StateOf(*m_pool);
    if (WEFT_UNLIKELY(pool == nullptr)) return nullptr;  // the pool has reported why
    if (WEFT_UNLIKELY(!IsPowerOfTwo(alignment) || alignment > pool->blockBytes / 2)) {
        ReportTo(pool->onReport, pool->user, ReportCode::BadOption,
                 "Give a power of two, at most half a block.",
                 "ScratchArena: an alignment of %zu bytes", alignment);
        return nullptr;
    }
    if (bytes == 0) bytes = 1;
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (m_first != nullptr) {
            const size_t begin =
                static_cast<size_t>(AlignUp(m_first + m_used, alignment) - m_first);
            if (begin <= m_bytes && bytes <= m_bytes - begin) {
                m_used = begin + bytes;
                return m_first + begin;
            }
        }
        if (attempt != 0 || !Grow(bytes, alignment)) break;
    }
    return nullptr;
}

// Takes a run of blocks with room for that many bytes. It becomes the newest run.
bool ScratchArena::Grow(size_t bytes, size_t alignment) noexcept {
    BlockPoolState &pool = *Blocks::StateOf(*m_pool);
    const size_t before = (sizeof(RunHeader) + alignment - 1) & ~(alignment - 1);
    const size_t whole = bytes > SIZE_MAX - before ? SIZE_MAX : bytes + before;
    const uint32_t count = Blocks::For(pool, whole);
    // Threads begin the search at different words, so that not all of them write to the same word.
    const uint32_t run = count > BlockPool::kMaxContiguous
                             ? kNoBlock
                             : Blocks::Claim(pool, count, env::ThreadHint());
    if (run == kNoBlock) {
        Blocks::ReportFull(*m_pool, "ScratchArena", whole);
        return false;
    }
    const RunHeader header{m_used, m_run, count};
    m_run = run;
    m_first = Blocks::At(pool, run);
    m_bytes = count * pool.blockBytes;
    m_used = sizeof header;
    std::memcpy(m_first, &header, sizeof header);
    return true;
}

// Returns true if the mark lies in the memory that is in use.
bool ScratchArena::Has(Mark mark) const noexcept {
    uint32_t run = m_run;
    size_t used = m_used;
    while (run != mark.run) {
        if (run == kNoBlock) return false;
        const RunHeader header = HeaderOf(Blocks::At(*Blocks::StateOf(*m_pool), run));
        run = header.runBefore;
        used = header.usedBefore;
    }
    return mark.used <= used && (run == kNoBlock || mark.used >= sizeof(RunHeader));
}

void ScratchArena::Rewind(Mark mark) noexcept {
    const BlockPoolState *state = Blocks::StateOf(*m_pool);
    if (WEFT_UNLIKELY(state != nullptr && !Has(mark))) {
        ReportTo(state->onReport, state->user, ReportCode::BadOption,
                 "Use a mark of this arena. A Rewind invalidates all marks newer than its own.",
                 "ScratchArena::Rewind: the mark is not in the memory in use");
        return;
    }
    while (m_run != mark.run && m_run != kNoBlock) {
        BlockPoolState &pool = *Blocks::StateOf(*m_pool);
        const RunHeader header = HeaderOf(m_first);
        Blocks::Release(pool, m_run, header.blocks);
        m_run = header.runBefore;
        m_used = header.usedBefore;
        m_first = m_run != kNoBlock ? Blocks::At(pool, m_run) : nullptr;
        m_bytes = m_run != kNoBlock ? HeaderOf(m_first).blocks * pool.blockBytes : 0;
    }
    if (m_run != kNoBlock) m_used = mark.used;
}

}  // namespace weft
