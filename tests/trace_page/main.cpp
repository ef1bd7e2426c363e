// Two commands for tests/trace_page.sh: records a run of the library with known contents, and
// writes the page of a recording by bench/trace/export_html.h.
//
//     trace_page record RECORDING FRAMES
//     trace_page html RECORDING TITLE BUDGET > report.html
#include "trace/export_html.h"

#include <weft/blocking/blocking_calls.h>
#include <weft/task_scheduler.h>
#include <weft/time.h>
#include <weft/trace/marks.h>
#include <weft/trace/recorder.h>
#include <weft/trace/stack_meter.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

namespace {

weft::TaskOptions Named(const char *name) {
    weft::TaskOptions options;
    options.name = name;
    return options;
}

void Spin(std::chrono::microseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

void Nothing(weft::TaskScheduler *, void *) {}

void Work(weft::TaskScheduler *, void *) { Spin(std::chrono::microseconds(20)); }

template <uint32_t kCount>
void RunStage(weft::TaskScheduler &scheduler, const char *name, weft::TaskFunction function) {
    weft::Task tasks[kCount];
    for (weft::Task &task : tasks) task = {function, nullptr};
    weft::Counter counter;
    weft::NameCounter(scheduler, &counter, name);
    scheduler.AddTasks(kCount, tasks, &counter, Named(name));
    scheduler.WaitForCounter(&counter);
}

void RunParts(weft::TaskScheduler *scheduler, void *) { RunStage<3>(*scheduler, "part", Work); }

void Sleep(weft::TaskScheduler *scheduler, void *) {
    weft::SleepFor(*scheduler, std::chrono::milliseconds(1));
}

void Load(void *) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

// Each frame: 16 tasks "work", 200 tasks "short" (so that workers claim several at once), 2 tasks
// "group" with 3 tasks "part" each, 1 task "sleep", and a blocking call that the frame waits for.
void RunFrame(weft::TaskScheduler &scheduler, weft::BlockingCalls &calls, uint32_t frame) {
    weft::Counter loaded;
    weft::NameCounter(scheduler, &loaded, "loaded");
    weft::BlockingCall call(Load, nullptr);
    calls.Submit(call, &loaded);
    RunStage<16>(scheduler, "work", Work);
    RunStage<200>(scheduler, "short", Nothing);
    RunStage<2>(scheduler, "group", RunParts);
    RunStage<1>(scheduler, "sleep", Sleep);
    scheduler.WaitForCounter(&loaded);
    weft::MarkFrame(scheduler, frame);
}

// A third of the frames runs in a task, a third on an external thread, a third on an attached one.
int Record(const char *path, uint32_t frames) {
    static unsigned char memory[16 << 20];
    weft::Recorder recorder(memory, sizeof memory);
    weft::StackMeter stackMeter;
    weft::SchedulerOptions options;
    options.workers = 2;
    options.maxAttached = 1;
    options.recorder = &recorder;
    options.stackMeter = &stackMeter;
    weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok) return 1;
    {
        weft::BlockingCalls calls(scheduler);
        const auto runThird = [&](uint32_t third) {
            for (uint32_t i = 0; i < frames / 3; ++i)
                RunFrame(scheduler, calls, third * (frames / 3) + i);
        };
        auto inTask = [&](weft::TaskScheduler *) { runThird(0); };
        const weft::Task task = weft::MakeTask(inTask);
        weft::Counter counter;
        scheduler.AddTasks(1, &task, &counter, Named("frames"));
        scheduler.WaitForCounter(&counter);
        runThird(1);
        if (scheduler.AttachThread() != weft::Status::Ok) return 1;
        runThird(2);
        scheduler.DetachThread();
    }
    scheduler.Stop();
    return recorder.WriteFile(path) ? 0 : 1;
}

int WritePage(const char *path, const char *title, const char *budget) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<unsigned char> bytes((std::istreambuf_iterator<char>(file)), {});
    weft::trace::HtmlOptions options;
    options.title = title;
    options.frameBudget = std::strtoull(budget, nullptr, 10);
    options.pictures = {{3, "data:image/gif;base64,R0lGODlhAQABAAAAACw="}};
    options.functions = {{0x402000, "Load<File>"}};
    options.whatIf = R"({"note":"<b>","rows":[]})";
    return weft::trace::WriteHtml(bytes, options, std::cout) ? 0 : 1;
}

}  // namespace

int main(int count, char **arguments) {
    if (count == 4 && std::strcmp(arguments[1], "record") == 0)
        return Record(arguments[2], static_cast<uint32_t>(std::atoi(arguments[3])));
    if (count == 5 && std::strcmp(arguments[1], "html") == 0)
        return WritePage(arguments[2], arguments[3], arguments[4]);
    return 2;
}
