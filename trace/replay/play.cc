// A thread of the schedule.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include <cstring>

#include "replay/player.h"
#include "ticks.h"

// Sized operator delete, where the process has one: linked with libstdc++ the player would have an allocation of that.
extern "C" [[gnu::weak]] void sized_delete(void* block, size_t size) __asm__("_ZdlPvm");

namespace acre::trace::replay {

namespace {

constexpr unsigned kSpins = 200;
constexpr uint64_t kLine = 64;
constexpr uint64_t kLeastSleep = 20'000;  // ns ahead of its time, before a thread of a paced replay sleeps

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A thread's words, piece by piece.
class Words {
 public:
  explicit Words(const ThreadEntry& entry) : left_(entry.words), next_(entry.first_piece) {
    bytes_ = sizeof(Piece) + left_ * sizeof(uint64_t);
    if (bytes_ > g_player.header.longest_piece || left_ > UINT32_MAX) bytes_ = g_player.header.longest_piece;
    buffer_ = static_cast<char*>(map_memory(bytes_));
  }
  ~Words() { unmap_memory(buffer_, bytes_); }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  // The next of them; count is 0 at the end.
  const uint64_t* take(uint64_t& count) {
    count = 0;
    if (left_ == 0) return nullptr;
    Piece piece;
    if (!read_at(next_, &piece, sizeof piece)) fail("the schedule is damaged: a piece is not there, at", next_);
    if (piece.words == 0 || piece.words > left_ || piece.words > (bytes_ - sizeof piece) / sizeof(uint64_t) ||
        !read_at(next_ + sizeof piece, buffer_, piece.words * sizeof(uint64_t))) {
      fail("the schedule is damaged: words are not there, at", next_);
    }
    next_ = piece.next;
    left_ -= piece.words;
    count = piece.words;
    return reinterpret_cast<const uint64_t*>(buffer_);
  }

 private:
  uint64_t left_, next_, bytes_;
  char* buffer_;
};

class Hand {
 public:
  explicit Hand(uint32_t number) : own_(g_player.threads[number]), entry_(g_player.entries[number]) {
    if (g_player.options.has_latency) latency_ = static_cast<Latency*>(map_memory(sizeof(Latency)));
  }

  void run() {
    {
      Words words(entry_);
      uint64_t count;
      uint32_t done = 0;
      while (const uint64_t* const part = words.take(count)) {
        for (uint64_t i = 0; i < count; ++i) {
          perform(part[i]);
          ++done;
          if (part[i] & kPosted) post(done);
        }
      }
    }
    if (latency_ != nullptr) add_latency();
    own_.has_ended.store(true);
  }

 private:
  void post(uint32_t done) {
    own_.done.store(done);
    if (own_.waiters.load() != 0) futex_wake_all(own_.done);
  }

  void wait(uint32_t thread, uint32_t word) {
    if (thread >= g_player.header.threads || word >= g_player.entries[thread].words) {
      fail("the schedule is damaged: it waits for a thread of number", thread);
    }
    Thread& other = g_player.threads[thread];
    for (unsigned i = 0; i < kSpins; ++i) {
      if (other.done.load(std::memory_order_acquire) > word) return;
      pause();
    }
    ++own_.sleeps;
    other.waiters.fetch_add(1);
    own_.awaited.store(word_of(Op::kWait, thread, word));
    for (uint32_t done = other.done.load(); done <= word; done = other.done.load()) {
      futex_wait(other.done, done);
      if (other.done.load() != done || !all_wait()) continue;
      fail("the schedule is damaged: threads wait for each other, at", word);
    }
    own_.awaited.store(0);
    other.waiters.fetch_sub(1);
  }

  // Whether no thread can go on: each that has begun and not ended sleeps until another has done what it has not done.
  // Numbers of done words only grow, and a second look finds each thread in the same wait: so all were at once.
  static bool all_wait() {
    uint64_t waits[2] = {0, 0};
    for (uint64_t& sum : waits) {
      for (uint32_t i = 0; i < g_player.header.threads; ++i) {
        const Thread& thread = g_player.threads[i];
        if ((i != 0 && !thread.has_begun.load()) || thread.has_ended.load()) continue;
        const uint64_t awaited = thread.awaited.load();
        if (awaited == 0 || g_player.threads[slot_of(awaited)].done.load() > value_of(awaited)) return false;
        sum = (sum ^ awaited) * 0x100000001b3;
      }
    }
    return waits[0] == waits[1];
  }

  void wait_until(uint64_t ns) {
    const uint64_t count = g_player.header.samples;
    if (count == 0 || ns > g_player.recorded[count - 1].time_ns) {
      fail("the schedule is damaged: it goes on when it has ended, ns:", ns);
    }
    const uint64_t wanted = g_player.begin_ns + ns;
    if (now_ns() + kLeastSleep > wanted) return;
    const timespec time{static_cast<time_t>(wanted / 1'000'000'000), static_cast<long>(wanted % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {
    }
  }

  Slot& slot_of_word(uint64_t word) {
    const uint32_t number = slot_of(word);
    if (number >= g_player.header.slots) fail("the schedule is damaged: there is no slot", number);
    return g_player.slots[number];
  }

  // --- What blocks hold -----------------------------------------------------------------------------------------

  // Of a slot, so that blocks that overlap hold something else than they should.
  static uint64_t tag_of(const Slot& slot) {
    return (static_cast<uint64_t>(&slot - g_player.slots) + 1) * 0x9e3779b97f4a7c15;
  }

  static bool has_tags(const Slot& slot, uint64_t tag) {
    return memcmp(slot.block, &tag, slot.size < 8 ? slot.size : 8) == 0 &&
           (slot.size < 16 || memcmp(slot.block + slot.size - 8, &tag, 8) == 0);
  }

  void fill(const Slot& slot, uint64_t from) const {
    if (g_player.options.touch == Touch::kNone) return;
    const uint64_t tag = tag_of(slot);
    if (g_player.options.touch == Touch::kAll) {
      for (uint64_t at = (from + kLine - 1) & ~(kLine - 1); at + 8 <= slot.size; at += kLine) {
        memcpy(slot.block + at, &tag, 8);
      }
    }
    memcpy(slot.block, &tag, slot.size < 8 ? slot.size : 8);
    if (slot.size >= 16) memcpy(slot.block + slot.size - 8, &tag, 8);
  }

  void check(const Slot& slot) const {
    if (g_player.options.touch == Touch::kNone) return;
    if (!has_tags(slot, tag_of(slot))) fail("a block is not what was written to it, bytes:", slot.size);
  }

  // --- Operations -----------------------------------------------------------------------------------------------

  uint64_t start_watch() const { return latency_ != nullptr ? ticks_now() : 0; }
  void stop_watch(uint64_t start, Durations Latency::* kind) {
    if (latency_ != nullptr) (latency_->*kind).add(ticks_now() - start);
  }

  void account(uint64_t more, uint64_t less) {
    own_.live_bytes.store(own_.live_bytes.load(std::memory_order_relaxed) + more - less, std::memory_order_relaxed);
    ++own_.operations;
  }

  uint64_t size_of(uint64_t word) {
    const uint64_t size = value_of(word) | high_ << 32;
    high_ = 0;
    if (size > g_player.header.peak_bytes) fail("the schedule is damaged: a block has more bytes than lived:", size);
    return size;
  }

  void keep(Slot& slot, void* block, uint64_t size) {
    if (block == nullptr) fail("the allocator refused a block; bytes:", size);
    slot.block = static_cast<char*>(block);
    slot.size = size;
  }

  void allocate(uint64_t word, Op op) {
    Slot& slot = slot_of_word(word);
    if (slot.block != nullptr) fail("the schedule is damaged: two blocks are in slot", slot_of(word));
    const uint64_t size = size_of(word);
    void* block = nullptr;
    const uint64_t start = start_watch();
    if (op == Op::kMalloc) {
      block = malloc(size);
    } else if (op == Op::kCalloc) {
      block = calloc(1, size);
    } else if (posix_memalign(&block, alignment_, size) != 0) {
      block = nullptr;
    }
    stop_watch(start, &Latency::malloc);
    keep(slot, block, size);
    const uint64_t alignment = op == Op::kAligned ? alignment_ : size >= 16 ? 16 : size >= 8 ? 8 : 1;
    if (reinterpret_cast<uintptr_t>(block) % alignment != 0) fail("a block is not aligned to", alignment);
    if (op == Op::kCalloc && g_player.options.touch != Touch::kNone && !has_tags(slot, 0)) {
      fail("a block of calloc is not 0; bytes:", size);
    }
    alignment_ = sizeof(void*);
    fill(slot, 0);
    account(size, 0);
  }

  void reallocate(uint64_t word) {
    Slot& slot = slot_of_word(word);
    if (slot.block == nullptr) fail("the schedule is damaged: there is no block in slot", slot_of(word));
    const uint64_t size = size_of(word), before = slot.size;
    check(slot);
    const uint64_t start = start_watch();
    void* const block = realloc(slot.block, size != 0 ? size : 1);  // of 0 bytes it may be a free
    stop_watch(start, &Latency::malloc);
    keep(slot, block, size);
    const uint64_t tag = tag_of(slot), common = size < before ? size : before;
    if (g_player.options.touch != Touch::kNone && memcmp(slot.block, &tag, common < 8 ? common : 8) != 0) {
      fail("realloc has not kept what was in a block of", before, " bytes");
    }
    fill(slot, before);
    account(size, before);
  }

  void release(uint64_t word, Op op) {
    Slot& slot = slot_of_word(word);
    if (slot.block == nullptr) fail("the schedule is damaged: there is no block in slot", slot_of(word));
    check(slot);
    char* const block = slot.block;
    const uint64_t size = slot.size;
    slot.block = nullptr;
    const uint64_t start = start_watch();
    if (op == Op::kSizedFree && sized_delete != nullptr)
      sized_delete(block, size);
    else
      free(block);
    stop_watch(start, &Latency::free);
    account(0, size);
  }

  // The other threads wait for this one: so what lives now is what lived in the recording.
  void sample(uint32_t number) {
    if (number >= g_player.header.samples) fail("the schedule is damaged: there is no sample", number);
    uint64_t live = 0;
    for (uint32_t i = 0; i < g_player.header.threads; ++i) live += g_player.threads[i].live_bytes.load();
    if (live != g_player.recorded[number].live_bytes) {
      fail("the schedule is damaged: it has other bytes than were recorded, at sample", number);
    }
    const Resident resident = resident_now();
    const uint64_t others = resident.shared + g_player.own_bytes.load();
    g_player.points[number] = {now_ns() - g_player.begin_ns, live, resident.all > others ? resident.all - others : 0};
  }

  static void* enter(void* number) {
    Hand(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(number))).run();
    if (g_player.running.fetch_sub(1) == 1) futex_wake_all(g_player.running);
    return nullptr;
  }

  static void start(uint32_t number) {
    if (number == 0 || number >= g_player.header.threads || g_player.threads[number].has_begun.exchange(true)) {
      fail("the schedule is damaged: it starts a thread of number", number);
    }
    g_player.running.fetch_add(1);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, enter, reinterpret_cast<void*>(uintptr_t{number})) != 0) {
      fail("the system refused a thread, that of number", number);
    }
    pthread_attr_destroy(&attributes);
  }

  void perform(uint64_t word) {
    const auto op = static_cast<Op>(op_of(word));
    switch (op) {
      case Op::kMalloc:
      case Op::kCalloc:
      case Op::kAligned: allocate(word, op); break;
      case Op::kRealloc: reallocate(word); break;
      case Op::kFree:
      case Op::kSizedFree: release(word, op); break;
      case Op::kWide:
        high_ = value_of(word);
        if (slot_of(word) >= 64) fail("the schedule is damaged: there is no alignment of 2 to the", slot_of(word));
        alignment_ = uint64_t{1} << slot_of(word);
        if (alignment_ < sizeof(void*)) alignment_ = sizeof(void*);
        break;
      case Op::kWait: wait(slot_of(word), value_of(word)); break;
      case Op::kStart: start(slot_of(word)); break;
      case Op::kSample: sample(value_of(word)); break;
      case Op::kTime:
        if (g_player.options.is_paced) wait_until(word >> kSlotShift);
        break;
      default: fail("the schedule is damaged: there is no operation", op_of(word));
    }
  }

  void add_latency() {
    while (g_player.latency_lock.exchange(1) != 0) sched_yield();
    g_player.latency->malloc.add(latency_->malloc);
    g_player.latency->free.add(latency_->free);
    g_player.latency_lock.store(0);
    unmap_memory(latency_, sizeof(Latency));
  }

  Thread& own_;
  const ThreadEntry& entry_;
  Latency* latency_ = nullptr;
  uint64_t high_ = 0;
  uint64_t alignment_ = sizeof(void*);
};

}  // namespace

void play() {
  g_player.begin_ns = now_ns();
  Hand(0).run();
  for (uint32_t running = g_player.running.load(); running != 0; running = g_player.running.load()) {
    futex_wait(g_player.running, running);
  }
}

}  // namespace acre::trace::replay
