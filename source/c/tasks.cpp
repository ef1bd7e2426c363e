// The functions of weft.h that submit tasks.
#include "c/convert.h"
#include "weft/deferred.h"

namespace weft::internal {

namespace {

constexpr TaskOptions kDefaults{};

weft_task_options DefaultTaskOptions() noexcept {
    weft_task_options options = {};
    options.structBytes = sizeof options;
    options.worker = kDefaults.worker;
    options.name = kDefaults.name;
    options.priority = ToNumber(kDefaults.priority);
    options.group = kDefaults.group;
    return options;
}

// Calls submit(TaskOptions). Null stands for `defaults`. Returns false, after a report, if the
// options cannot be read.
template <class Submit>
bool WithOptions(const TaskScheduler &scheduler, const weft_task_options *given,
                 const TaskOptions &defaults, Submit submit) noexcept {
    if (given == nullptr) return submit(defaults);
    weft_task_options read = DefaultTaskOptions();
    if (!ReadStruct(*given, read)) {
        ReportMisuse(scheduler, ReportCode::BadOption,
                     "Call weft_task_options_init, and compile with the headers of the library "
                     "that you link.",
                     "weft_task_options::structBytes is out of range");
        return false;
    }
    TaskOptions options;
    options.priority = static_cast<Priority>(read.priority);
    options.worker = read.worker;
    options.name = read.name;
    options.group = read.group;
    return submit(options);
}

// The same for a call that returns nothing.
template <class Submit>
void Submitting(const TaskScheduler &scheduler, const weft_task_options *given,
                Submit submit) noexcept {
    WithOptions(scheduler, given, kDefaults, [&](const TaskOptions &options) {
        submit(options);
        return true;
    });
}

}  // namespace

}  // namespace weft::internal

void weft_task_options_init(weft_task_options *options, size_t bytes) noexcept {
    weft_task_options defaults = weft::internal::DefaultTaskOptions();
    defaults.structBytes = static_cast<uint32_t>(bytes);
    weft::internal::WriteStruct(defaults, options, bytes);
}

weft_status weft_run(weft_scheduler *scheduler, weft_task_function function, void *arg,
                     const weft_task_options *options) noexcept {
    // as the default argument of TaskScheduler::Run
    constexpr weft::TaskOptions kMain{weft::Priority::Normal, weft::kAnyWorker, "main"};
    weft::Status status = weft::Status::BadOption;
    weft::internal::WithOptions(*scheduler, options, kMain, [&](const weft::TaskOptions &read) {
        status = scheduler->Run(function, arg, read);
        return true;
    });
    return weft::internal::ToNumber(status);
}

void weft_add_task(weft_scheduler *scheduler, weft_task_function function, void *arg,
                   weft_counter *counter, const weft_task_options *options) noexcept {
    weft::internal::Submitting(*scheduler, options, [=](const weft::TaskOptions &read) {
        scheduler->AddTask({function, arg}, weft::internal::ToCounter(counter), read);
    });
}

void weft_add_tasks(weft_scheduler *scheduler, uint32_t count, const weft_task *tasks,
                    weft_counter *counter, const weft_task_options *options) noexcept {
    weft::internal::Submitting(*scheduler, options, [=](const weft::TaskOptions &read) {
        scheduler->AddTasks(count, weft::internal::ToTasks(tasks),
                            weft::internal::ToCounter(counter), read);
    });
}

void weft_add_child_tasks(weft_scheduler *scheduler, uint32_t count, const weft_task *tasks,
                          const weft_task_options *options) noexcept {
    weft::internal::Submitting(*scheduler, options, [=](const weft::TaskOptions &read) {
        scheduler->AddChildTasks(count, weft::internal::ToTasks(tasks), read);
    });
}

void weft_add_tasks_and_wait(weft_scheduler *scheduler, uint32_t count, const weft_task *tasks,
                             const weft_task_options *options) noexcept {
    weft::internal::Submitting(*scheduler, options, [=](const weft::TaskOptions &read) {
        scheduler->AddTasksAndWait(count, weft::internal::ToTasks(tasks), read);
    });
}

bool weft_add_task_after(weft_scheduler *scheduler, weft_counter *after, uint32_t value,
                         weft_task_function function, void *arg, weft_counter *counter,
                         const weft_task_options *options) noexcept {
    using namespace weft::internal;
    return WithOptions(*scheduler, options, kDefaults, [=](const weft::TaskOptions &read) {
        return weft::AddTaskAfter(*scheduler, ToCounter(after), value, {function, arg},
                                  ToCounter(counter), read);
    });
}

bool weft_add_task_at(weft_scheduler *scheduler, uint64_t time, weft_task_function function,
                      void *arg, weft_counter *counter, const weft_task_options *options) noexcept {
    using namespace weft::internal;
    return WithOptions(*scheduler, options, kDefaults, [=](const weft::TaskOptions &read) {
        return weft::AddTaskAt(*scheduler, ToTime(time), {function, arg}, ToCounter(counter), read);
    });
}
