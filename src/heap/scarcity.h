// Before a request is refused: memory may lack only for a moment, or only because of what the thread itself keeps.
#pragma once

namespace acre {

// Gives up all that the calling thread keeps, and waits for pages that others are just returning to the OS, which
// are nobody's for that time. Once the OS has refused memory; a second attempt may then succeed.
void gather_memory();

}  // namespace acre
