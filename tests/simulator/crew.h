// Several virtual threads, for models without a scheduler.
#pragma once

#include "platform/env.h"
#include "simulator/virtual_threads.h"

#include <functional>
#include <utility>
#include <vector>

namespace simulator {

// Starts callables as virtual threads and joins them.
class Crew {
public:
    void Start(std::function<void()> work) { m_members.push_back({std::move(work), {}}); }
    void RunAll() {
        for (Member &member : m_members) member.thread.Start(Entry, &member.work, 0);
        for (Member &member : m_members) member.thread.Join();
    }

private:
    struct Member {
        std::function<void()> work;
        weft::env::Thread thread;
    };
    static void Entry(void *work) { (*static_cast<std::function<void()> *>(work))(); }
    std::vector<Member> m_members;
};

}  // namespace simulator
