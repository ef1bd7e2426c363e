// Exit calls with a pthread key.
#include "platform/thread_exit.h"

#include <cstddef>

#include <pthread.h>

namespace weft::env {

namespace {

// The key exists while there are calls, so a plug-in that contains weft leaves nothing behind when
// it is unloaded. A process has about a thousand keys.
pthread_mutex_t s_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_key_t s_key;
size_t s_calls = 0;  // guarded by the mutex

void Call(void *exit);

// A thread reads s_key only between these two. So it sees the key that AddCall found or made under
// the mutex.
bool AddCall() noexcept {
    pthread_mutex_lock(&s_mutex);
    const bool hasKey = s_calls != 0 || pthread_key_create(&s_key, Call) == 0;
    if (hasKey) ++s_calls;
    pthread_mutex_unlock(&s_mutex);
    return hasKey;
}

// A thread has a value for the key only while it has a call. So the key is deleted when no thread
// has a value, and the system never calls `Call` for a key that is gone. POSIX allows the deletion
// in `Call` itself.
void RemoveCall() noexcept {
    pthread_mutex_lock(&s_mutex);
    if (--s_calls == 0) pthread_key_delete(s_key);
    pthread_mutex_unlock(&s_mutex);
}

// Withdraws the call first. Afterwards `exit` may be gone, and the library's last scheduler, too.
// The thread must be joined before the library is unloaded.
void Call(void *exit) {
    ExitCall *const ending = static_cast<ExitCall *>(exit);
    const ExitCall called = *ending;
    CancelAtThreadExit(ending);
    called.call(called.arg);
}

}  // namespace

bool AtThreadExit(ExitCall *exit) noexcept {
    if (!AddCall()) return false;
    exit->outer = static_cast<ExitCall *>(pthread_getspecific(s_key));
    exit->isSet = pthread_setspecific(s_key, exit) == 0;
    if (!exit->isSet) RemoveCall();
    return exit->isSet;
}

void CancelAtThreadExit(ExitCall *exit) noexcept {
    if (!exit->isSet) return;
    exit->isSet = false;
    // It cannot fail: the thread has room for this key.
    pthread_setspecific(s_key, exit->outer);
    RemoveCall();
}

}  // namespace weft::env
