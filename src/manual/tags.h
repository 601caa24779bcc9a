// Accounting by tag: a thread has a tag in force, and the blocks that it allocates count for the tag until they are
// freed, by whichever thread.
//
// The hot paths know nothing of tags. While a tag is in force the thread's slot_at leads malloc to a list that is always
// empty (HotHeap::none), so that each allocation comes to the slow path; its own lists wait. There small blocks come from
// a manual arena that all tags share, whose runs have labels (slab/labels.h): a block's label is its tag's number. A
// large or huge block is as any other, and its run names the tag. free comes to the slow path for both by itself. So
// figures are exact, block by block, limits too, and a tag costs no run of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cache/upcalls.h"

struct acre_tag_handle;  // what the program knows a tag by (acre/tags.h)

namespace acre {

// Accounting: live = allocated - freed, in bytes of blocks. Apart what different threads write.
struct Tag {
  static constexpr size_t kNameBytes = 64;

  // May free blocks and allocate. Nonzero: the allocation is tried again.
  using Callback = int (*)(acre_tag_handle* tag, size_t wanted, void* argument);

  alignas(kCacheLine) std::atomic<uint64_t> allocated{0};  // less what was not to be had in the end
  std::atomic<uint64_t> peak{0};        // most that lived
  alignas(kCacheLine) std::atomic<uint64_t> freed{0};
  alignas(kCacheLine) std::atomic<uint64_t> limit{UINT64_MAX};  // of live bytes
  std::atomic<uint64_t> refused{0};     // allocations, for the limit
  std::atomic<uint32_t> in_force{0};    // how often, in all threads
  // Under the lock of tags_table.cc.
  uint32_t number = 0;                  // its label
  bool dropped = false;                 // no name leads to it any more
  bool in_use = false;                  // else it is a spare one
  Callback callback = nullptr;
  void* argument = nullptr;
  Tag* next = nullptr;                  // of the same hash, or dropped
  char name[kNameBytes] = {};
};

struct TagInfo {
  char name[Tag::kNameBytes];
  uint64_t live, allocated, peak, limit, refused;
};

namespace tags {

// The tag of this name, which is made if there is none. in_force: so often it is from now on, and so cannot go before it
// is. Null and errno: EINVAL, no name of 1 to 63 bytes; ENOMEM.
Tag* find(const char* name, uint32_t in_force = 0);

// For the calling thread: the tag in force from now on, until the matching pop(); null: none. Return an error number, 0
// for none. After an error what is in force stays so, and pop() matches all the same.
int push(const char* name);
int enter(Tag* tag);
// EINVAL: nothing was pushed.
int pop();

// The one in force in the calling thread, or null.
Tag* in_force();

// Its name is free from now on. It is gone when it is in force nowhere and none of its blocks lives.
void drop(Tag* tag);

void set_limit(Tag* tag, uint64_t bytes);
void set_callback(Tag* tag, Tag::Callback callback, void* argument);

// False: it is gone.
bool describe(const Tag* tag, TagInfo* info);

// Numbers given so far: all tags' numbers are less. And the tag of this number; null: none is, or it is gone.
uint32_t numbers();
const Tag* of_number(size_t number);

// The next of all tags that are not gone, in no special order; null: the first, or no more.
Tag* next(const Tag* tag);

// --- For the slow path ----------------------------------------------------------------------------------------

// The tag of this number.
Tag* at(uint32_t number);

// What to call at the limit.
struct Asked {
  Tag::Callback callback;
  void* argument;
};
Asked callback_of(const Tag& tag);

// The tag that a live block counts for, or null. p: the block.
Tag* of_label(const Slab* slab, const void* p);
inline Tag* of(const Found& found, const void* p) {
  if (found.slab != nullptr) return ACRE_LIKELY(!found.slab->is_labelled) ? nullptr : of_label(found.slab, p);
  return is_sampled(found) ? nullptr : found.run->tag;
}

// A small block of this class, or n bytes at a multiple of alignment (a power of two), all zero if so asked, which count
// for the tag. Null and ENOMEM when the limit or the system refuses.
void* allocate(Tag& tag, SizeClass c);
void* allocate(Tag& tag, size_t n, size_t alignment, bool zeroed);

// As charge() (cache/upcalls.h), but if the limit refuses the program is asked, if it wants to be.
bool charge_asking(Tag& tag, size_t bytes);

void at_fork(ForkStage stage);
// The part that sees to which tags there are (tags_table.cc). In the child no tag is in force afterwards.
void table_at_fork(ForkStage stage);

}  // namespace tags
}  // namespace acre
