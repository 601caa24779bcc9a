// The contract with the operating system. Every call states what it needs and what it leaves; none touches
// errno, none allocates, all may be called from any thread. linux.cc implements it.
//
// Tests may refuse requests for memory: see os::testing below.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/compiler.h"
#include "base/units.h"

namespace acre::os {

// --- Address space and memory ---------------------------------------------------------------------------

// Zeroed, readable and writable private memory that takes physical memory when touched.
// bytes: a multiple of the page size. Returns null when refused.
void* map(size_t bytes);

// The same at exactly this address; fails (null) rather than replace a mapping that is already there.
void* map_at(Address address, size_t bytes);

// Address space alone: neither readable nor counted as committed memory. Null when refused.
void* reserve(size_t bytes);

// Makes part of a reservation readable and writable (zeroed). Idempotent. False when refused.
bool commit(void* start, size_t bytes);

// Gives address space back. The range may be any part of earlier maps. Where the kernel refuses, because it would have to
// split a mapping and the process has as many as it may have, only the physical memory goes back.
void unmap(void* start, size_t bytes);

// Grows a mapping of its own where it is. False when refused or when something is in the way.
bool grow_in_place(void* start, size_t old_bytes, size_t new_bytes);

// What became of a move. Kernels may have unmapped the destination before they find that they can't.
enum class Move {
  kDone,
  kRefused,   // nothing has changed
  kFailed,    // the source is as it was; the destination may have been unmapped, and be anyone's by now
};

// Moves a mapping of its own, grown to new_bytes, onto `to`, replacing what is mapped there.
Move move_mapping(void* start, size_t old_bytes, size_t new_bytes, void* to);

// Moves the physical pages of [from, from+bytes) to [to, to+bytes), both mapped; `from` stays mapped, empty
// and zero. Kernels before 5.7 refuse.
Move move_pages(void* from, void* to, size_t bytes);

// Returns the physical memory of a range, but for parts of OS pages at its ends: it reads as zeroes
// afterwards. False when refused (the contents are then undefined, and the range stays usable).
bool purge(void* start, size_t bytes);

// Lets the kernel take the physical memory of a range when it is short of it: until then, and until it is written
// again, it reads as before or as zeroes. Parts of OS pages at its ends are left out. False when refused, as
// kernels before 4.5 do and any kernel does for locked memory: nothing has changed.
bool purge_lazily(void* start, size_t bytes);

// More memory at the end of the data segment, zeroed, at a multiple of alignment; null when refused. The C library's own
// record of that end is kept right, which is why one thread at a time may call this, and why a call of sbrk() elsewhere
// in the program at the same moment is as dangerous as two such calls always are.
void* extend_data_segment(size_t bytes, size_t alignment);

// Asks that transparent huge pages be made here, or that none be, so that sparse memory stays small. May do nothing.
void prefer_huge_pages(void* start, size_t bytes);
void avoid_huge_pages(void* start, size_t bytes);

// Gives a clean huge page (kHugePageBytes, aligned) its physical memory now, at best in one piece, and asks that none
// be made there later on. False when refused: a part of it may have got memory.
bool populate_huge_page(void* page);

// How often each of these was called, refusals included.
struct Calls {
  uint64_t mmap = 0, munmap = 0, mprotect = 0, mremap = 0, madvise = 0;
};
Calls calls();

// --- Facts ------------------------------------------------------------------------------------------------

size_t page_bytes();                 // the OS page, read once
unsigned processors();               // that this process may run on, at least 1
size_t physical_memory();            // bytes, 0 if unknown
bool has_huge_pages();               // whether the system makes transparent ones for this process, of kHugePageBytes
size_t address_space_limit();        // RLIMIT_AS in bytes, SIZE_MAX if none
size_t data_limit();                 // RLIMIT_DATA likewise
bool commits_strictly();             // vm.overcommit_memory is 2
size_t resident_bytes();             // of this process, 0 if unknown

// What the system has refused so far.
struct Refusals {
  uint64_t memory;   // requests for memory or address space
  uint64_t purges;   // calls of purge()
  int purge_error;   // the error number of the last one
};
Refusals refusals();
// Page faults of this process.
struct Faults {
  uint64_t minor = 0;  // that read nothing from a disk
  uint64_t major = 0;
};
Faults faults();

// --- Clocks -----------------------------------------------------------------------------------------------

// Not the C library's: see base/clock.h. 0 where the system refuses to tell.
uint64_t now_ms();         // monotonic, coarse: may stand still for 10 ms, then go on at once
uint64_t now_ns();         // monotonic, fine
uint64_t thread_ns();      // processor time of the calling thread
uint64_t wall_clock_ns();  // since 1970

// Once, at start: from then on most of these need no system call.
void find_clock();

// --- Files ------------------------------------------------------------------------------------------------

// All of a file, without a 0 at its end. Returns its bytes; kTooLong: it has more than the buffer; another negative
// number: it can't be read. Never waits, whatever the path names.
long read_file(const char* path, char* buffer, size_t capacity);

// The text of a symbolic link, cut off at the buffer's end. Returns its bytes; kNoLink: the path names something
// else; another negative number: nothing is there.
long read_link(const char* path, char* buffer, size_t capacity);

inline constexpr long kTooLong = -1000000;  // no error number
inline constexpr long kNoLink = -1000001;

// Files that are read or written bit by bit. Results below 0 are negative error numbers; each is tried again after a
// signal.
long open_file(const char* path);                                            // to read; never waits. Its descriptor
long create_file(const char* path);                                          // to write; empties it. Its descriptor
long read_some(int file, char* buffer, size_t capacity);                     // bytes; 0: the end
long read_at(int file, uint64_t offset, void* buffer, size_t bytes);         // bytes
int write_file(int file, const char* data, size_t bytes);                    // all of it; 0 or a positive error number
void close_file(int file);

// Is there a plain file of this name, or nothing? Not so for a link, a pipe or a device.
bool is_file_or_nothing(const char* path);
int rename_file(const char* from, const char* to);  // in place of what had the name. 0 or a positive error number
void remove_file(const char* path);
// --- Files to map: files.cc ---------------------------------------------------------------------------------

// What is known of an open file; it is the same file as long as these two numbers are.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t number = 0;
  bool operator==(const FileIdentity&) const = default;
};
struct OpenFile {
  int descriptor = -1;  // a high number, closed on exec
  int error = 0;        // why there is none
  FileIdentity identity;
  bool is_empty = false;
  bool has_huge_pages = false;   // hugetlbfs
};

enum class FileKind : uint8_t {
  kMemory,  // a file of its own in a folder, without a name; or, if there is no such folder, a file, made if need be
  kDevice,  // what exists
  kNew,     // a file that does not exist yet
};
// Opens to read, write and map. descriptor -1: refused.
OpenFile open_to_map(const char* path, FileKind kind);
void close_file(const OpenFile& file);

// Is the descriptor still this file? A program may close what it did not open.
bool is_still(const OpenFile& file);

// Space in the file system for this part of the file, which then reads as zeroes if it did not hold anything before.
bool allocate_in_file(const OpenFile& file, uint64_t offset, size_t bytes);
// The file reaches to this offset at least; no space is taken.
bool extend_file(const OpenFile& file, uint64_t end);
// Gives the space back; the part reads as zeroes. False where the file system can't.
bool punch_hole(const OpenFile& file, uint64_t offset, size_t bytes);

// Replaces what is mapped at [start, start + bytes) by a part of the file. False when refused: what is mapped there then
// is nothing one may rely on.
enum class Sharing : uint8_t { kShared, kPrivate };
bool map_file_at(void* start, size_t bytes, const OpenFile& file, uint64_t offset, Sharing sharing);

// The pages of a private mapping become the process's own, as if each had been written to, as far as there is memory.
void make_own(void* start, size_t bytes);

// How the parent of a fork hands memory over to its child, without waiting for it: the parent copies the memory into a file
// without a name, and then says so through a pipe. The child can tell, too, that the parent has ended before that.
struct Handover {
  OpenFile file;  // descriptor -1: there is no handover
  int read_end = -1;
  int write_end = -1;
};
Handover begin_handover(size_t bytes);  // before the fork; descriptor -1: refused
// For the parent: appends to the file. False when refused, as where memory is short.
bool hand_over(const Handover& handover, const void* start, size_t bytes);
// All that was to be handed over is in the file. Not said: nothing is handed over.
void say_handed_over(const Handover& handover);
// For the child: whether the parent has said so. Waits until it has, or has ended, at most so many milliseconds.
bool wait_for_handover(Handover& handover, uint64_t most_ms);
// For both, at the end: the file stays as long as it is mapped.
void end_handover(Handover& handover);

// The C library's lock on its list of open files, which a fork takes after all handlers (process/fork.h): nothing happens
// while the process has one thread, or where the C library is not glibc. In the child it is free.
void lock_list_of_files();
void unlock_list_of_files();
void forget_list_of_files();

// --- Threads ------------------------------------------------------------------------------------------------

// Whether the calling thread is the only one, as far as the C library tells.
bool is_alone();

// A detached thread with all signals blocked and a small stack. The C library allocates for it: no lock may be held.
// False when the system refuses.
bool start_thread(void* (*body)(void*));

// The same, to be waited for: join_thread() is called once with what *thread is then, by a thread that may wait. So the
// last thread of a program can see to it that it is the process's last, too, and that the C library's work at exit is
// done with the program's descriptors.
bool start_thread(void* (*body)(void*), unsigned long* thread);
void join_thread(unsigned long thread);

void name_this_thread(const char* name);  // at most 15 characters
uint64_t thread_number();                 // the kernel's, of the calling thread

// Sleeps while the word has this value, until wake(), at most so many milliseconds (without end from 2^31 seconds
// on). May return early.
void wait_while(const std::atomic<uint32_t>& word, uint32_t value, uint64_t ms);
void wake(const std::atomic<uint32_t>& word);  // all who wait on it

// --- Tests --------------------------------------------------------------------------------------------------

#if ACRE_TESTING
namespace testing {
// After `allowed` further requests for memory or address space, refuses `refused` requests in a row.
void refuse_requests(long allowed, long refused);
void refuse_nothing();
long requests_made();
// Counts a request for memory; false: it is to be refused.
bool granted();
}  // namespace testing
#endif

}  // namespace acre::os
