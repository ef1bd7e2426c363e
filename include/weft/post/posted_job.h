// A job of several steps. Between two steps it is posted: to begin at once, at a time, or when it
// is woken or signalled.
//
//     struct Download : weft::PostedJob {
//         explicit Download(weft::PostQueue &queue) : PostedJob(queue, Begin) {}
//         static void Begin(weft::TaskScheduler *, weft::PostedJob *job) {
//             static_cast<Download *>(job)->AskServer();   // the network thread will call Signal
//             job->SetCallback(End);
//             job->PostOnWakeFor(std::chrono::seconds(5));
//         }
//         static void End(weft::TaskScheduler *, weft::PostedJob *job) {
//             if (!job->ReceiveSignal()) return GiveUp(job);   // the five seconds are over
//             delete static_cast<Download *>(job);
//         }
//     };
//
//     (new Download(queue))->Post();
//
// A job that waits holds no fiber, unlike a task that waits. So memory alone limits the number of
// jobs.
#pragma once

#include "weft/export.h"
#include "weft/post/post_queue.h"
#include "weft/sync/deadline.h"
#include "weft/time.h"

namespace weft {

class PostedJob;

/// The function of a step. It runs in a task of the queue. It may wait, but then it holds a fiber.
using PostedFunction = void (*)(TaskScheduler *scheduler, PostedJob *job);

/// A job of a PostQueue. Derive from it, or make it a member. You provide its memory, and no call
/// allocates.
///
/// Posting. Each post runs the callback once. Once the callback has begun, weft does not access the
/// job any more, unless it is posted, woken or signalled again. So the callback may post the job,
/// pass it to another thread that posts it, or destroy it. Only one thread at a time may post a
/// job. Everything that this thread wrote before the post is visible to the callback.
///
/// Errors of a post: WrongThread (the job is posted already), NullTask (it has no callback),
/// NotRunning (the scheduler does not run; also for Wake and Signal). Each is reported, and the
/// call then has no effect.
///
/// Wake and Signal end a wait. They are not lost if the job does not wait. A call before the
/// callback begins is answered by that callback. After a call that comes later, the next PostOnWake
/// begins the callback at once. A signal also stays until ReceiveSignal.
///
/// Lifetime. Wake and Signal access the job only until they have had their effect. For Signal that
/// is when ReceiveSignal returns true. So if you expect one signal, the callback that has received
/// it may destroy the job, even if Signal has not returned yet. A timeout gives no such guarantee.
/// Cancel the request first, or, if it is too late for that, wait for its signal. Wake alone gives
/// no such guarantee either.
class WEFT_API PostedJob {
public:
    /// Makes a job that is not posted. The queue must outlive all calls but the destructor.
    PostedJob(PostQueue &queue, PostedFunction callback) noexcept;
    /// If the job is still posted, removes it from its queue and reports DestroyedInUse.
    ~PostedJob();
    PostedJob(const PostedJob &) = delete;
    PostedJob &operator=(const PostedJob &) = delete;

    /// Sets the callback of later posts. Reports NullTask if it is null, and then has no effect.
    /// Only the thread that may post the job may call this.
    void SetCallback(PostedFunction callback) noexcept;

    /// Puts the job behind all ready jobs of the queue. Thread-safe; see Posting above.
    void Post() noexcept;

    /// Begins the job at `time`, or at once if that has passed. Wake and Signal do not make it
    /// begin earlier. Reports BadOption for time_point::max(), which never comes, and then has no
    /// effect. Thread-safe; see Posting above.
    void PostAt(Clock::time_point time) noexcept { PostUntil(time, false); }
    void PostAfter(Clock::duration duration) noexcept {
        PostUntil(internal::DeadlineAfter(duration), false);
    }

    /// Begins the job when it is woken or signalled. Begins it at once if it was woken or signalled
    /// since its last callback began, or has a signal. Thread-safe; see Posting above.
    void PostOnWake() noexcept { PostUntil(Clock::time_point::max(), true); }

    /// Like PostOnWake, but begins the job at `deadline` at the latest. Thread-safe; see Posting
    /// above.
    void PostOnWakeUntil(Clock::time_point deadline) noexcept { PostUntil(deadline, true); }
    void PostOnWakeFor(Clock::duration duration) noexcept {
        PostUntil(internal::DeadlineAfter(duration), true);
    }

    /// Ends the wait of the job. Several calls before the callback begins count as one. The job
    /// must live until the call has returned. Thread-safe.
    void Wake() noexcept;

    /// Wakes the job and leaves a signal, in one step. The job must live until the signal has been
    /// received. Thread-safe.
    void Signal() noexcept;

    /// Takes the signal, and returns true if there was one. Then everything that was written before
    /// Signal is visible, and Signal does not access the job any more. Thread-safe.
    bool ReceiveSignal() noexcept;

    /// Returns true if the callback began because its time had come, and not by Wake or Signal.
    /// Only for the callback, before it posts the job again.
    bool IsExpired() const noexcept;

private:
    void PostUntil(Clock::time_point time, bool waits) noexcept;

    // The size never changes, so that the library can be replaced without recompiling its users.
    alignas(8) unsigned char m_storage[96];
};

}  // namespace weft
