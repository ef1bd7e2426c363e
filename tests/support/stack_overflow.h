// Runs over the end of the calling stack.
#pragma once

namespace test {

/// Calls itself until no stack is left, with frames smaller than a guard page, or (`leaps`) much
/// larger.
void OverflowStack(bool leaps = false);

}  // namespace test
