// Names of threads in a recording. The collector reads a lane's first one from the system.
#pragma once

#include "record/lanes.h"

namespace acre::record::names {

// The lane begins.
void begin(Recorder& recorder);

// Writes kName if the calling thread has another name than before. The lane has room.
void look(Recorder& recorder);

// Whether it is time to look: soon after the beginning, then about each second in which the thread does something.
inline bool is_time(const Recorder& recorder) { return recorder.tick() - recorder.last_look >= recorder.ticks_to_look; }

}  // namespace acre::record::names
