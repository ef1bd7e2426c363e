// A job of many steps: posted, delayed, or put to wait until it is woken or signalled, or its time
// has come.
//
//     struct Download : weft::PostedJob {
//         explicit Download(weft::PostQueue &queue) : PostedJob(queue, Begin) {}
//         static void Begin(weft::TaskScheduler *, weft::PostedJob *job) {
//             static_cast<Download *>(job)->AskServer();         // its thread will call Signal
//             job->SetCallback(End);
//             job->PostWaitFor(std::chrono::seconds(5));
//         }
//         static void End(weft::TaskScheduler *, weft::PostedJob *job) {
//             if (!job->ReceiveSignal()) return GiveUp(job);     // job->IsExpired()
//             delete static_cast<Download *>(job);
//         }
//     };
//
//     (new Download(queue))->Post();
//
// Unlike a task that waits, a job that waits holds no fiber: there may be as many as there is
// memory for.
#pragma once

#include "weft/export.h"
#include "weft/post/post_queue.h"
#include "weft/sync/deadline.h"
#include "weft/time.h"

namespace weft {

class PostedJob;

/// What a job runs, in a task of its queue: it may wait, too, though that takes a fiber.
using PostedFunction = void (*)(TaskScheduler *scheduler, PostedJob *job);

/// Derive from it, or make it a member. It lies wherever you like, and no call of it allocates.
///
/// Posting. Each post begins the callback once. When that has begun weft does not touch the job any
/// more, unless it is posted again or called; so the callback may post it, hand it to somebody who
/// posts it, or destroy it. At any time one thread may post a job; it begins after all that the
/// poster did before. A post while it is posted already is reported (WrongThread) and has no
/// effect. So is one without a callback (NullTask), and any call while the scheduler does not run
/// (NotRunning).
///
/// Calling. Wake and Signal end a wait. If the job does not wait they are not lost: what comes
/// before the callback begins is answered by that beginning, and after a later call the next
/// PostWait begins at once. A signal stays beyond that, until it is received.
///
/// Lifetime. Who calls a job touches it until the call has its effect, and no longer. For a signal
/// that is when ReceiveSignal returns true: with one signal expected, the callback that has
/// received it may destroy the job, though Signal may not have returned yet. A job whose deadline
/// has passed must first make sure that nobody is going to call it: take the job away from the
/// caller, and if it is too late for that, wait for the signal that is on its way. With Wake alone
/// nobody can know.
class WEFT_API PostedJob {
public:
    /// Not posted. The queue must outlive every call but the destructor's.
    PostedJob(PostQueue &queue, PostedFunction callback) noexcept;
    /// A job that is posted still is taken out of its queue, and reported (CounterDestroyed).
    ~PostedJob();
    PostedJob(const PostedJob &) = delete;
    PostedJob &operator=(const PostedJob &) = delete;

    /// Sets what later posts begin. Null is reported (NullTask) and has no effect. For threads that
    /// may post.
    void SetCallback(PostedFunction callback) noexcept;

    /// Behind all that is ready in the queue. Any thread.
    void Post() noexcept;

    /// At `time`, or at once if that has passed; calls do not hasten it. A time that never comes,
    /// time_point::max(), is reported (BadOption) and has no effect. Any thread.
    void PostAt(Clock::time_point time) noexcept { PostUntil(time, false); }
    void PostAfter(Clock::duration duration) noexcept {
        PostUntil(internal::DeadlineAfter(duration), false);
    }

    /// When it is called; at once if it was called since its last beginning, or has a signal. Any
    /// thread.
    void PostWait() noexcept { PostUntil(Clock::time_point::max(), true); }

    /// The same, but at `deadline` at the latest. Any thread.
    void PostWaitUntil(Clock::time_point deadline) noexcept { PostUntil(deadline, true); }
    void PostWaitFor(Clock::duration duration) noexcept {
        PostUntil(internal::DeadlineAfter(duration), true);
    }

    /// Ends its wait. Several before it begins are one. Any thread, as long as the job lives.
    void Wake() noexcept;

    /// The same, and leaves a signal, in one step. Any thread, until the signal is received.
    void Signal() noexcept;

    /// Whether there was a signal, which is taken; then all that came before the Signal is visible,
    /// and who signalled does not touch the job any more. Any thread.
    bool ReceiveSignal() noexcept;

    /// For the callback, before it posts the job again: whether it began because the time had come,
    /// and not by a call.
    bool IsExpired() const noexcept;

private:
    void PostUntil(Clock::time_point time, bool waits) noexcept;

    // its size never changes, so that libraries can be exchanged
    alignas(8) unsigned char m_storage[96];
};

}  // namespace weft
