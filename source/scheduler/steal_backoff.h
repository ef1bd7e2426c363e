// When a worker that has no work looks at what others have.
#pragma once

#include "scheduler/scheduler.h"

namespace weft::internal {

/// Whether to look at what others have. A look costs them, so it comes at growing intervals while they go on submitting and
/// finishing tasks; and who stole little from them keeps away for a while altogether. Neither holds once they have done
/// nothing of the kind for some time: what they publish then may be taken at once.
bool MaySteal(Worker *worker, uint64_t now) noexcept;

}  // namespace weft::internal
