#include "record/stacks.h"

#include <string.h>

#include "cache/heap.h"
#include "os/os.h"
#include "pages/metadata.h"
#include "record/lanes.h"
#include "record/writers.h"

namespace acre::record::stacks {

namespace {

static_assert(kMostFrames == CapturedFrames::kMost);

constexpr unsigned kNumberBits = 20;
constexpr uint32_t kMostNumbers = (1u << kNumberBits) / 4 * 3;  // of the table's places, so that searches are short
constexpr size_t kPlaces = size_t{1} << kNumberBits;
constexpr size_t kWrittenBytes = kPlaces / 8;
constexpr uint64_t kNumberMask = kPlaces - 1;

// A place is 0 or a stack: its number, and above it the hash's higher bits. The lower ones tell where a search begins.
constinit std::atomic<std::atomic<uint64_t>*> g_places{nullptr};
constinit std::atomic<uint32_t> g_last_number{0};

// 0: the table is full.
uint32_t number_of(uint64_t hash) {
  std::atomic<uint64_t>* const places = g_places.load(std::memory_order_relaxed);
  uint32_t number = 0;
  for (uint64_t at = hash;; ++at) {
    std::atomic<uint64_t>& place = places[at & kNumberMask];
    uint64_t found = place.load(std::memory_order_relaxed);
    if (found == 0) {
      if (number == 0) {
        if (g_last_number.load(std::memory_order_relaxed) >= kMostNumbers) return 0;
        number = g_last_number.fetch_add(1, std::memory_order_relaxed) + 1;
      }
      const uint64_t mine = (hash & ~kNumberMask) | number;
      if (number < kPlaces && place.compare_exchange_strong(found, mine, std::memory_order_relaxed)) return number;
      if (number >= kPlaces) return 0;
    }
    if (((found ^ hash) & ~kNumberMask) == 0) return static_cast<uint32_t>(found & kNumberMask);
  }
}

// Whether the allocation has a stack. Each byte is a sampling point with the same probability.
bool is_chosen(Recorder* recorder, size_t asked) {
  const uint32_t every = g_every.load(std::memory_order_relaxed);
  if (every == 1) return true;
  if (recorder == nullptr) return asked >= gap_between_stacks(every);
  if (ACRE_LIKELY(asked < recorder->until_stack)) {
    recorder->until_stack -= asked;
    return false;
  }
  recorder->until_stack = gap_between_stacks(every);
  return true;
}

// False, too, if the lane is of a recording that has ended, or of the parent.
bool is_written(const Recorder& recorder, uint32_t number) {
  const uint8_t* const written = recorder.written_stacks;
  return written != nullptr && has_lane_now(recorder) && (written[number / 8] >> number % 8 & 1) != 0;
}

}  // namespace

bool set_every(uint32_t every) {
  if (every != 0 && g_places.load() == nullptr) {
    void* memory = os::map(kPlaces * sizeof(uint64_t));
    if (memory == nullptr) return false;
    g_places.store(static_cast<std::atomic<uint64_t>*>(memory));
  }
  g_every.store(every);
  return true;
}

void begin(Recorder& recorder) {
  const uint32_t every = g_every.load(std::memory_order_relaxed);
  recorder.until_stack = UINT64_MAX;
  if (every == 0) return;
  recorder.last_walk = new_last_walk(recorder.last_walk);
  recorder.until_stack = every == 1 ? 0 : gap_between_stacks(every);
  if (recorder.written_stacks == nullptr) {
    recorder.written_stacks = static_cast<uint8_t*>(metadata::allocate(kWrittenBytes));
  } else {
    memset(recorder.written_stacks, 0, recorder.highest_stack / 8 + 1);
  }
  recorder.highest_stack = 0;
}

void capture(Heap* heap, size_t asked, const StackFrame& first, Captured& to) {
  Recorder* recorder = heap == nullptr ? nullptr : heap->recorder;
  if (!is_chosen(recorder, asked)) return;
  // What the unwinder allocates, and what a signal handler does meanwhile, has no stack.
  if (recorder != nullptr) {
    if (recorder->is_capturing) return;
    recorder->is_capturing = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  capture::LastWalk* const last = recorder == nullptr ? nullptr : recorder->last_walk;
  const uint64_t hash = capture_stack(first, to.frames, last);
  if (hash != 0) {
    to.number = number_of(hash);
    if (is_written(*recorder, to.number)) {
      to.defined_in = recorder;
    } else {
      frames_of(*last, to.frames);
    }
  } else if (to.frames.count != 0) {
    to.number = number_of(StackHash::of(to.frames));
  }
  if (recorder != nullptr) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    recorder->is_capturing = false;
  }
}

bool is_defined(const Recorder& recorder, const Captured& stack) {
  return stack.defined_in == &recorder || is_written(recorder, stack.number);
}

void define(Recorder& recorder, const Captured& stack) {
  recorder.encoder.stack_is(stack.number, stack.frames.address, stack.frames.count);
  if (recorder.written_stacks == nullptr) return;
  recorder.written_stacks[stack.number / 8] |= static_cast<uint8_t>(1u << stack.number % 8);
  recorder.highest_stack = larger(recorder.highest_stack, stack.number);
}

}  // namespace acre::record::stacks
