// A kernel of the test's own, between acre and the real one: it numbers the requests of the whole core, refuses those
// that a test says, chooses addresses, has pages of 16 or 64 KiB, and says what time it is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre::fake_os::kernel {

enum class Kind : unsigned { kMap, kUnmap, kProtect, kRemap, kAdvise, kFile, kFact, kCount };
constexpr unsigned bit_of(Kind kind) { return 1u << static_cast<unsigned>(kind); }
const char* name_of(Kind kind);
inline constexpr unsigned kAllKinds = bit_of(Kind::kCount) - 1;

enum class Layout : unsigned {
  kOrdinary,
  kScattered,   // addresses in no order, low ones, those at the very end of what a process may have, and taken ones
  kLargePages,  // 64 KiB; addresses in no order
  kMiddlePages,  // 16 KiB; the same
  kManyTebibytes,  // ordinary, on a machine with so much memory that the window begins far behind its aligned place
};

// From now on this kernel answers. It forwards what it does not refuse.
void begin(Layout layout);

// Requests first … first + count - 1, counted from now on, are refused if they are of these kinds.
void refuse(uint64_t first, uint64_t count, unsigned kinds = kAllKinds);
void refuse_nothing();
uint64_t requests();   // since the last refuse() or refuse_nothing()
bool has_refused();    // since the last refuse()

// Bytes that acre has mapped and not unmapped, as far as these calls tell; without those of refused munmaps.
int64_t mapped_bytes();
uint64_t advised();      // calls of madvise that give memory back
uint64_t misaligned();   // requests for parts of pages, which the kernel answers with EINVAL

// Bugs as acre could have them, made where acre's calls arrive. The tests have to find them.
enum class Bug : unsigned {
  kNone,
  kForgetsToUnmap,    // munmap is never called
  kForgetsToPurge,    // a purge is never called, and believed to be done
  kUnmapsTooMuch,     // a page more
  kPurgesTooMuch,     // the page before
  kChangesErrno,      // after a refusal
  kCount,
};
void plant(Bug bug);

// Whether the program runs in QEMU, which keeps 24 bytes for each page that was ever mapped.
bool is_emulated();

// From now on guards are not made, and the kernel says that they were: so does QEMU's user mode.
void pretend_to_guard();

// The next mapping without an address of its own gets this one.
void place_next_at(uint64_t address);

// Called once, by the thread that unmaps, when the next munmap was done.
void after_next_unmap(void (*call)(uint64_t address));

// The clock. It stands still until it is moved.
void stop_clock();
void move_clock(uint64_t ms);

}  // namespace acre::fake_os::kernel
