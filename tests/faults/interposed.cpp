// The wrappers of the functions that can fail. They count calls, let the planned ones fail, and
// track what weft holds.
#include "faults/interposed.h"

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <mutex>
#include <new>

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace faults {

namespace {

std::atomic<bool> s_armed{false};
std::atomic<uint32_t> s_next{0};  // number of the next call of the planned functions
Plan s_plan;                      // written only while nothing is armed
Calls *s_calls = nullptr;
bool s_oldKernel = false;

std::atomic<int64_t> s_allocations{0}, s_attributes{0}, s_keys{0};
std::atomic<uint32_t> s_wrongUnmaps{0};

int UsualError(Function function) {
    switch (function) {
        case Function::MadviseGuard:
        case Function::MadviseUnguard:
        case Function::MadviseOther:
        case Function::AttrSetStackSize:
        case Function::GetAffinity:
        case Function::SetAffinity:
        case Function::SigAction:
            return EINVAL;
        case Function::ThreadCreate:
        case Function::KeyCreate:
            return EAGAIN;
        case Function::SetPriority:
            return EACCES;
        case Function::SetName:
            return ERANGE;
        case Function::FutexWait:
            return 0;
        case Function::Open:
            return EMFILE;
        case Function::Read:
            return EIO;
        default:
            return ENOMEM;
    }
}

struct Mapping {
    void *base;
    size_t bytes;
};

// A list of mappings. There are few at a time.
class Mappings {
public:
    void Add(Mapping added) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        if (m_count < sizeof m_all / sizeof *m_all) m_all[m_count++] = added;
    }
    bool Remove(Mapping removed) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        for (size_t i = 0; i < m_count; ++i) {
            if (m_all[i].base != removed.base || m_all[i].bytes != removed.bytes) continue;
            m_all[i] = m_all[--m_count];
            return true;
        }
        return false;
    }
    bool Pop(Mapping &last) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        if (m_count == 0) return false;
        last = m_all[--m_count];
        return true;
    }
    size_t Count() {
        const std::lock_guard<std::mutex> lock(m_mutex);
        return m_count;
    }

private:
    std::mutex m_mutex;
    Mapping m_all[256];
    size_t m_count = 0;
};

Mappings s_mapped, s_refused;

}  // namespace

void Arm(const Plan &plan, Calls &calls) {
    s_plan = plan;
    s_calls = &calls;
    s_next.store(1);
    s_armed.store(true);
}

void Disarm() { s_armed.store(false); }

bool MustFail(Function function) {
    if (!s_armed.load()) return false;
    const auto index = static_cast<uint32_t>(function);
    s_calls->made[index].fetch_add(1);
    if ((s_plan.functions & BitOf(function)) == 0) return false;
    const uint32_t number = s_next.fetch_add(1);
    if (number < s_plan.nth || number - s_plan.nth >= s_plan.count) return false;
    s_calls->failed[index].fetch_add(1);
    errno = s_plan.error != 0 ? s_plan.error : UsualError(function);
    return true;
}

bool HasFailed(Function function) { return s_calls != nullptr && s_calls->HasFailed(function); }

void SetOldKernel(bool old) { s_oldKernel = old; }

Held HeldNow() {
    return {s_allocations.load(), static_cast<int64_t>(s_mapped.Count()), s_attributes.load(),
            s_keys.load()};
}

uint32_t WrongUnmaps() { return s_wrongUnmaps.load(); }

}  // namespace faults

using faults::Function;
using faults::MustFail;

// `real` is the function of the C library or of a sanitizer.
extern "C" {

void *__real_mmap(void *, size_t, int, int, int, off_t) noexcept;
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file,
                  off_t offset) noexcept {
    if (MustFail(Function::Mmap)) return MAP_FAILED;
    void *base = __real_mmap(address, bytes, protection, flags, file, offset);
    if (base != MAP_FAILED) faults::s_mapped.Add({base, bytes});
    return base;
}

int __real_munmap(void *, size_t) noexcept;
int __wrap_munmap(void *base, size_t bytes) noexcept {
    if (!faults::s_mapped.Remove({base, bytes})) faults::s_wrongUnmaps.fetch_add(1);
    if (MustFail(Function::Munmap)) {
        faults::s_refused.Add({base, bytes});
        return -1;
    }
    return __real_munmap(base, bytes);
}

int __real_mprotect(void *, size_t, int) noexcept;
int __wrap_mprotect(void *address, size_t bytes, int protection) noexcept {
    if (MustFail(protection == PROT_NONE ? Function::MprotectGuard : Function::MprotectUnguard))
        return -1;
    return __real_mprotect(address, bytes, protection);
}

int __real_madvise(void *, size_t, int) noexcept;
int __wrap_madvise(void *address, size_t bytes, int advice) noexcept {
    const bool guard = advice == 102, unguard = advice == 103;
    if (MustFail(guard     ? Function::MadviseGuard
                 : unguard ? Function::MadviseUnguard
                           : Function::MadviseOther)) {
        return -1;
    }
    if (faults::s_oldKernel && (guard || unguard)) {
        errno = EINVAL;
        return -1;
    }
    return __real_madvise(address, bytes, advice);
}

int __real_pthread_attr_init(pthread_attr_t *) noexcept;
int __wrap_pthread_attr_init(pthread_attr_t *attributes) noexcept {
    if (MustFail(Function::AttrInit)) return errno;
    faults::s_attributes.fetch_add(1);
    return __real_pthread_attr_init(attributes);
}

int __real_pthread_attr_destroy(pthread_attr_t *) noexcept;
int __wrap_pthread_attr_destroy(pthread_attr_t *attributes) noexcept {
    faults::s_attributes.fetch_sub(1);
    return __real_pthread_attr_destroy(attributes);
}

int __real_pthread_attr_setstacksize(pthread_attr_t *, size_t) noexcept;
int __wrap_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes) noexcept {
    return MustFail(Function::AttrSetStackSize)
               ? errno
               : __real_pthread_attr_setstacksize(attributes, bytes);
}

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) noexcept;
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*entry)(void *), void *arg) noexcept {
    if (!MustFail(Function::ThreadCreate))
        return __real_pthread_create(thread, attributes, entry, arg);
    const int error = errno;
    usleep(500);  // so that the threads that were started before get ahead
    return error;
}

int __real_pthread_setname_np(pthread_t, const char *) noexcept;
int __wrap_pthread_setname_np(pthread_t thread, const char *name) noexcept {
    return MustFail(Function::SetName) ? errno : __real_pthread_setname_np(thread, name);
}

int __real_pthread_key_create(pthread_key_t *, void (*)(void *)) noexcept;
int __wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *)) noexcept {
    if (MustFail(Function::KeyCreate)) return errno;
    const int error = __real_pthread_key_create(key, destroy);
    if (error == 0) faults::s_keys.fetch_add(1);
    return error;
}

int __real_pthread_key_delete(pthread_key_t) noexcept;
int __wrap_pthread_key_delete(pthread_key_t key) noexcept {
    faults::s_keys.fetch_sub(1);
    return __real_pthread_key_delete(key);
}

int __real_pthread_setspecific(pthread_key_t, const void *) noexcept;
int __wrap_pthread_setspecific(pthread_key_t key, const void *value) noexcept {
    // Only setting a value needs memory.
    return value != nullptr && MustFail(Function::SetSpecific)
               ? errno
               : __real_pthread_setspecific(key, value);
}

int __real_sched_getaffinity(pid_t, size_t, cpu_set_t *) noexcept;
int __wrap_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) noexcept {
    return MustFail(Function::GetAffinity) ? -1 : __real_sched_getaffinity(process, bytes, set);
}

int __real_sched_setaffinity(pid_t, size_t, const cpu_set_t *) noexcept;
int __wrap_sched_setaffinity(pid_t process, size_t bytes, const cpu_set_t *set) noexcept {
    return MustFail(Function::SetAffinity) ? -1 : __real_sched_setaffinity(process, bytes, set);
}

int __real_open(const char *, int, ...);
int __wrap_open(const char *path, int flags, ...) {
    if (MustFail(Function::Open)) return -1;
    va_list list;
    va_start(list, flags);
    const int mode = (flags & O_CREAT) != 0 ? va_arg(list, int) : 0;
    va_end(list);
    return __real_open(path, flags, mode);
}

ssize_t __real_read(int, void *, size_t);
ssize_t __wrap_read(int file, void *buffer, size_t bytes) {
    return MustFail(Function::Read) ? -1 : __real_read(file, buffer, bytes);
}

int __real_setpriority(__priority_which_t, id_t, int) noexcept;
int __wrap_setpriority(__priority_which_t which, id_t who, int priority) noexcept {
    return MustFail(Function::SetPriority) ? -1 : __real_setpriority(which, who, priority);
}

int __real_sigaltstack(const stack_t *, stack_t *) noexcept;
int __wrap_sigaltstack(const stack_t *next, stack_t *before) noexcept {
    // A query, and switching the signal stack off, need nothing.
    const bool sets = next != nullptr && (next->ss_flags & SS_DISABLE) == 0;
    return sets && MustFail(Function::SigAltStack) ? -1 : __real_sigaltstack(next, before);
}

int __real_sigaction(int, const struct sigaction *, struct sigaction *) noexcept;
int __wrap_sigaction(int number, const struct sigaction *next, struct sigaction *before) noexcept {
    // Only weft's new handler fails. Setting the previous handler again does not.
    const bool sets = next != nullptr && (next->sa_flags & SA_ONSTACK) != 0;
    return sets && MustFail(Function::SigAction) ? -1 : __real_sigaction(number, next, before);
}

long __real_syscall(long, ...) noexcept;
long __wrap_syscall(long number, ...) noexcept {
    va_list list;
    va_start(list, number);
    long arguments[6];
    for (long &argument : arguments) argument = va_arg(list, long);
    va_end(list);
    if (number == SYS_futex && static_cast<int>(arguments[1]) == FUTEX_WAIT_BITSET_PRIVATE &&
        MustFail(Function::FutexWait)) {
        return errno == 0 ? 0 : -1;
    }
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                          arguments[4], arguments[5]);
}

// operator new(std::size_t, std::align_val_t, const std::nothrow_t &)
void *__real__ZnwmSt11align_val_tRKSt9nothrow_t(std::size_t, std::align_val_t,
                                                const std::nothrow_t &) noexcept;
void *__wrap__ZnwmSt11align_val_tRKSt9nothrow_t(std::size_t bytes, std::align_val_t alignment,
                                                const std::nothrow_t &nothrow) noexcept {
    if (MustFail(Function::Allocate)) return nullptr;
    void *memory = __real__ZnwmSt11align_val_tRKSt9nothrow_t(bytes, alignment, nothrow);
    if (memory != nullptr) faults::s_allocations.fetch_add(1);
    return memory;
}

// operator delete(void *, std::align_val_t)
void __real__ZdlPvSt11align_val_t(void *, std::align_val_t) noexcept;
void __wrap__ZdlPvSt11align_val_t(void *memory, std::align_val_t alignment) noexcept {
    if (memory != nullptr) faults::s_allocations.fetch_sub(1);
    __real__ZdlPvSt11align_val_t(memory, alignment);
}

}  // extern "C"

void faults::UnmapRefused() {
    for (Mapping refused; s_refused.Pop(refused);) __real_munmap(refused.base, refused.bytes);
}
