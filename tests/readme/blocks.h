// What the blocks in the documents take from around them: headers, and names of the game. Nothing
// here is ever run or linked, so most names are only declared; a new name in a block needs a line
// here.
#pragma once

#include <weft/algorithms/loop.h>
#include <weft/algorithms/parallel_for.h>
#include <weft/algorithms/parallel_for_each.h>
#include <weft/algorithms/parallel_invoke.h>
#include <weft/algorithms/parallel_pipeline.h>
#include <weft/algorithms/parallel_reduce.h>
#include <weft/algorithms/parallel_scan.h>
#include <weft/algorithms/parallel_sort.h>
#include <weft/algorithms/parallel_sort_by_key.h>
#include <weft/algorithms/parallel_stable_sort.h>
#include <weft/algorithms/sort.h>
#include <weft/blocking/blocking_calls.h>
#include <weft/closure.h>
#include <weft/coroutine.h>
#include <weft/counter.h>
#include <weft/data/cancellation.h>
#include <weft/data/exception_collector.h>
#include <weft/data/fiber_local.h>
#include <weft/data/padded_array.h>
#include <weft/data/result.h>
#include <weft/data/task_group.h>
#include <weft/data/worker_local.h>
#include <weft/deferred.h>
#include <weft/describe_fault.h>
#include <weft/export.h>
#include <weft/external_work.h>
#include <weft/frame/block_pool.h>
#include <weft/frame/budgeted_queue.h>
#include <weft/frame/frame_params.h>
#include <weft/frame/frame_pipeline.h>
#include <weft/frame/scratch_arena.h>
#include <weft/frame/tagged_heap.h>
#include <weft/graph/graph.h>
#include <weft/graph/systems.h>
#include <weft/hooks.h>
#include <weft/io/async_io.h>
#include <weft/options.h>
#include <weft/periodic_task.h>
#include <weft/poll.h>
#include <weft/post/post_queue.h>
#include <weft/post/posted_job.h>
#include <weft/report.h>
#include <weft/sync/condition_variable.h>
#include <weft/sync/deadline.h>
#include <weft/sync/event.h>
#include <weft/sync/latch.h>
#include <weft/sync/mutex.h>
#include <weft/sync/permits.h>
#include <weft/sync/semaphore.h>
#include <weft/sync/shared_mutex.h>
#include <weft/sync/ticket_queue.h>
#include <weft/sync/wait_group.h>
#include <weft/sync/wait_queue.h>
#include <weft/task.h>
#include <weft/task_scheduler.h>
#include <weft/testing/explore_orders.h>
#include <weft/time.h>
#include <weft/topology/topology.h>
#include <weft/version.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Tasks of the game, as many as the block says
const weft::Task *SimulationTasks();
const weft::Task *RenderTasks();
const weft::Task *LoadTasks();
weft::Task LinkTask();
weft::Task HurryTask();
void ShowOldTextures();
weft::Counter *NewCounter();

// PlayLevel
bool IsLevelOver();
void RunFrame(weft::TaskScheduler *scheduler);
void ShowError(std::exception_ptr error);
weft::Task HintTask();
bool HasRequest();
weft::Task OldestRequest();
void DropOldestRequest();

// Unload
void CloseLibrary(void *library);

// LoaderThread
void ReadFile();

// LoadModel
struct Mesh {};
struct Texture {};
struct Model {};
Mesh ReadMesh();
Texture ReadTexture();
void ShowModel(const Model &model);
void ShowName(const std::string &name);
// ReadHeader
struct LevelHeader {
    char bytes[64];
};

// WaitForFence
struct GpuFence {
    bool IsSignalled() const;
};

// Save
void WriteSlot(int slot, const std::string &text);

// OpenDoor
struct Door {
    weft::Event unlocked;
    float angle;
};

// Login
void SendRequest(weft::PostedJob *job);
bool CancelRequest(weft::PostedJob *job);

// WindowLoop
bool PollWindowEvents();
void SetTitle(weft::TaskScheduler *scheduler, void *title);

// LoadAll
size_t Count();
size_t Parse(size_t i);
void ShowThatItEnds();

// Step
struct Particle {
    void Move();
    float Energy() const;
};
struct Image {
    int rows, columns;
    void Blur(const weft::Tile<int> &tile);
};
void Sort(std::vector<Particle> &particles, size_t first, size_t last);

// Load
void LoadLevel();
void LoadSounds();
void LoadMenus();

// Convert
struct SoundReader {
    bool Next(std::string &name, std::vector<short> &samples);
};
struct SoundWriter {
    void Count(const std::vector<short> &samples);
    void Write(const std::string &name, const std::vector<short> &samples);
};
void Resample(std::vector<short> &samples);
// SortDraws
struct DrawCall {
    uint32_t key;
    float depth;
};

// Loop, which has Frame itself
struct World {};
struct Picture {};
struct Frame;
extern const uint32_t kStrips;
void Simulate(World *world);
void FillTasks(weft::Task *tasks, Frame &frame);
void Show(Picture *picture);

// RunFrames, DeclareSolver, UpdateAll
void PlaySounds(World *world);
void Draw(World *world);
void Prepare(weft::TaskScheduler *scheduler, void *world);
void Solve(weft::TaskScheduler *scheduler, void *world);
uint32_t IsUnsolved(weft::TaskScheduler *scheduler, const weft::GraphRun &run, void *world);
void Finish(weft::TaskScheduler *scheduler, void *world);
void Push(weft::TaskScheduler *scheduler, void *world);
void Move(weft::TaskScheduler *scheduler, void *world);
void Cull(weft::TaskScheduler *scheduler, void *world);

// TraceInto
namespace profiler {
void Begin(uint32_t fiber, const char *task);
void End(uint32_t fiber);
void Switch(uint32_t worker, uint32_t fiber, uint32_t otherFiber);
}  // namespace profiler

// ThreadEvents: from the headers of the profilers
inline constexpr uint32_t PERFORMANCEAPI_DEFAULT_COLOR = ~0u;
void PerformanceAPI_BeginEvent(const char *id, const char *data, uint32_t color);
void PerformanceAPI_EndEvent();
inline constexpr uint64_t PIX_COLOR_DEFAULT = 0;
void PIXBeginEvent(uint64_t color, const char *format, const char *argument);
void PIXEndEvent();
struct __itt_domain;
struct __itt_id {};
struct __itt_string_handle;
inline constexpr __itt_id __itt_null{};
__itt_domain *__itt_domain_create(const char *name);
__itt_string_handle *__itt_string_handle_create(const char *name);
void __itt_task_begin(const __itt_domain *domain, __itt_id task, __itt_id parent,
                      __itt_string_handle *name);
void __itt_task_end(const __itt_domain *domain);

// Visit
struct TreeNode {
    TreeNode *left, *right;
};
