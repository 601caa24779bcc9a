#include "record/names.h"

#include <string.h>

#include "os/os.h"

namespace acre::record::names {

namespace {

constexpr uint32_t kFewTicks = 4, kManyTicks = 100;  // of 10 ms

}  // namespace

void begin(Recorder& recorder) {
  os::read_thread_name(recorder.name);
  recorder.last_look = static_cast<uint32_t>(recorder.clock->load(std::memory_order_relaxed));
  recorder.ticks_to_look = kFewTicks;
}

void look(Recorder& recorder) {
  recorder.last_look = recorder.tick();
  recorder.ticks_to_look = smaller(2 * recorder.ticks_to_look, kManyTicks);
  char name[os::kNameBytes] = {};
  os::read_thread_name(name);
  if (strcmp(name, recorder.name) == 0) return;
  memcpy(recorder.name, name, sizeof name);
  recorder.encoder.name(name);
}

}  // namespace acre::record::names
