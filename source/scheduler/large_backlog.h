// Large tasks for which no fiber was free.
//
// They wait in the workers' backlogs until a Large fiber comes free. But the fibers may all belong to tasks that wait for
// these very tasks: what a thief without a Large fiber took, its submitter cannot take back. So a task that waits for zero
// on a Large stack, and has room for another one, is handed what it waits for, and runs it before it waits again. One that is
// pinned to a worker, or needs a permit to go on, may be late, while others have a Large fiber for the task: it is woken, and
// takes the task out of the backlogs if it is still there.
//
// Neither is missed. Who puts a task away counts it (`largeBacklog`), looks for such a waiter, and puts it away; who begins such a
// wait gets in line at the counter and then looks whether anything is counted. One of them sees the other, as all four are
// seq_cst. A waiter that finds something asks for each task that is put away by then; for those that are in somebody's hands just
// then it raises `largeWaits`, and who finds that raised after putting a task away takes it again and looks again.
#pragma once

#include "scheduler/worker.h"

namespace weft::internal {

/// The caller has the item, and no Large fiber: a waiter gets it, or it is put away.
void PutIntoBacklog(Worker *worker, BacklogEntry item) noexcept;

/// Something from a backlog, the caller's first. It may find nothing although others' hands are not empty.
bool TakeFromBacklog(Worker *worker, bool low, BacklogEntry &item) noexcept;

/// A fiber that takes Large tasks has got in line at its counter.
void OfferBacklog(Worker *worker) noexcept;

/// Something that `counter` counts, for who was woken for it. Not what is in somebody's hands just then: the caller waits again.
bool TakeOfCounter(Worker *worker, const Counter &counter, BacklogEntry &item) noexcept;

}  // namespace weft::internal
