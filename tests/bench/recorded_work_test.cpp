// Tests what `machine what-if` takes from a recording as the work of a task.
#include "machine/what_if/recorded_work.h"

#include "trace/written_recording.h"

#include <catch2/catch.hpp>

using namespace machine;
using weft::TraceKind;

namespace {

using Kind = RecordedStep::Kind;

RecordedWork WorkOf(const test::WrittenRecording &file) { return FindWork(file.Read()); }

// The nanoseconds that the job computed.
int64_t ComputedBy(const RecordedWork &work, size_t job) {
    int64_t sum = 0;
    for (const RecordedStep &step : work.jobs[job].steps) sum += step.ns;
    return sum;
}

size_t Waits(const RecordedWork &work, size_t job) {
    size_t count = 0;
    for (const RecordedStep &step : work.jobs[job].steps) count += step.kind == Kind::Wait;
    return count;
}

}  // namespace

TEST_CASE("what-if: a task computes only while its thread is on its processor", "[what_if]") {
    test::WrittenRecording file(2);
    file.Add(0, 5, TraceKind::OffCpu, 5, 2000);  // no task runs
    file.Begin(0, 10, 5, 10, "a");
    file.Begin(1, 11, 6, 11, "b");
    file.Add(0, 30, TraceKind::OffCpu, 5, 5000);
    file.Add(0, 30, TraceKind::Increment, 5, 1, 0x91);
    file.Add(0, 40, TraceKind::OffCpu, 5, 99000);  // at most since the event before
    file.Add(0, 40, TraceKind::Increment, 5, 1, 0x91);
    file.Add(0, 50, TraceKind::OffCpu, 5, 3000);
    file.End(0, 60, 5, 10, "a");
    file.Add(1, 41, TraceKind::CounterName, 6, 0, 0x91, "counter");
    file.Add(1, 51, TraceKind::OffCpu, 6, 99000);
    file.End(1, 61, 6, 11, "b");
    const RecordedWork work = WorkOf(file);
    REQUIRE(work.jobs.size() == 2);
    CHECK(ComputedBy(work, 0) == 15000 + 0 + 17000);
    CHECK(ComputedBy(work, 1) == 30000 + 0 + 10000);
}

TEST_CASE("what-if: a thread off its processor does not end a wait, or tell of a deadline",
          "[what_if]") {
    test::WrittenRecording file(1);
    file.Begin(0, 1, 5, 10, "outer");
    file.Submit(0, 2, 5, 2, 11, "inner", 0x91);
    file.Begin(0, 3, 5, 11, "inner");  // on the stack of the waiting task
    file.End(0, 13, 5, 11, "inner");
    file.Add(0, 33, TraceKind::OffCpu, 5, 19000);
    file.Begin(0, 33, 5, 12, "inner");
    file.End(0, 43, 5, 12, "inner");
    file.Wait(0, 50, 5, 0x92);
    file.Switch(0, 51, 5, 6);
    file.Add(0, 60, TraceKind::Deadline, 6);
    file.Add(0, 65, TraceKind::OffCpu, 6, 4000);
    file.Ready(0, 65, 6, 5, 0x92);
    file.Switch(0, 66, 6, 5);
    file.Resume(0, 67, 5, 0x92);
    file.End(0, 70, 5, 10, "outer");
    const RecordedWork work = WorkOf(file);
    REQUIRE(work.jobs.size() == 3);
    CHECK(Waits(work, 0) == 2);  // one for both inner tasks
    CHECK(ComputedBy(work, 1) == 10000);
    REQUIRE(work.waits.size() == 2);
    CHECK(work.waits[1].byDeadline);
}
