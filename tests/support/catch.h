// Compiled once for all tests. Without a guard: g++ takes a pragma in it for a mistake, and Catch2
// has its own.
#include <catch2/catch.hpp>
