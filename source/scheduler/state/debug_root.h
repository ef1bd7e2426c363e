// weft_debug_root: where debuggers and crash handlers begin. From this one object they find the
// schedulers of a process, their workers and fibers, and the registers of each suspended fiber.
// They need no debug information of weft. third_party/debugger has commands for gdb and lldb.
//
// How to find it. It is a symbol of the program, or of the shared library. If the symbols were
// stripped, look in the writable sections of the program for `magic` at an address that is equal to
// `self`.
//
// What a reader may rely on. `version` changes only if the meaning of this struct changes.
// Everything else is found by name in `fields`: an offset in bytes, a size in bytes, or a number.
// A reader must do without a field that is missing. All names lie in the records, and all records
// in writable memory, because a core dump has no constants.
//
// Which schedulers there are. `schedulers` is the table of scheduler_tags.h, with schedulersCount
// entries. It has no lock, so a crash cannot leave it locked, and a debugger may stop the process
// at any instruction. SchedulerTag::Publish enters a scheduler after all of its parts have been
// made, and SchedulerTag::Release clears the entry before the first part is freed (both seq_cst).
// As a release, the store in Publish comes after everything that was written to the scheduler. So
// in a stopped process each entry that is not null is a whole scheduler. A crash handler reads the
// table while other threads run. It must use SchedulerTag::Find's protocol, or accept that a
// scheduler ends while it reads.
//
// Each member that is described here is written with one store, so a reader never gets half of an
// old value and half of a new one.
#pragma once

#include "platform/saved_registers.h"
#include "weft/export.h"

#include <cstdint>

namespace weft::internal {

struct DebugRoot {
    char magic[16];
    uint32_t version;
    uint32_t pointerBytes;
    const void *self;  // its own address: tells it from copies of `magic`
    char weftVersion[16];
    uint32_t fieldBytes;  // the distance of two records, in all three tables of records
    uint32_t fieldCount;
    const NamedValue *fields;
    const NamedValue *contextLayout;
    const NamedValue *registers;  // see saved_registers.h
    uint32_t registerCount;
    uint32_t schedulersCount;
    const void *schedulers;
};

}  // namespace weft::internal

/// Scheduler::debugRoot holds its address, so that linkers keep the object in a program that is
/// linked with the static library.
extern "C" WEFT_API weft::internal::DebugRoot weft_debug_root;
