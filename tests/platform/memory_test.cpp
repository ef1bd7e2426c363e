#include "platform/memory.h"

#include "support/failing_allocation.h"

#include <cstdint>

#include <catch2/catch.hpp>

using namespace weft::internal;

namespace {

struct alignas(128) Object {
    static int s_alive;
    int value = 7;
    Object() { ++s_alive; }
    ~Object() { --s_alive; }
};
int Object::s_alive = 0;

}  // namespace

TEST_CASE("memory: zeroed, aligned, and null when there is none", "[memory]") {
    for (size_t alignment : {size_t{16}, size_t{64}, size_t{128}, size_t{16} << 10}) {
        char *memory = static_cast<char *>(Memory().AllocateZeroed(1000, alignment));
        REQUIRE(memory != nullptr);
        CHECK(reinterpret_cast<uintptr_t>(memory) % alignment == 0);
        bool zero = true;
        for (int i = 0; i < 1000; ++i) zero = zero && memory[i] == 0;
        CHECK(zero);
        Memory().Free(memory, 1000, alignment);
    }
    const test::FailingAllocation failing(0);
    CHECK(Memory().AllocateZeroed(16, 16) == nullptr);
    CHECK(Memory().NewArray<Object>(3) == nullptr);
    CHECK(Object::s_alive == 0);
    Memory().DeleteArray<Object>(nullptr, 3);
}

TEST_CASE("memory: arrays are constructed and destroyed", "[memory]") {
    Object *objects = Memory().NewArray<Object>(5);
    REQUIRE(objects != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(objects) % alignof(Object) == 0);
    CHECK(Object::s_alive == 5);
    CHECK(objects[4].value == 7);
    Memory().DeleteArray(objects, 5);
    CHECK(Object::s_alive == 0);
}
