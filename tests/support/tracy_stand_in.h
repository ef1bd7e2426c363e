// Stands in for Tracy's C API (tracy/TracyC.h): declares what weft/trace/tracy.h uses of it, and
// checks the calls by the rules of Tracy's manual. Include it before weft/trace/tracy.h.
//
// Zones form a stack. It is the one of the fiber that the calling thread has entered, or of the
// thread if it has entered none. A zone must end on the stack on which it began, as the innermost
// one. A thread that has entered no fiber must not leave one. A fiber runs on one thread at a time.
#pragma once

#define TRACY_ENABLE 1
#define TRACY_FIBERS 1

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

// As in Tracy.hpp. No header of weft may be disturbed by them.
#define FrameMark tracy::SendFrameMark()
#define FrameImage(image, width, height, offset, flip)
#define LockMark(lock)

extern "C" {
struct ___tracy_source_location_data {
    const char *name;
    const char *function;
    const char *file;
    uint32_t line;
    uint32_t color;
};
struct ___tracy_c_zone_context {
    uint32_t id;
    int32_t active;
};
typedef ___tracy_c_zone_context TracyCZoneCtx;

TracyCZoneCtx ___tracy_emit_zone_begin(const ___tracy_source_location_data *location,
                                       int32_t active);
void ___tracy_emit_zone_end(TracyCZoneCtx zone);
void ___tracy_fiber_enter(const char *fiber);
void ___tracy_fiber_leave(void);
void ___tracy_emit_frame_mark(const char *name);
void ___tracy_emit_plot_int(const char *name, int64_t value);
}
#define TracyCZoneEnd(zone) ___tracy_emit_zone_end(zone);

namespace test {

/// What Tracy was told since the last Clear.
struct TracyLog {
    std::string wrong;                    ///< Broken rules, one a line. Open zones: see Tracy().
    std::map<std::string, size_t> zones;  ///< How many zones of each name have ended.
    std::set<std::string> fibers;         ///< The names of the fibers that were entered.
    std::set<const void *> locations;     ///< The source locations of zones.
    size_t deepest = 0;                   ///< The most zones that were open on one stack.
    size_t frames = 0;                    ///< Frame marks.
    std::map<std::string, std::vector<int64_t>> plots;
};

/// Returns the log. Adds to `wrong` the zones that are open, and the threads that are in a fiber.
TracyLog Tracy();
void ClearTracy();

/// The name of the innermost open zone of the calling thread; "-" if there is none.
std::string InnermostZone();
/// The fiber that the calling thread has entered; "-" if there is none.
std::string TracyFiber();

}  // namespace test
