// acre's own figures in a recording: what it has mapped, what is in use and dirty, and what went back to the system.
#pragma once

#include "record/lanes.h"

namespace acre::record::figures {

// Whether none were written since the collector's clock has gone on (SharedHeader::clock). If so, the calling thread has
// to write them.
bool are_due(uint32_t tick);

// Writes kFigures, and kPurged and kLost if there is something to tell. The lane has room. Takes no lock.
void write(Encoder& encoder);

// Events that nobody could write.
void count_lost();

}  // namespace acre::record::figures
