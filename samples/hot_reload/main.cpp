// A game whose code is a module that is replaced while the game runs. The tasks of the module
// belong to a group. Before the module is unloaded, the group is cancelled and awaited. Then no
// task is in a function of the module, and none will call one.
//
//     samples/run.sh hot_reload
#include "hot_reload/library.h"
#include "hot_reload/module.h"

#include <weft/data/task_group.h>
#include <weft/deferred.h>
#include <weft/time.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace {

constexpr uint32_t kFrames = 40, kFramesOfVersion = 10;

/// A module that is loaded, and the group of its tasks.
class Module {
public:
    explicit Module(weft::TaskScheduler &scheduler, GameState &state)
        : m_scheduler(scheduler),
          m_group(scheduler),
          m_host{AddTasks, AddTaskLater, RunTasks, this, &state} {}
    ~Module() { Unload(); }

    bool Load(const std::string &path) {
        if (!m_library.Open(path)) return false;
        m_frame = m_library.Find<FrameFunction>("Frame");
        const BeginFunction begin = m_library.Find<BeginFunction>("Begin");
        if (m_frame == nullptr || begin == nullptr) return false;
        begin(m_host);
        return true;
    }
    void Frame() { m_frame(m_host); }

    /// Returns the number of tasks that were skipped.
    uint32_t Unload() {
        m_group.Cancel();   // also withdraws tasks that begin later
        m_group.Wait();     // tasks that have begun run to their end
        m_library.Close();  // no function of the module is called any more
        return m_group.SkippedCount();
    }

private:
    static Module &Of(const ModuleHost &host) { return *static_cast<Module *>(host.program); }

    static void AddTasks(const ModuleHost &host, uint32_t count, const weft::Task *tasks) {
        // The name of a task must outlive the run, so it does not come from the module.
        Of(host).m_group.AddTasks(count, tasks, {weft::Priority::Low, weft::kAnyWorker, "module"});
    }
    static void AddTaskLater(const ModuleHost &host, uint32_t milliseconds, weft::Task task) {
        weft::TaskOptions options;
        options.name = "module, later";
        options.taskGroup = &Of(host).m_group;
        weft::AddTaskAt(Of(host).m_scheduler, weft::Now() + std::chrono::milliseconds(milliseconds),
                        task, nullptr, options);
    }
    // The caller waits, and the main loop waits for the caller. So these tasks need no group.
    static void RunTasks(const ModuleHost &host, uint32_t count, const weft::Task *tasks) {
        Of(host).m_scheduler.AddTasksAndWait(count, tasks);
    }

    weft::TaskScheduler &m_scheduler;
    Library m_library;
    weft::TaskGroup m_group;
    const ModuleHost m_host;
    FrameFunction m_frame = nullptr;
};

struct Game {
    std::string folder;  // of the modules: that of the program
    GameState state;
    uint32_t wrong = 0;

    // Runs some frames with one version.
    void RunVersion(weft::TaskScheduler &scheduler, uint32_t version, uint32_t firstFrame) {
        const std::string path = folder + "hot_reload_" + std::to_string(version) + ".module";
        Module module(scheduler, state);
        if (!module.Load(path)) {
            std::fprintf(stderr, "cannot load %s\n", path.c_str());
            ++wrong;
            return;
        }
        for (uint32_t frame = 0; frame < kFramesOfVersion; ++frame) {
            module.Frame();
            for (const uint32_t each : state.versions) wrong += each != version;
            weft::SleepFor(scheduler, std::chrono::microseconds(100));  // the rest of the frame
        }
        const uint32_t skipped = module.Unload();
        wrong += state.inModule != 0 || Library::IsLoaded(path);
        wrong += skipped != 3;  // two tasks of the background, and one that would begin later
        std::printf("frames %2u to %2u: version %u; skipped %u tasks, then unloaded it\n",
                    firstFrame, firstFrame + kFramesOfVersion - 1, version, skipped);
    }
    void Play(weft::TaskScheduler &scheduler) {
        for (uint32_t frame = 0; frame < kFrames; frame += kFramesOfVersion)
            RunVersion(scheduler, 1 + frame / kFramesOfVersion % 2, frame);
    }
};

}  // namespace

int main(int, char **arguments) {
    Game game;
    const std::string program = arguments[0];
    const size_t slash = program.find_last_of("/\\");
    game.folder = slash == std::string::npos ? "./" : program.substr(0, slash + 1);
    weft::SchedulerOptions options;
    options.workers = 2;
    weft::TaskScheduler scheduler(options);
    auto play = [&](weft::TaskScheduler *running) { game.Play(*running); };
    const weft::Task task = weft::MakeTask(play);
    if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) return 1;
    return game.wrong == 0 && game.state.streamed != 0 ? 0 : 1;
}
