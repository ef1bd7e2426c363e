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
    std::map<uint32_t, std::thread::id> started, running;  // by index
    /// Wrong calls: a start of a thread that runs, or a stop on another thread or before
    /// `tasksDone`.
    uint32_t wrong = 0, starts = 0, stops = 0;
    std::atomic<bool> tasksDone{false};

    void AttachTo(weft::ThreadHooks &hooks) {
        hooks.user = this;
        hooks.onStart = [](uint32_t worker, void *user) {
            ThreadRecord &self = *static_cast<ThreadRecord *>(user);
            const std::lock_guard<std::mutex> lock(self.mutex);
            ++self.starts;
            self.started[worker] = std::this_thread::get_id();
            self.wrong += !self.running.emplace(worker, std::this_thread::get_id()).second;
        };
        hooks.onStop = [](uint32_t worker, void *user) {
            ThreadRecord &self = *static_cast<ThreadRecord *>(user);
            const std::lock_guard<std::mutex> lock(self.mutex);
            ++self.stops;
            const auto found = self.running.find(worker);
            const bool here =
                found != self.running.end() && found->second == std::this_thread::get_id();
            self.wrong += !here || !self.tasksDone.load();
            if (here) self.running.erase(found);
        };
    }
    /// Returns true if the calling thread has started and not stopped.
    bool IsRunningHere() {
        const std::lock_guard<std::mutex> lock(mutex);
        for (const auto &[index, id] : running) {
            if (id == std::this_thread::get_id()) return true;
        }
        return false;
    }
};

}  // namespace test
