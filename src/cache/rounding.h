// How much larger small blocks are than what was asked for.
//
// The size that a program asks for is stored nowhere. malloc knows it, and at each of its ticks, one in kEventsPerTick
// of its visits to the slow path, it is noted: a sample of all requests, by class, that costs the others nothing.
#pragma once

#include "tables/size_class.h"

namespace acre::rounding {

// A request for n bytes that a block of this class serves.
void note(SizeClass c, size_t n);

// Bytes by which a block of this class is larger than asked for: the mean of the sample, to the nearest byte, so that
// what follows from it adds up. Where there is no sample of the class, requests are taken to be spread evenly over the
// sizes that it serves. From any thread.
size_t of(SizeClass c);

}  // namespace acre::rounding
