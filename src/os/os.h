// The contract with the operating system; linux.cc and its neighbours fulfil it. Unless its comment says otherwise, a
// function keeps errno, does not allocate, and may be called by any thread. Tests can refuse requests (os::testing).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/compiler.h"
#include "base/units.h"

namespace acre::os {

// --- Address space and memory ---------------------------------------------------------------------------

// What a mapping is for: its name in /proc/PID/maps, [anon:acre:heap] or [anon:acre:internal]. There are so few names
// since neighbours of different names are never one mapping.
enum class MappingUse : uint8_t { kHeap, kInternal };

// From now on mappings get their names, by one more system call each, unless the kernel knows no names.
void name_mappings();

// Zeroed, readable and writable private memory that takes physical memory when touched. bytes: a multiple of the page
// size. Null when refused.
void* map(size_t bytes, MappingUse use = MappingUse::kInternal);
// The same for the heap, at exactly this address. Null, rather than replace a mapping that is there.
void* map_at(Address address, size_t bytes);

// Address space alone: not readable, not counted as committed memory. Null when refused.
void* reserve(size_t bytes);

// Makes part of a reservation readable and writable (zeroed). May be repeated. False when refused.
bool commit(void* start, size_t bytes);
// The same, but for reading alone: zeroes, which take no physical memory.
bool commit_to_read(void* start, size_t bytes);

// Makes part of a reservation as it was at first: not readable, and without memory. False when refused: nothing changed.
bool uncommit(void* start, size_t bytes);

// Gives back address space: any part of earlier maps. If the kernel refuses, because the process may have no more
// mappings and one would be split, only the physical memory goes back. False: nor does that.
bool unmap(void* start, size_t bytes);

// Grows a whole mapping in place. False when refused or when something is in the way.
bool grow_in_place(void* start, size_t old_bytes, size_t new_bytes);

// A kernel may unmap the destination of a move before it finds that it cannot move.
enum class Move {
  kDone,
  kRefused,   // nothing has changed but the destination's first word
  kFailed,    // the source is unchanged; the destination may be unmapped, and another's
};

// Moves a whole mapping, grown to new_bytes, onto `to`, and replaces what is mapped there, which is writable.
Move move_mapping(void* start, size_t old_bytes, size_t new_bytes, void* to);

// Moves the physical pages of [from, from + bytes) to [to, to + bytes). Both are mapped; `from` stays mapped and reads
// as zeroes. Kernels before 5.7 refuse.
Move move_pages(void* from, void* to, size_t bytes);

// Gives back the physical memory of a range, which then reads as zeroes; parts of OS pages at its ends are zeroed
// instead. False when refused: the contents are undefined, the range stays usable.
bool purge(void* start, size_t bytes);

// Lets the kernel take a range's physical memory when it is short of it. Until it is written again, each page reads as
// before or as zeroes. Leaves out parts of OS pages at the ends. False when refused, with nothing changed: by kernels
// before 4.5, and for locked memory.
bool purge_lazily(void* start, size_t bytes);

// Pages that end the program, by SIGSEGV, if it reads or writes them; their contents are lost. By the kernel's guard regions
// where it has them (6.13), else by mappings, as far as a share of those that a process may have allows. False when
// refused: the contents are undefined. Bytes: a multiple of the page size of the OS.
bool guard(void* start, size_t bytes);
// Makes them usable again; they read as zeroes. bytes: as for guard(), of one such range or several that adjoin. False when
// refused: they are guards still.
bool unguard(void* start, size_t bytes);

// Zeroed memory at the end of the data segment, at a multiple of alignment; null when refused. Keeps the C library's
// record of that end right, so only one thread at a time may call this; the program's sbrk() must not run meanwhile.
void* extend_data_segment(size_t bytes, size_t alignment);

// Ask for transparent huge pages here, or for none, so that sparse memory stays small. May do nothing.
void prefer_huge_pages(void* start, size_t bytes);
void avoid_huge_pages(void* start, size_t bytes);

// Gives a clean huge page (kHugePageBytes, aligned) its physical memory, at best in one piece. Asks for no huge page
// there later on. False when refused: a part may have got memory.
bool populate_huge_page(void* page);

// How often acre made these system calls for anonymous memory, refusals included.
struct Calls {
  uint64_t mmap = 0, munmap = 0, mprotect = 0, mremap = 0, madvise = 0;
};
Calls calls();

// --- Facts ------------------------------------------------------------------------------------------------

size_t page_bytes();                 // bytes of an OS page; read once
unsigned processor();                // on which the calling thread runs now
unsigned processors();               // that the calling thread may run on, at least 1
// Random bits of the process, made of the kernel's AT_RANDOM, of whose other uses they tell nothing. The same in each
// process whose addresses the kernel does not randomise (setarch -R, debuggers). A child of fork has its parent's.
struct Secrets {
  uint64_t links, table, window;
  Address image;  // an address in the program's image
};
Secrets secrets();

size_t physical_memory();            // bytes, 0 if unknown
bool has_huge_pages();               // whether this process gets transparent ones, of kHugePageBytes
size_t address_space_limit();        // RLIMIT_AS in bytes, SIZE_MAX if none
size_t data_limit();                 // RLIMIT_DATA likewise
bool commits_strictly();             // vm.overcommit_memory is 2
size_t resident_bytes();             // of this process, 0 if unknown

// Refusals of the system so far.
struct Refusals {
  uint64_t memory;   // requests for memory or address space
  uint64_t purges;   // calls of purge()
  int purge_error;   // the error number of the last refused purge
};
Refusals refusals();
struct Faults {
  uint64_t minor = 0;  // nothing was read from a disk
  uint64_t major = 0;
};
Faults faults();

// --- Clocks -----------------------------------------------------------------------------------------------

// Not by the C library: see base/clock.h. 0 if the system refuses.
uint64_t now_ms();         // monotonic, coarse: may stand still for 10 ms
uint64_t now_ns();         // monotonic, fine
uint64_t thread_ns();      // processor time of the calling thread
uint64_t wall_clock_ns();  // since 1970

// Called once, at start. Afterwards most clocks need no system call.
void find_clock();

// --- Files ------------------------------------------------------------------------------------------------

// Reads a whole file, and adds no 0. Returns its bytes, kTooLong if the buffer is too small, or another negative number
// if it can't be read. Never waits, whatever the path names.
long read_file(const char* path, char* buffer, size_t capacity);

// Reads the text of a symbolic link, cut off at the buffer's end. Returns its bytes, kNoLink if the path names
// something else, or another negative number if there is nothing.
long read_link(const char* path, char* buffer, size_t capacity);

inline constexpr long kTooLong = -1000000;  // no error number
inline constexpr long kNoLink = -1000001;

// Files that are read or written in pieces. Results below 0 are negative error numbers. Interrupted calls are repeated.
long open_file(const char* path);                                            // to read; never waits. A descriptor
long create_file(const char* path);                                          // to write; empties it. A descriptor
// To write, in the folder of this path and without a name, so that nothing is left if the process ends. A descriptor
long create_unnamed_file(const char* path);
int name_file(int file, const char* path);  // gives it this name, which nothing has. 0 or a positive error number
long read_some(int file, char* buffer, size_t capacity);                     // bytes; 0: the end
long read_at(int file, uint64_t offset, void* buffer, size_t bytes);         // bytes
int write_file(int file, const char* data, size_t bytes);                    // all of it; 0 or a positive error number
void close_file(int file);

// Whether the path names a plain file (not a link, pipe or device) or nothing.
bool is_file_or_nothing(const char* path);
int rename_file(const char* from, const char* to);  // replaces `to`. Returns 0 or a positive error number
void remove_file(const char* path);

// --- Files to map: files.cc ---------------------------------------------------------------------------------

// Identifies an open file: the same numbers are the same file.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t number = 0;
  bool operator==(const FileIdentity&) const = default;
};
struct OpenFile {
  int descriptor = -1;  // a high number, closed on exec; -1: refused
  int error = 0;        // the error number if refused
  FileIdentity identity;
  bool is_empty = false;
  bool has_huge_pages = false;   // hugetlbfs
};

enum class FileKind : uint8_t {
  kMemory,  // a nameless file in a folder; if there is no such folder, a file of this name, made if need be
  kDevice,  // what exists: a device, say
  kNew,     // a file that does not exist yet
};
// Opens to read, write and map.
OpenFile open_to_map(const char* path, FileKind kind);
void close_file(const OpenFile& file);

// Whether the descriptor is still this file: programs may close descriptors that they did not open.
bool is_still(const OpenFile& file);

// Allocates space in the file system for a part of the file. The part reads as zeroes where it held nothing.
bool allocate_in_file(const OpenFile& file, uint64_t offset, size_t bytes);
// Makes the file reach to this offset at least, without space.
bool extend_file(const OpenFile& file, uint64_t end);
// Gives the space back; the part reads as zeroes. False if the file system can't.
bool punch_hole(const OpenFile& file, uint64_t offset, size_t bytes);

// Replaces the mappings at [start, start + bytes) by a part of the file. False when refused: the old ones may be gone.
enum class Sharing : uint8_t { kShared, kPrivate };
bool map_file_at(void* start, size_t bytes, const OpenFile& file, uint64_t offset, Sharing sharing);

// Makes all pages of a private mapping the process's own, as a write to each would, as far as there is memory.
void make_own(void* start, size_t bytes);

// The parent of a fork hands memory to its child and does not wait for it. It copies the memory into a nameless file,
// then says so through a pipe. If it ends before, the child sees that.
struct Handover {
  OpenFile file;  // descriptor -1: there is no handover
  int read_end = -1;
  int write_end = -1;
};
Handover begin_handover(size_t bytes);  // before the fork
// In the parent: appends to the file. False when refused, as when memory is short.
bool hand_over(const Handover& handover, const void* start, size_t bytes);
// In the parent, after the last hand_over().
void say_handed_over(const Handover& handover);
// In the child: whether the parent has said so. Waits until it has, or has ended, or for so many milliseconds.
bool wait_for_handover(Handover& handover, uint64_t most_ms);
// In both, at the end. The file stays as long as it is mapped.
void end_handover(Handover& handover);

// The C library's lock on its list of open files, which fork() takes after all handlers (process/fork.h). Nothing
// happens in a process of one thread, or if the C library is not glibc. forget: it is free in the child.
void lock_list_of_files();
void unlock_list_of_files();
void forget_list_of_files();

// --- Threads ------------------------------------------------------------------------------------------------

// Whether the process has a single thread, as far as the C library tells.
bool is_alone();

// Starts a detached thread with all signals blocked and a small stack. The C library allocates, so no lock may be held.
// False when the system refuses.
bool start_thread(void* (*body)(void*));

// The same, for a thread that join_thread(*thread) waits for, once. So the last thread of a program can make sure that
// no other thread outlives it, and that the C library's work at exit is done with the program's descriptors.
bool start_thread(void* (*body)(void*), unsigned long* thread);
void join_thread(unsigned long thread);

void name_this_thread(const char* name);  // at most 15 characters
unsigned long pthread_of_this_thread();   // pthread_self()
uint64_t thread_number();                 // the calling thread's number in the kernel
inline constexpr size_t kNameBytes = 16;  // with the 0 at the end
void read_thread_name(char (&name)[kNameBytes]);  // of the calling thread

// Sleeps while the word has this value, until wake(), for at most so many milliseconds (2^31 seconds: without end). May
// return early, without any reason.
void wait_while(const std::atomic<uint32_t>& word, uint32_t value, uint64_t ms);
void wake(const std::atomic<uint32_t>& word);  // wakes all threads that wait on it

// The same for a word in memory that processes share.
void wait_while_shared(const std::atomic<uint32_t>& word, uint32_t value, uint64_t ms);
void wake_shared(const std::atomic<uint32_t>& word);

// Whether the process of this number runs: it is there, and no zombie.
bool is_running(uint32_t process);

// --- Tests --------------------------------------------------------------------------------------------------

#if ACRE_TESTING
namespace testing {
// Grants `allowed` further requests for memory or address space, then refuses `refused` requests.
void refuse_requests(long allowed, long refused);
void refuse_nothing();
long requests_made();
// Counts a request. False: refuse it.
bool granted();
}  // namespace testing
#else
namespace testing {
constexpr bool granted() { return true; }
}  // namespace testing
#endif

}  // namespace acre::os
