// The list of models. Each schedule runs one model as virtual thread 0.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace simulator {

struct Model {
    const char *name;
    const char *explores;
    std::function<void()> body;
    uint64_t share = 1;  ///< for slow models: one schedule for so many of the others
};

std::vector<Model> ContainerModels();  ///< deque, counters, parts on their own
std::vector<Model> SchedulerModels();  ///< the whole scheduler
std::vector<Model> FairModels();       ///< how long anything waits at most
std::vector<Model> WaitModels();       ///< what threads do while they wait
std::vector<Model> OwnModels();        ///< waits whose thread runs only what they depend on
std::vector<Model> LargeModels();      ///< Large tasks and too few fibers for them
std::vector<Model> EmbedModels();      ///< the same among threads that are not its own
std::vector<Model> GroupModels();      ///< groups of workers
std::vector<Model> IdleModels();       ///< idleness and the end of a run
std::vector<Model> MeetModels();       ///< tasks that hold their workers until another one runs
std::vector<Model> BlockingModels();   ///< threads that make blocking calls
std::vector<Model> FrameModels();      ///< stages of frames, and their memory
std::vector<Model> FrameViewModels();  ///< what threads see by way of the frame layer
std::vector<Model> CrowdModels();      ///< everything at once
std::vector<Model> TimeModels();       ///< deadlines
std::vector<Model> CoroutineModels();  ///< weft/coroutine.h
std::vector<Model> LoopModels();       ///< algorithms/
std::vector<Model> DataModels();       ///< data/
std::vector<Model> SyncLockModels();   ///< mutexes and semaphores
std::vector<Model> SyncModels();       ///< what else weft/sync/ has
std::vector<Model> PostModels();       ///< weft/post/

}  // namespace simulator
