// Accounting by tag: a thread has a tag in force, and the blocks that it allocates count for the tag until any thread
// frees them.
//
// The hot paths do not know about tags. While a tag is in force, the thread's slot_at leads malloc to a list that is
// always empty (HotHeap::none), so that each allocation takes the slow path; the thread's own lists wait. Small blocks
// then come from a manual arena that all tags share, whose runs have labels (slab/labels.h): a block's label is the
// number of its tag. The run of a large or huge block names the tag. free takes the slow path for both kinds in any
// case. So figures and limits are exact, block by block, and a tag costs no run of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cache/upcalls.h"

struct acre_tag_handle;  // what the program knows a tag by (acre/tags.h)

namespace acre {

// live = allocated - freed, in bytes of blocks. Fields that different threads write lie on different cache lines.
struct Tag {
  static constexpr size_t kNameBytes = 64;

  // May free blocks and allocate. Nonzero: the allocation is tried again.
  using Callback = int (*)(acre_tag_handle* tag, size_t wanted, void* argument);

  alignas(kCacheLine) std::atomic<uint64_t> allocated{0};  // less bytes that were charged but not obtained
  std::atomic<uint64_t> peak{0};        // most live bytes
  alignas(kCacheLine) std::atomic<uint64_t> freed{0};
  alignas(kCacheLine) std::atomic<uint64_t> limit{UINT64_MAX};  // on live bytes
  std::atomic<uint64_t> refused{0};     // allocations that the limit refused
  std::atomic<uint32_t> in_force{0};    // how many times, in all threads
  // Under the lock of tags_table.cc.
  uint32_t number = 0;                  // the label of its blocks
  bool dropped = false;                 // its name is free
  bool in_use = false;                  // false: a spare
  Callback callback = nullptr;
  void* argument = nullptr;
  Tag* next = nullptr;                  // with the same hash, or dropped
  char name[kNameBytes] = {};
};

struct TagInfo {
  char name[Tag::kNameBytes];
  uint64_t live, allocated, peak, limit, refused;
};

namespace tags {

// The tag of this name, made if there is none. in_force: how many times the tag counts as in force at once, so that it
// does not go before it is. Null and errno: EINVAL, the name does not have 1 to 63 bytes; ENOMEM.
Tag* find(const char* name, uint32_t in_force = 0);

// Sets the calling thread's tag in force, until the matching pop(); null: none. Returns 0 or an error number. After an
// error the tag in force stays, and pop() still has to match.
int push(const char* name);
int enter(Tag* tag);
// EINVAL: nothing was pushed.
int pop();

// The tag in force in the calling thread, or null.
Tag* in_force();

// Frees the tag's name. The tag is gone when it is in force nowhere and none of its blocks lives.
void drop(Tag* tag);

void set_limit(Tag* tag, uint64_t bytes);
void set_callback(Tag* tag, Tag::Callback callback, void* argument);

// Returns false if the tag is gone.
bool describe(const Tag* tag, TagInfo* info);

// numbers: every tag's number is less. of_number: the tag of this number; null: there is none, or it is gone.
uint32_t numbers();
const Tag* of_number(size_t number);

// The next of all tags that are not gone, in no special order. tag null: the first. Null: there are no more.
Tag* next(const Tag* tag);

// --- For the slow path ----------------------------------------------------------------------------------------

Tag* at(uint32_t number);

// The program's function to call at the limit.
struct Asked {
  Tag::Callback callback;
  void* argument;
};
Asked callback_of(const Tag& tag);

// The tag that a live block counts for, or null. p: the block.
Tag* of_label(const Slab* slab, const void* p);
inline Tag* of(const Found& found, const void* p) {
  if (found.slab != nullptr) return ACRE_LIKELY(!is_labelled(found.slab)) ? nullptr : of_label(found.slab, p);
  return is_sampled(found) ? nullptr : found.run->tag;
}

// A small block of this class for which the program asked `asked` bytes, or n bytes at a multiple of alignment (a power
// of two), zeroed if so asked. The block counts for the tag. Null and ENOMEM if the limit or the system refuses.
void* allocate(Tag& tag, SizeClass c, size_t asked);
void* allocate(Tag& tag, size_t n, size_t alignment, bool zeroed);

// As charge() (cache/upcalls.h), but asks the program's function before it refuses.
bool charge_asking(Tag& tag, size_t bytes);

// Calls visit for the argument of each tag's function. Takes no lock: all other threads are stopped.
void for_each_argument(void (*visit)(const void* argument, void* to), void* to);

void at_fork(ForkStage stage);
// The part that sees to which tags there are (tags_table.cc). In the child no tag is in force afterwards.
void table_at_fork(ForkStage stage);

}  // namespace tags
}  // namespace acre
