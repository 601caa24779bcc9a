// Guarded blocks: a few of the program's blocks, drawn by the sampler's clock (sample/clock.h), lie between pages that
// cannot be read or written, and stay unreachable after their free as long as slots last. Whatever walks past an end of
// such a block, or uses it after its free, ends the program with the stacks of the block's allocation and free
// (handler.h, explain.h).
#pragma once

namespace acre::guard {

// Called at start-up with no lock held, for the options guard and abort_backtrace: opens the unwinder for the stacks, and
// guards blocks from now on.
void start();

}  // namespace acre::guard
