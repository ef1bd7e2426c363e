#include "platform/thread_exit.h"

#include <pthread.h>

namespace weft::env {

namespace {

pthread_once_t s_once = PTHREAD_ONCE_INIT;
pthread_key_t s_key;
bool s_made = false;

void Call(void *exit) {
    const ExitCall called = *static_cast<ExitCall *>(exit);
    called.call(called.arg);
}
void MakeKey() { s_made = pthread_key_create(&s_key, Call) == 0; }

}  // namespace

void AtThreadExit(ExitCall *exit) noexcept {
    pthread_once(&s_once, MakeKey);
    if (s_made) pthread_setspecific(s_key, exit);
}

}  // namespace weft::env
