// The table of tags (tags.h), by number and by name.
#include <errno.h>
#include <string.h>

#include <new>

#include "manual/tags.h"
#include "pages/metadata.h"

namespace acre::tags {

namespace {

constexpr uint32_t kPerChunk = 64;
constexpr uint32_t kMostChunks = 4096;
constexpr uint32_t kBuckets = 4096;
constexpr unsigned kDroppedLookedAt = 8;  // before a tag is made

constinit Mutex g_table_lock{Rank::kTags};
constinit std::atomic<Tag*> g_chunks[kMostChunks];    // by number; never given back
constinit std::atomic<uint32_t> g_count{0};           // numbers given so far
constinit Tag* g_buckets[kBuckets] ACRE_GUARDED_BY(g_table_lock) = {};
constinit Tag* g_oldest_dropped ACRE_GUARDED_BY(g_table_lock) = nullptr;
constinit Tag* g_newest_dropped ACRE_GUARDED_BY(g_table_lock) = nullptr;

uint64_t live_bytes(const Tag& tag) {
  const uint64_t freed = tag.freed.load(std::memory_order_acquire);
  return tag.allocated.load(std::memory_order_relaxed) - freed;
}

// Whether the tag may be reused: nothing but handles leads to it.
bool is_gone(const Tag& tag) ACRE_REQUIRES(g_table_lock) {
  if (!tag.in_use) return true;
  return tag.dropped && tag.in_force.load(std::memory_order_acquire) == 0 && live_bytes(tag) == 0;
}

// --- Names ----------------------------------------------------------------------------------------------------

bool is_name(const char* name) {
  const size_t length = name == nullptr ? 0 : strnlen(name, Tag::kNameBytes);
  return length != 0 && length < Tag::kNameBytes;
}

uint32_t bucket_of(const char* name) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3;
  return static_cast<uint32_t>(hash >> 20) % kBuckets;
}

Tag* look_up(const char* name) ACRE_REQUIRES(g_table_lock) {
  for (Tag* tag = g_buckets[bucket_of(name)]; tag != nullptr; tag = tag->next) {
    if (strcmp(tag->name, name) == 0) return tag;
  }
  return nullptr;
}

void add_dropped(Tag* tag) ACRE_REQUIRES(g_table_lock) {
  tag->next = nullptr;
  (g_oldest_dropped == nullptr ? g_oldest_dropped : g_newest_dropped->next) = tag;
  g_newest_dropped = tag;
}

// Takes a dropped tag that is gone. Tags with live blocks go to the end of the list.
Tag* reuse() ACRE_REQUIRES(g_table_lock) {
  for (unsigned i = 0; i < kDroppedLookedAt && g_oldest_dropped != nullptr; ++i) {
    Tag* tag = g_oldest_dropped;
    g_oldest_dropped = tag->next;
    if (is_gone(*tag)) return tag;
    add_dropped(tag);
  }
  return nullptr;
}

// Takes a tag without a name. Null: a new chunk has to be added first.
Tag* take() ACRE_REQUIRES(g_table_lock) {
  Tag* tag = reuse();
  const uint32_t number = tag != nullptr ? tag->number : g_count.load(std::memory_order_relaxed);
  if (tag == nullptr) {
    if (number == kMostChunks * kPerChunk || g_chunks[number / kPerChunk].load(std::memory_order_relaxed) == nullptr) {
      return nullptr;
    }
    tag = at(number);
    g_count.store(number + 1, std::memory_order_release);
  }
  new (tag) Tag;
  tag->number = number;
  tag->in_use = true;
  return tag;
}

Tag* make(const char* name) ACRE_REQUIRES(g_table_lock) {
  Tag* tag = take();
  if (tag == nullptr) return nullptr;
  memcpy(tag->name, name, strlen(name) + 1);
  Tag*& first = g_buckets[bucket_of(name)];
  tag->next = first;
  first = tag;
  return tag;
}

bool add_chunk() {
  const uint32_t chunk = g_count.load(std::memory_order_acquire) / kPerChunk;
  if (chunk == kMostChunks) return false;
  void* memory = metadata::allocate(kPerChunk * sizeof(Tag));
  Tag* none = nullptr;  // if another thread was faster, this chunk is lost
  return memory != nullptr &&
         (g_chunks[chunk].compare_exchange_strong(none, static_cast<Tag*>(memory)) || none != nullptr);
}

}  // namespace

Tag* at(uint32_t number) {
  return g_chunks[number / kPerChunk].load(std::memory_order_acquire) + number % kPerChunk;
}

Tag* find(const char* name, uint32_t in_force) {
  if (!is_name(name)) {
    errno = EINVAL;
    return nullptr;
  }
  for (;;) {
    {
      Lock lock(g_table_lock);
      Tag* tag = look_up(name);
      if (tag == nullptr) tag = make(name);
      if (tag != nullptr) {
        tag->in_force.fetch_add(in_force, std::memory_order_relaxed);
        return tag;
      }
    }
    if (!add_chunk()) {
      errno = ENOMEM;
      return nullptr;
    }
  }
}

void drop(Tag* tag) {
  Lock lock(g_table_lock);
  if (tag->dropped || !tag->in_use) return;
  Tag** at = &g_buckets[bucket_of(tag->name)];
  while (*at != tag) at = &(*at)->next;
  *at = tag->next;
  tag->dropped = true;
  add_dropped(tag);
}

void set_limit(Tag* tag, uint64_t bytes) { tag->limit.store(bytes, std::memory_order_relaxed); }

void set_callback(Tag* tag, Tag::Callback callback, void* argument) {
  Lock lock(g_table_lock);
  tag->callback = callback;
  tag->argument = argument;
}

bool describe(const Tag* tag, TagInfo* info) {
  Lock lock(g_table_lock);
  if (is_gone(*tag)) return false;
  memcpy(info->name, tag->name, sizeof info->name);
  info->live = live_bytes(*tag);
  info->allocated = tag->allocated.load(std::memory_order_relaxed);
  info->peak = tag->peak.load(std::memory_order_relaxed);
  info->limit = tag->limit.load(std::memory_order_relaxed);
  info->refused = tag->refused.load(std::memory_order_relaxed);
  return true;
}

uint32_t numbers() { return g_count.load(std::memory_order_acquire); }

const Tag* of_number(size_t number) {
  if (number >= numbers()) return nullptr;
  const Tag* tag = at(static_cast<uint32_t>(number));
  Lock lock(g_table_lock);
  return is_gone(*tag) ? nullptr : tag;
}

Tag* next(const Tag* tag) {
  Lock lock(g_table_lock);
  const uint32_t count = g_count.load(std::memory_order_relaxed);
  for (uint32_t number = tag == nullptr ? 0 : tag->number + 1; number < count; ++number) {
    if (!is_gone(*at(number))) return at(number);
  }
  return nullptr;
}

Asked callback_of(const Tag& tag) {
  Lock lock(g_table_lock);
  return {tag.callback, tag.argument};
}

ACRE_COLD void for_each_argument(void (*visit)(const void* argument, void* to),
                                 void* to) ACRE_NO_THREAD_SAFETY_ANALYSIS {
  for (uint32_t number = 0; number < numbers(); ++number) {
    const Tag* tag = at(number);
    if (!is_gone(*tag)) visit(tag->argument, to);
  }
}

void table_at_fork(ForkStage stage) {
  g_table_lock.at_fork(stage);
  if (stage != ForkStage::kInChild) return;
  const uint32_t count = g_count.load(std::memory_order_relaxed);
  for (uint32_t number = 0; number < count; ++number) at(number)->in_force.store(0, std::memory_order_relaxed);
}

}  // namespace acre::tags
