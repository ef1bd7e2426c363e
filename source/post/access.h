// Access to the objects in the storage of the public classes: a JobQueue in a PostQueue, a JobState
// in a PostedJob.
#pragma once

#include "post/job_queue.h"

#include <new>

namespace weft::internal {

/// Returns the object of type T that was made in the storage.
template <class T>
T &Stored(unsigned char *storage) noexcept {
    return *std::launder(static_cast<T *>(static_cast<void *>(storage)));
}

template <class T>
const T &Stored(const unsigned char *storage) noexcept {
    return *std::launder(static_cast<const T *>(static_cast<const void *>(storage)));
}

}  // namespace weft::internal
