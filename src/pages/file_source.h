// Memory from a file or a device: parts of it, mapped over addresses that were reserved for them.
//
// Space in the file system is allocated before a part is used, so that a full one refuses and no access ends in SIGBUS.
// What is mapped privately never reaches the file.
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
  uint64_t end = UINT64_MAX;    // none goes beyond it
};

class FileSource {
 public:
  // False, with nothing opened: the file cannot be had, or is no empty one.
  bool open(const FileSettings& settings);
  // All parts must have been taken away.
  void close();
  bool is_open() const { return file_.descriptor >= 0; }

  enum class Put : uint8_t { kRefused, kZeroed, kUnknown };  // the second and third: what the memory holds
  // Maps a part of the file over [start, start + bytes), which the caller has mapped; multiples of 2 MiB. Refused: the
  // caller's mapping may be gone.
  Put put(Address start, size_t bytes);

  // How often put() refused, of all files and devices, and why.
  struct Refusals {
    uint64_t no_space = 0;  // in the file system
    uint64_t limit = 0;
    uint64_t other = 0;     // it was closed, it cannot be mapped, or it is another process's
    uint64_t all() const { return no_space + limit + other; }
  };
  static Refusals refusals();

  // If put() was called with these addresses: that part is no longer mapped.
  void take_away(Address start, size_t bytes);

  // Whether memory at these addresses is a part whose pages cannot be returned one by one: the file would have to have
  // space for them again, or they are never zero.
  bool holds_pages(Address start, size_t bytes);

  // The file is the parent's. What it shares the child maps privately, so that it cannot harm the parent, and gets no
  // more of. Unless it is much, the parent copies it for the child before fork returns there: so the calling thread of the
  // parent does not change it under the child either. The child waits for the copy, and the parent for nothing.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  struct Part {
    uint64_t offset = 0;
    size_t bytes = 0;
    Address start = 0;   // 0: not in use
    bool zero = true;    // not in use: it reads as zeroes
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
  bool inherited_ = false;  // by the child of a fork
  os::Handover handover_;
  Mutex lock_{Rank::kFile};
  Part* parts_ ACRE_GUARDED_BY(lock_) = nullptr;  // lowest offset first
  Part* spare_ ACRE_GUARDED_BY(lock_) = nullptr;
  unsigned spare_count_ ACRE_GUARDED_BY(lock_) = 0;
  uint64_t used_end_ ACRE_GUARDED_BY(lock_) = 0;  // parts begin below
};

}  // namespace acre
