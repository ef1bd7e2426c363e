// Checks and counts the calls of the thread hooks.
#pragma once

#include "weft/hooks.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>

namespace test {

struct ThreadRecord {
    std::mutex mutex;
    std::map<uint32_t, std::thread::id> started;
    /// Wrong calls: a second start, or a stop on another thread or before `tasksDone`.
    uint32_t wrong = 0, starts = 0, stops = 0;
    std::atomic<bool> tasksDone{false};

    void AttachTo(weft::ThreadHooks &hooks) {
        hooks.user = this;
        hooks.onStart = [](uint32_t worker, void *user) {
            ThreadRecord &self = *static_cast<ThreadRecord *>(user);
            const std::lock_guard<std::mutex> lock(self.mutex);
            ++self.starts;
            self.wrong += !self.started.emplace(worker, std::this_thread::get_id()).second;
        };
        hooks.onStop = [](uint32_t worker, void *user) {
            ThreadRecord &self = *static_cast<ThreadRecord *>(user);
            const std::lock_guard<std::mutex> lock(self.mutex);
            ++self.stops;
            const auto found = self.started.find(worker);
            const bool here =
                found != self.started.end() && found->second == std::this_thread::get_id();
            self.wrong += !here || !self.tasksDone.load();
        };
    }
};

}  // namespace test
