// How much larger small blocks are than the sizes that were asked for.
//
// The requested size is stored nowhere. malloc notes it on ticks, so for one slow-path event in kEventsPerTick: a
// sample of all requests, by class, which costs the others nothing.
#pragma once

#include "tables/size_class.h"

namespace acre::rounding {

// Adds a request for n bytes, served by a block of this class, to the sample.
void note(SizeClass c, size_t n);

// Bytes by which a block of this class is larger than requested: the mean of the sample, to the nearest byte, so that
// figures computed from it add up. If there is no sample of the class, requests are taken to be spread evenly over the
// sizes that it serves. For any thread.
size_t of(SizeClass c);

}  // namespace acre::rounding
