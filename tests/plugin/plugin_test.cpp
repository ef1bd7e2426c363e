// Loads and unloads a library that contains weft (plugin.cpp).
#include "support/spin.h"

#include <atomic>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <unistd.h>
#include <catch2/catch.hpp>

namespace {

constexpr const char *kName = "/test_plugin.so";  // premake5.lua

// The library lies beside this program.
std::string PathOfPlugin() {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    REQUIRE(length > 0);
    const std::string program(path, static_cast<size_t>(length));
    return program.substr(0, program.rfind('/')) + kName;
}

bool IsMapped() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.find(kName) != std::string::npos) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("fault: a plug-in with weft leaves nothing behind; it is loaded and unloaded 3,000 times",
          "[plugin][long]") {
    const std::string path = PathOfPlugin();
    uint32_t wrong = 0, mapped = 0, round = 0;
    for (; round < 3000 && wrong == 0 && mapped == 0; ++round) {
        void *const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        INFO((library == nullptr ? dlerror() : path));
        REQUIRE(library != nullptr);
        const auto call = [&](const char *name) {
            return static_cast<uint32_t>(reinterpret_cast<int (*)()>(dlsym(library, name))());
        };
        wrong += call("PluginStart");
        // The thread outlives the library.
        std::atomic<bool> worked{false}, mayEnd{false};
        std::atomic<uint32_t> wrongWork{0};
        std::thread host([&] {
            wrongWork.store(call("PluginWork"));
            worked.store(true);
            test::SpinUntil([&] { return mayEnd.load(); });
        });
        wrong += test::SpinUntil([&] { return worked.load(); }) ? 0 : 1;
        wrong += wrongWork.load() + call("PluginStop");
        dlclose(library);
        mapped += IsMapped() ? 1 : 0;
        mayEnd.store(true);
        host.join();
    }
    INFO("round " << round);
    CHECK(wrong == 0);
    CHECK(mapped == 0);
}
