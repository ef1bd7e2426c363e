// Decides whether tasks go to the caller's own lane or to another worker.
#include "scheduler/submit/submit.h"

#include "platform/compiler.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/post.h"
#include "scheduler/submit/publish.h"

namespace weft::internal {

bool Submit(Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
            const TaskOptions &options) noexcept {
    if (WEFT_UNLIKELY(options.worker != kAnyWorker)) {
        FlushPending(worker);
        return Post(*worker->scheduler, worker, count, tasks, counter, options);
    }
    if (WEFT_UNLIKELY(!RaisePastPending(worker, counter, count))) return false;
    Publish(worker, count, tasks, counter, LabelOf(worker, options));
    return true;
}

void SubmitOne(Worker *worker, const Task &task, Counter *counter,
               const TaskOptions &options) noexcept {
    if (WEFT_UNLIKELY(!RaisePastPending(worker, counter, 1))) return;
    Publish(worker, 1, &task, counter, LabelOf(worker, options));
}

}  // namespace weft::internal
