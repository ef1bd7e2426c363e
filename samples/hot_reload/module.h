// What the program and its module know of each other. The module calls no function of weft itself:
// all of its tasks go through ModuleHost, so none can miss the group.
#pragma once

#include <weft/task.h>

#include <atomic>
#include <cstdint>

constexpr uint32_t kStrips = 16;

/// The state of the game. It belongs to the program, so it outlives a module.
struct GameState {
    uint32_t versions[kStrips] = {};    // which version has drawn each strip of this frame
    std::atomic<uint32_t> streamed{0};  // by background tasks
    std::atomic<uint32_t> inModule{0};  // background tasks that are in a function of the module
};

/// The functions of the program that a module may call.
struct ModuleHost {
    /// Submits tasks to the group of the module. They may go on after the frame.
    void (*addTasks)(const ModuleHost &host, uint32_t count, const weft::Task *tasks);
    /// The same for one task that begins later.
    void (*addTaskLater)(const ModuleHost &host, uint32_t milliseconds, weft::Task task);
    /// Submits tasks, and waits for them.
    void (*runTasks)(const ModuleHost &host, uint32_t count, const weft::Task *tasks);

    void *program;  // for the functions above
    GameState *state;
};

/// The functions of a module, by the names under which it exports them.
using BeginFunction = void (*)(const ModuleHost &host);  // "Begin", after it was loaded
using FrameFunction = void (*)(const ModuleHost &host);  // "Frame", once a frame
