// The definition of worlds for box2d's tests on weft.
#undef b2DefaultWorldDef
#include "../on_weft.h"
#include "box2d/box2d_tasks.h"

#include <box2d/types.h>

namespace {

struct Shared {
    engines::AttachedScheduler attached;
    weft::Box2dTasks tasks{attached.Get(), attached.Get().MaxConcurrency()};
};

}  // namespace

extern "C" b2WorldDef b2DefaultWorldDefOnWeft(void);
extern "C" b2WorldDef b2DefaultWorldDefOnWeft(void) {
    static Shared shared;
    b2WorldDef definition = b2DefaultWorldDef();
    shared.tasks.Use(definition);
    return definition;
}
