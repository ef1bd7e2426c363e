// The list of models. Each schedule runs one model as virtual thread 0.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_set>
#include <vector>

namespace simulator {

// The cells of a grid. Each schedule of its model draws one.
struct Cells {
    uint64_t count = 0;
    std::unordered_set<uint32_t> explored;
};

struct Model {
    const char *name;
    const char *explores;
    std::function<void()> body;
    uint64_t share = 1;            ///< for slow models: one schedule for so many of the others
    const Cells *cells = nullptr;  ///< null: the model is no grid
};

std::vector<Model> ContainerModels();  ///< containers alone
std::vector<Model> CounterModels();    ///< the counter alone
std::vector<Model> ProtocolModels();   ///< between the parts of the scheduler
std::vector<Model> EdgeModels();       ///< of rare states
std::vector<Model> GridModels();       ///< ways to be busy, times ways in which work comes
std::vector<Model> StallModels();      ///< which stalls are reported
std::vector<Model> SchedulerModels();  ///< the whole scheduler, basic features
std::vector<Model> FairModels();       ///< bounds of waiting times
std::vector<Model> WaitModels();       ///< restricted waits, child tasks
std::vector<Model> OwnModels();        ///< waits with Meanwhile::OwnTasks
std::vector<Model> RescueModels();     ///< tasks that run on fibers of waiters
std::vector<Model> EmbedModels();      ///< a scheduler among the threads of a host
std::vector<Model> GroupModels();      ///< groups of workers
std::vector<Model> IdleModels();       ///< idleness and the end of a run
std::vector<Model> MeetModels();       ///< tasks that block their workers
std::vector<Model> BlockingModels();   ///< threads that make blocking calls
std::vector<Model> FrameModels();      ///< stages of frames, and their memory
std::vector<Model> FrameViewModels();  ///< what threads see through the frame layer
std::vector<Model> CrowdModels();      ///< many features combined
std::vector<Model> TimeModels();       ///< deadlines
std::vector<Model> PollModels();       ///< weft/poll.h
std::vector<Model> IoModels();         ///< how AsyncIo hands over operations
std::vector<Model> CoroutineModels();  ///< weft/coroutine.h
std::vector<Model> LoopModels();       ///< algorithms/: loops and reductions
std::vector<Model> FlowModels();       ///< algorithms/: calls, sequences, feeders, pipelines
std::vector<Model> GraphModels();      ///< graph/
std::vector<Model> DataModels();       ///< data/
std::vector<Model> ResultModels();     ///< weft/data/result.h
std::vector<Model> SyncLockModels();   ///< mutexes and semaphores
std::vector<Model> SyncModels();       ///< events, condition variables, tickets, latches
std::vector<Model> PostModels();       ///< weft/post/

}  // namespace simulator
