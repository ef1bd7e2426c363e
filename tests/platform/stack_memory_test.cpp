#include "platform/stack_memory.h"

#include "support/child_process.h"
#include "support/pages.h"

#include <cstdint>
#include <cstring>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

TEST_CASE("stacks: each has its full size, is aligned to pages, and overlaps no other",
          "[stack_memory]") {
    StackMemory stacks;
    REQUIRE(stacks.Acquire(5, 20000) == Status::Ok);
    CHECK(stacks.StackBytes() >= 20000);
    CHECK(stacks.StackBytes() % stacks.PageBytes() == 0);
    CHECK(stacks.StackBytes() < 20000 + stacks.PageBytes());
    for (size_t i = 0; i < 5; ++i) {
        CHECK(reinterpret_cast<uintptr_t>(stacks.Bottom(i)) % stacks.PageBytes() == 0);
        if (i != 0)
            CHECK(stacks.Bottom(i) >=
                  stacks.Bottom(i - 1) + stacks.StackBytes() + stacks.GuardBytes());
        std::memset(stacks.Bottom(i), static_cast<int>(i), stacks.StackBytes());
    }
    for (size_t i = 0; i < 5; ++i) {
        CHECK(*stacks.Bottom(i) == static_cast<char>(i));
        CHECK(stacks.Bottom(i)[stacks.StackBytes() - 1] == static_cast<char>(i));
    }
}

TEST_CASE("fault: stack overflow. Both guard pages of each stack fault", "[stack_memory]") {
    StackMemory stacks;
    REQUIRE(stacks.Acquire(3, 64 << 10) == Status::Ok);
    const auto touch = [](char *address) {
        return test::RunInChild([=] { *const_cast<volatile char *>(address) = 1; }).Died();
    };
    for (size_t i = 0; i < 3; ++i) {
        INFO("stack " << i);
        char *const bottom = stacks.Bottom(i);
        char *const top = bottom + stacks.StackBytes();
        CHECK(touch(bottom - 1));
        CHECK(touch(bottom - stacks.GuardBytes()));
        CHECK(!touch(bottom));
        CHECK(!touch(top - 1));
        CHECK(touch(top));
        CHECK(touch(top + stacks.GuardBytes() - 1));
    }
}

TEST_CASE("stacks: the host's pages are returned without guards, even if they were locked",
          "[stack_memory]") {
    MemoryHooks hooks;
    hooks.reserveStacks = [](size_t bytes, void *) -> void * {
        void *pages = test::MapPages(bytes);
        if (pages == nullptr) return nullptr;
        if (!test::LockPages(pages, bytes)) WARN("pages cannot be locked here");
        return pages;
    };
    hooks.releaseStacks = [](void *pages, size_t bytes, void *user) {
        *static_cast<bool *>(user) =
            !test::RunInChild([=] { std::memset(pages, 1, bytes); }).Died();
        test::UnmapPages(pages, bytes);
    };
    bool usable = false;
    hooks.user = &usable;
    StackMemory stacks;
    REQUIRE(stacks.Acquire(2, 16 << 10, &hooks) == Status::Ok);
    stacks.Release();
    CHECK(usable);
}

TEST_CASE("stacks: impossible sizes give a status, and nothing leaks", "[stack_memory]") {
    StackMemory stacks;
    CHECK(stacks.Acquire(1, SIZE_MAX) == Status::OutOfMemory);
    CHECK(stacks.Acquire(1, SIZE_MAX - 4096) == Status::OutOfMemory);
    CHECK(stacks.Acquire(SIZE_MAX / 8192, 8192) == Status::OutOfMemory);
    CHECK(stacks.Acquire(SIZE_MAX, 4096) == Status::OutOfMemory);
    CHECK(stacks.Acquire(1000, size_t{1} << (sizeof(size_t) * 6 + 2)) == Status::OutOfMemory);
    CHECK(stacks.Acquire(2, 16 << 10) == Status::Ok);
    *stacks.Bottom(1) = 1;
    stacks.Release();
    CHECK(stacks.Acquire(2, 16 << 10) == Status::Ok);
}
