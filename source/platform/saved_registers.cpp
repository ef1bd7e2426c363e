// The layouts of Boost.Context that are known.
#include "platform/saved_registers.h"

#if defined(__EMSCRIPTEN__)  // it has no Boost.Context, and no registers
#define BOOST_VERSION 0
#else
#include <boost/version.hpp>
#endif

namespace weft::internal {

#if defined(__x86_64__) && !defined(_WIN32) && BOOST_VERSION >= 108100
NamedValue g_contextLayout = {"x86-64 System V", BOOST_VERSION};
NamedValue g_savedRegisters[kSavedRegisterCount] = {
    {"rsp", 0x48}, {"r12", 0x10}, {"r13", 0x18}, {"r14", 0x20},
    {"r15", 0x28}, {"rbx", 0x30}, {"rbp", 0x38}, {"rip", 0x40},
};
#elif defined(__aarch64__) && !defined(_WIN32)
NamedValue g_contextLayout = {"aarch64 AAPCS", BOOST_VERSION};
NamedValue g_savedRegisters[kSavedRegisterCount] = {
    {"sp", 0xb0},  {"x19", 0x40}, {"x20", 0x48}, {"x21", 0x50}, {"x22", 0x58},
    {"x23", 0x60}, {"x24", 0x68}, {"x25", 0x70}, {"x26", 0x78}, {"x27", 0x80},
    {"x28", 0x88}, {"x29", 0x90}, {"x30", 0x98}, {"pc", 0xa0},
};
#else
NamedValue g_contextLayout = {"unknown", BOOST_VERSION};
NamedValue g_savedRegisters[kSavedRegisterCount] = {};
#endif

}  // namespace weft::internal
