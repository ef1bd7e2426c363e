// Overflows the stack of the caller.
#pragma once

namespace test {

/// Calls itself until the stack is used up. The frames are smaller than a guard page, or much
/// larger (`leaps`).
void OverflowStack(bool leaps = false);

}  // namespace test
