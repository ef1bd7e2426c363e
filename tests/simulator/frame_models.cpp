// Models of the frame layer: stages of consecutive frames, and the memory that frames allocate and
// free.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "weft/frame/budgeted_queue.h"
#include "weft/frame/frame_pipeline.h"
#include "weft/frame/scratch_arena.h"
#include "weft/frame/tagged_heap.h"

namespace simulator {

namespace {

constexpr size_t kBlock = 4 << 10;

// Stages of a pipeline, which check their order: a stage runs for each frame in turn, after the
// previous stage of this frame, and all stages of a frame see the same slot.
struct Stages {
    struct Arg {
        Stages *stages;
        uint32_t stage;
    };
    Stages(uint32_t stageCount, uint32_t framesInFlight)
        : count(stageCount), inFlight(framesInFlight) {
        for (uint32_t i = 0; i < count; ++i) args[i] = {this, i}, stages[i] = {Run, &args[i], {}};
    }
    static void Run(TaskScheduler *scheduler, const FrameParams &params, void *arg) {
        const Arg &own = *static_cast<Arg *>(arg);
        own.stages->Stage(scheduler, own.stage, params);
    }
    void Stage(TaskScheduler *scheduler, uint32_t stage, const FrameParams &params) {
        const uint64_t frame = params.frame;
        begun.store(1, std::memory_order_release);
        Check(ended[stage] == frame, "a stage runs out of order");
        Check(stage == 0 || ended[stage - 1] > frame,
              "a stage begins before the previous one has ended");
        Check(ended[count - 1] + inFlight > frame, "too many frames are in flight");
        if (stage == 0) slots[params.slot] = frame;
        if (child && Random(2) != 0) {
            auto linger = [](TaskScheduler *) { Linger(3); };
            AddAndWait(scheduler, linger);
        } else {
            Linger(3);
        }
        Check(slots[params.slot] == frame, "two frames in flight have the same slot");
        if (stage == stopStage && frame == stopFrame) pipeline->Stop();
        if (onEnd) onEnd(stage, params);
        ++ended[stage];
    }

    uint32_t count, inFlight;
    bool child = false;
    uint32_t stopStage = ~0u;
    uint64_t stopFrame = 0;
    FramePipeline *pipeline = nullptr;
    std::function<void(uint32_t stage, const FrameParams &params)> onEnd;
    weft::env::Atomic<uint32_t> begun{0};
    uint64_t ended[4] = {}, slots[4] = {};
    Arg args[4];
    FrameStage stages[4];
};

// A pipeline runs a few frames, while a task waits for one of them and reads the ring. The wait
// must not return early. All stages of all frames must run.
void Frames() {
    Stages stages(1 + Random(3), 1 + Random(3));
    const SchedulerOptions options = Options(1 + Random(3), 14);
    const uint32_t frames = 1 + Random(4), awaited = Random(frames + 1);
    stages.child = Random(2) != 0;
    FramePipeline pipeline(options, stages.count, stages.stages, stages.inFlight);
    auto wait = [&](TaskScheduler *self) {
        // If the pipeline does not run yet, WaitForFrame may have nothing to wait for.
        const bool running = stages.begun.load(std::memory_order_acquire) != 0;
        const bool completed = pipeline.WaitForFrame(self, awaited);
        Check(completed || !running || awaited == frames, "a wait for a frame ended too early");
        Check(!completed || stages.ended[stages.count - 1] > awaited,
              "WaitForFrame returned true for a frame that has not completed");
        FrameParams params;
        if (completed && pipeline.Frames().Read(awaited, &params))
            Check(params.stages[0].end != std::chrono::steady_clock::time_point{},
                  "the time of a stage is missing");
    };
    RunCounted(options, [&](TaskScheduler *scheduler, Counter *counter) {
        scheduler->AddTask(MakeTask(wait), counter);
        Check(pipeline.Run(scheduler, frames) == Status::Ok, "Run failed");
    });
    for (uint32_t i = 0; i < stages.count; ++i)
        Check(stages.ended[i] == frames, "a stage was lost");
    Check(pipeline.Frames().FramesCompleted() == frames, "a frame was lost");
}

// An external thread runs a pipeline without a last frame. A stage or another thread stops it. Each
// frame that has begun must be completed, and a wait for a frame that never ran must return false.
void FramesStopped() {
    Stages stages(1 + Random(3), 1 + Random(2));
    const SchedulerOptions options = Options(1 + Random(2), 14);
    FramePipeline pipeline(options, stages.count, stages.stages, stages.inFlight);
    stages.pipeline = &pipeline;
    stages.stopStage = Random(stages.count);
    stages.stopFrame = Random(2);
    StartedScheduler scheduler(options);
    bool completed = false;
    RunningThread waiter([&] {
        if (Random(2) != 0) pipeline.Stop();
        completed = pipeline.WaitForFrame(&scheduler, 1);
    });
    Check(pipeline.Run(&scheduler) == Status::Ok, "Run failed");
    waiter.Join();
    for (uint32_t i = 1; i < stages.count; ++i)
        Check(stages.ended[i] == stages.ended[0], "a frame is not complete");
    Check(!completed || stages.ended[0] > 1,
          "WaitForFrame returned true for a frame that did not run");
    scheduler.Stop();
}

// Pieces of a TaggedHeap that one owner has allocated. Their contents must not change until the tag
// is freed. After that the memory may be handed out again.
struct Owner {
    struct Piece {
        uint32_t *first, *last;
        uint32_t value;
    };
    void Take(TaggedHeap &heap, uint32_t tag, size_t bytes, uint32_t value) {
        auto *first = static_cast<uint32_t *>(heap.Allocate(tag, bytes, sizeof(uint32_t)));
        if (first == nullptr) return;  // all blocks are in use
        pieces.push_back({first, first + bytes / sizeof(uint32_t) - 1, value});
        *first = *pieces.back().last = value;
    }
    void Verify() const {
        for (const Piece &piece : pieces) {
            Check(*piece.first == piece.value && *piece.last == piece.value,
                  "two allocations overlap");
        }
    }
    std::deque<Piece> pieces;
};

size_t RandomBytes() { return Random(4) == 0 ? kBlock + 4 : kBlock / 2 - 8 * Random(2); }

// Tasks allocate under two tags, yield and verify their pieces. A thread of the host allocates,
// too. One tag is freed while the other one is in use. Shows memory with two owners and blocks that
// are lost.
void TaggedHeaps() {
    SchedulerOptions options = Options<ReportCode::OutOfMemory>(1 + Random(3), 14);
    TaskScheduler scheduler(options);
    BlockPool pool(options, 5 + Random(62), kBlock);
    {
        TaggedHeap heap(scheduler, options, pool, 2);
        Check(scheduler.Start() == Status::Ok, "Start failed");
        Owner owners[6], host;
        uint32_t next[2] = {0, 3};
        IndexedTasks allocate(2, [&](TaskScheduler *self, uint32_t tag) {
            const uint32_t index = next[tag]++;
            for (uint32_t i = 1 + Random(2); i != 0; --i) {
                owners[index].Take(heap, tag, RandomBytes(), 100 * index + i);
                if (Random(2) != 0) self->Yield();  // it may resume on another worker
            }
            owners[index].Verify();
        });
        RunningThread thread([&] {
            for (uint32_t i = Random(3); i != 0; --i) host.Take(heap, 1, RandomBytes(), 1000 + i);
            host.Verify();
        });
        Counter of[2];
        for (uint32_t round = 0; round < 2; ++round) {
            for (uint32_t i = 0; i < 3; ++i) {
                scheduler.AddTask(allocate[0], &of[0]);
                if (round == 0) scheduler.AddTask(allocate[1], &of[1]);
            }
            scheduler.WaitForCounter(&of[0]);
            for (uint32_t i = 0; i < 3; ++i) owners[i].Verify(), owners[i].pieces.clear();
            heap.Free(0);
            next[0] = 0;
        }
        thread.Join();
        scheduler.WaitForCounter(&of[1]);
        for (const Owner &owner : owners) owner.Verify();
        host.Verify();
        heap.Free(1);
        Check(heap.Statistics().blocks == 0 && pool.BlocksInUse() == 0, "a block was lost");
        Check(heap.Statistics().peakBlocks <= pool.BlockCount(),
              "more blocks are in use than the pool has");
        scheduler.Stop();
    }
}

// Workers and a thread of the host begin to allocate under two tags at once, and a task uses an
// arena. There are just enough blocks if all that allocate under one tag share a block. No
// allocation may fail, not even while another caller holds a block that it does not need.
void TaggedShare() {
    const SchedulerOptions options = Options(1 + Random(3), 14);
    TaskScheduler scheduler(options);
    BlockPool pool(options, 3, kBlock);
    {
        TaggedHeap heap(scheduler, options, pool, 2);
        Check(scheduler.Start() == Status::Ok, "Start failed");
        Owner owners[5];
        uint32_t next = 0;
        const auto allocate = [&](Owner &owner, uint32_t value) {
            for (uint32_t tag : {0u, 1u}) {
                owner.Take(heap, tag, 8, value);
                Linger(3);
            }
            Check(owner.pieces.size() == 2,
                  "an allocation failed although the shared block had room");
            owner.Verify();
        };
        auto little = [&](TaskScheduler *) {
            const uint32_t own = next++;
            allocate(owners[own], own);
        };
        auto scratch = [&](TaskScheduler *) {
            ScratchArena arena(pool);
            Check(arena.Allocate(8) != nullptr, "an arena finds no block although one is free");
            Linger(3);
        };
        RunningThread thread([&] { allocate(owners[4], 4); });
        for (uint32_t round = 0; round < 2; ++round) {
            Counter counter;
            for (uint32_t i = 0; i < 2; ++i) scheduler.AddTask(MakeTask(little), &counter);
            scheduler.AddTask(MakeTask(scratch), &counter);
            scheduler.WaitForCounter(&counter);
            if (round == 0) thread.Join();
            Check(pool.BlocksInUse() == 2, "a block was taken without need, or lost");
            for (uint32_t tag : {0u, 1u}) heap.Free(tag);
            for (Owner &owner : owners) owner.pieces.clear();
        }
        Check(heap.Statistics().peakBlocks == 2 && pool.BlocksInUse() == 0, "a block was lost");
        scheduler.Stop();
    }
}

// The last stage of a frame frees the memory of this frame, while other frames allocate. The tag is
// used again at once. No block may be lost, or be handed out twice.
void TaggedFrames() {
    Stages stages(2, 1 + Random(3));
    const SchedulerOptions options = Options(1 + Random(2), 14);
    TaskScheduler scheduler(options);
    BlockPool pool(options, 2 * stages.inFlight + 2, kBlock);
    TaggedHeap heap(scheduler, options, pool, stages.inFlight);
    Owner owners[4];
    stages.onEnd = [&](uint32_t stage, const FrameParams &params) {
        const uint32_t tag = params.slot;
        const auto value = static_cast<uint32_t>(params.frame);
        // With an eighth of a block, the next stage's piece fits into the same block.
        owners[tag].Take(heap, tag, kBlock / (Random(2) != 0 ? 2 : 8), 10 * value + stage);
        Check(owners[tag].pieces.size() == stage + 1, "a block of a frame was not given back");
        owners[tag].Verify();
        if (stage == 0) return;
        owners[tag].pieces.clear();
        heap.Free(tag);
    };
    FramePipeline pipeline(options, stages.count, stages.stages, stages.inFlight);
    RunMain(scheduler, [&](TaskScheduler *self) { pipeline.Run(self, 3); });
    Check(stages.ended[1] == 3, "a stage was lost");
    Check(pool.BlocksInUse() == 0, "a block was lost");
}

// Tasks with arenas yield. The pool has just enough blocks for them. Shows memory with two owners
// and blocks that are lost.
void Arenas() {
    const SchedulerOptions options = Options(1 + Random(3), 14);
    BlockPool pool(options, 3 * 2, kBlock);
    uint32_t next = 0;
    auto use = [&](TaskScheduler *self) {
        const uint32_t own = ++next;
        ScratchArena arena(pool);
        uint32_t *first = arena.NewArray<uint32_t>(4);
        *first = own;
        self->Yield();
        uint32_t *second = arena.NewArray<uint32_t>(kBlock / 8);
        second[0] = own;
        if (Random(2) != 0)
            Check(arena.NewArray<uint32_t>(kBlock / 8) != nullptr, "a block was lost");
        self->Yield();
        Check(*first == own && second[0] == own, "two allocations overlap");
    };
    RunCounted(options, [&](TaskScheduler *scheduler, Counter *counter) {
        AddEach(scheduler, counter, use, use, use);
    });
    Check(pool.BlocksInUse() == 0, "a block was lost");
}

// A thread adds tasks to a queue and may cancel it, while a task or a thread begins one frame after
// the other. Each task must run once, or be dropped. A frame that begins with tasks in the queue
// must begin one of them. At the end the queue is gone at once. Shows runners that are lost between
// two frames, two runners with the same task, and accesses after the end of the queue.
void Budgets() {
    constexpr uint32_t kTasks = 6;
    struct Item {
        Cell added;
        uint32_t ran = 0;
    } items[kTasks];
    const bool cancels = Random(3) == 0;
    // all may wait for the thread
    StartedScheduler scheduler(Options<ReportCode::Stalled>(1 + Random(3), 5 + Random(3)));
    Task slots[3];
    alignas(BudgetedQueue) unsigned char storage[sizeof(BudgetedQueue)];
    BudgetedQueue *queue = new (storage) BudgetedQueue(scheduler, 3, slots);
    uint32_t added = 0;
    const auto run = [](TaskScheduler *running, void *arg) {
        Item &item = *static_cast<Item *>(arg);
        Check(item.added.Get() == 1, "a task does not see what was written before Add");
        ++item.ran;
        if (Random(3) == 0) running->Yield();
    };
    RunningThread thread([&] {
        for (Item &item : items) {
            item.added.Set(1);
            if (Random(4) != 0) added += queue->Add({run, &item});
        }
        if (cancels) queue->Cancel();
    });
    auto frame = [&](uint32_t runners, bool waits) {
        const uint64_t before = queue->BegunCount();
        const bool hasTask = queue->QueuedCount() != 0;
        // of 1 ns: only the first task begins
        queue->BeginFrame(Random(2) != 0 ? Clock::duration::max() : Clock::duration(1), runners);
        if (!waits) return;
        queue->Wait();
        Check(queue->BegunCount() > before || !hasTask || cancels,
              "a frame with time begins no task");
    };
    const uint32_t pause = Random(2) * 40;
    auto frames = [&](TaskScheduler *) {
        for (uint32_t i = 0; i < 8; ++i) {
            frame(1 + Random(2), Random(2) != 0);
            for (uint32_t steps = Random(pause + 1); steps != 0; --steps) Linger(3);
        }
    };
    Random(2) != 0 ? AddAndWait(&scheduler, frames) : frames(&scheduler);
    thread.Join();
    while (queue->QueuedCount() != 0) frame(2, true);
    if (cancels) queue->Wait();
    const uint32_t dropped = queue->DroppedCount();
    queue->~BudgetedQueue();
    MarkDead(storage, sizeof storage);
    uint32_t ran = 0;
    for (const Item &item : items) {
        Check(item.ran <= 1, "a task ran twice");
        ran += item.ran;
    }
    Check(ran + dropped == added, "a task was lost");
    Check(cancels || dropped == 0, "a task was dropped");
    scheduler.Stop();
}

}  // namespace

std::vector<Model> FrameModels() {
    return {
        {"frames", "stages of consecutive frames, and waits for one frame", Frames},
        {"frames_stopped", "an external thread runs endless frames, and they are stopped",
         FramesStopped},
        {"tagged_heap", "workers and an external thread allocate under two tags; one is freed",
         TaggedHeaps},
        {"tagged_share", "threads that begin with a tag at the same time share its first block",
         TaggedShare},
        {"tagged_frames", "the last stage of a frame frees what its stages allocated",
         TaggedFrames},
        {"arenas", "tasks with arenas wait", Arenas},
        {"budgets", "a thread adds tasks to a queue with a budget while frames begin", Budgets},
    };
}

}  // namespace simulator
