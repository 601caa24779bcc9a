// Memory from a file or a device: parts of it are mapped over addresses that the caller has mapped. Space in the file
// system is allocated first, so that a full file system makes put() refuse, and no access ends in SIGBUS. Private
// mappings never write to the file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mutex.h"
#include "os/os.h"

namespace acre {

struct FileSettings {
  const char* path = "";
  os::FileKind kind = os::FileKind::kMemory;
  os::Sharing sharing = os::Sharing::kShared;
  uint64_t start = 0;           // bytes: offset of the first part
  uint64_t end = UINT64_MAX;    // bytes: no part goes beyond it
};

class FileSource {
 public:
  // Returns false, with nothing open, if the file cannot be opened or, for FileKind::kMemory, is not empty.
  bool open(const FileSettings& settings);
  // All parts must have been taken away.
  void close();
  bool is_open() const { return file_.descriptor >= 0; }

  enum class Put : uint8_t { kRefused, kZeroed, kUnknown };  // kZeroed and kUnknown: done, and what the memory holds
  // Maps a part of the file over [start, start + bytes), multiples of 2 MiB. Refused: the caller's mapping may be gone.
  Put put(Address start, size_t bytes);

  // How often put() refused, in all files and devices together.
  struct Refusals {
    uint64_t no_space = 0;  // in the file system
    uint64_t limit = 0;
    uint64_t other = 0;     // the file was closed, cannot be mapped, or belongs to the parent process
    uint64_t all() const { return no_space + limit + other; }
  };
  static Refusals refusals();

  // Ends the use of the part that put() mapped here, if any, and frees its space in the file. The caller unmaps it.
  void take_away(Address start, size_t bytes);

  // Whether this is memory whose pages cannot be returned one by one: the file would need new space for them, or they
  // would not read as zeroes.
  bool holds_pages(Address start, size_t bytes);

  // The child maps shared parts privately, so that it cannot harm the parent, and gets no further parts. Unless it is
  // too much, the parent copies them for the child before fork() returns in the parent, so that the thread that forked
  // cannot change them first. The child waits for the copy; the parent waits for nothing.
  void at_fork(ForkStage stage);

 private:
  struct Part {
    uint64_t offset = 0;
    size_t bytes = 0;
    Address start = 0;   // 0: the part is not in use
    bool zero = true;    // part not in use: it reads as zeroes
    Part* next = nullptr;
  };

  Part* claim(Address start, size_t bytes) ACRE_REQUIRES(lock_);
  Part* take_record() ACRE_REQUIRES(lock_);
  bool have_records();
  void drop(Part* part) ACRE_REQUIRES(lock_);
  bool shares() const;
  size_t bytes_to_copy() ACRE_REQUIRES(lock_);
  void copy_for_child() ACRE_REQUIRES(lock_);
  void become_private() ACRE_REQUIRES(lock_);
  Put map(const Part& part);

  os::OpenFile file_;
  FileSettings settings_;
  bool inherited_ = false;  // this process is the child of the fork that the file was open at
  os::Handover handover_;
  Mutex lock_{Rank::kFile};
  Part* parts_ ACRE_GUARDED_BY(lock_) = nullptr;  // lowest offset first
  Part* spare_ ACRE_GUARDED_BY(lock_) = nullptr;
  unsigned spare_count_ ACRE_GUARDED_BY(lock_) = 0;
  uint64_t used_end_ ACRE_GUARDED_BY(lock_) = 0;  // all parts begin below this offset
};

}  // namespace acre
