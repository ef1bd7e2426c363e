// Implements weft/no_suspend.h. The scopes of the running task are a list that begins at the worker
// (Worker::noSuspend). If the task waits after all, the worker forgets the list. So the list
// belongs to the running task at all times.
#include "weft/no_suspend.h"

#include "scheduler/api/caller.h"

namespace weft {

using namespace internal;

NoSuspend::NoSuspend(const char *name) noexcept : m_name(name) {
    Worker *const worker = CurrentWorker();
    if (worker == nullptr) return;
    m_outer = worker->noSuspend;
    worker->noSuspend = this;
}

NoSuspend::~NoSuspend() {
    Worker *const worker = CurrentWorker();
    // Otherwise the worker has forgotten it. Perhaps the task has moved to another worker.
    if (worker != nullptr && worker->noSuspend == this) worker->noSuspend = m_outer;
}

bool internal::MayWaitNow(Worker *worker, const char *call) noexcept {
    if (worker->inHook) {
        ReportMistake(worker->scheduler->options, ReportCode::InHook,
                      "Call it from a task; a hook may submit, but not wait.",
                      "%s was called by a hook", call);
        return false;
    }
    const char *name = worker->noSuspend->Name();
    worker->noSuspend = nullptr;
    ReportMistake(worker->scheduler->options, ReportCode::WaitInScope,
                  "End the scope before the wait: unlock the std::mutex, or use weft::Mutex.",
                  "%s was called in a scope of NoSuspend '%.40s'", call,
                  name != nullptr ? name : "without a name");
    return true;
}

}  // namespace weft
