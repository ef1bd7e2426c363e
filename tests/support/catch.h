// Compiled once, as a precompiled header of all tests. It has no include guard: g++ warns of the
// pragma here, and Catch2's header has its own guard.
#include <catch2/catch.hpp>
