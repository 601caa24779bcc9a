#include "record/names.h"

#include <string.h>

#include "manual/tags.h"
#include "os/os.h"

namespace acre::record::names {

namespace {

constexpr uint32_t kFewTicks = 4, kManyTicks = 100;  // of 10 ms

bool is_own(const Recorder& recorder) {
  const Heap* heap = heap_if_any();
  return heap != nullptr && heap->recorder == &recorder;
}

}  // namespace

void begin(Recorder& recorder) {
  os::read_thread_name(recorder.name);
  recorder.last_look = static_cast<uint32_t>(recorder.clock->load(std::memory_order_relaxed));
  recorder.ticks_to_look = kFewTicks;
  begin_block(recorder);
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

void write_tag(Recorder& recorder) {
  if (!is_own(recorder)) return;
  const Tag* tag = tags::in_force();
  recorder.encoder.tag(tag == nullptr ? "" : tag->name);
}

void begin_block(Recorder& recorder) {
  if (is_own(recorder) && tags::in_force() != nullptr) write_tag(recorder);
}

}  // namespace acre::record::names
