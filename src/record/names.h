// Names of threads in a recording, and of the tags that threads have in force (manual/tags.h). The collector reads a
// lane's first name from the system.
#pragma once

#include "record/lanes.h"

namespace acre::record::names {

// The lane begins.
void begin(Recorder& recorder);

// Writes kName if the calling thread has another name than before. The lane has room.
void look(Recorder& recorder);

// Writes kTag: what the calling thread has in force. Nothing for a lane that is not its own. The lane has room.
void write_tag(Recorder& recorder);

// A block of the lane begins: with the tag, if there is one.
void begin_block(Recorder& recorder);

// Whether it is time to look: soon after the beginning, then about each second in which the thread does something.
inline bool is_time(const Recorder& recorder) { return recorder.tick() - recorder.last_look >= recorder.ticks_to_look; }

}  // namespace acre::record::names
