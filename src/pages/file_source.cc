#include "pages/file_source.h"

#include <atomic>
#include <new>

#include "pages/metadata.h"

namespace acre {

namespace {

constexpr unsigned kRecordsAtATime = 16;
constexpr unsigned kRecordsPerPut = 2;  // a part, and the rest of a longer one

constexpr size_t kMostCopied = size_t{256} << 20;  // for a child of a fork
constexpr uint64_t kMostWaitMs = 10000;            // for a parent that is stopped while it copies

constinit std::atomic<uint64_t> g_no_space{0};
constinit std::atomic<uint64_t> g_beyond_limit{0};
constinit std::atomic<uint64_t> g_other{0};

FileSource::Put refuse(std::atomic<uint64_t>& reason) {
  reason.fetch_add(1, std::memory_order_relaxed);
  return FileSource::Put::kRefused;
}

bool overlap(Address start, size_t bytes, Address other, size_t other_bytes) {
  return start < other + other_bytes && other < start + bytes;
}

}  // namespace

bool FileSource::open(const FileSettings& settings) {
  file_ = os::open_to_map(settings.path, settings.kind);
  if (!is_open()) return false;
  if (settings.kind == os::FileKind::kMemory && !file_.is_empty) {
    close();
    return false;
  }
  settings_ = settings;
  settings_.path = "";  // the string is the caller's
  inherited_ = false;
  Lock lock(lock_);
  used_end_ = settings.start;
  return true;
}

void FileSource::close() {
  os::close_file(file_);
  file_ = {};
  Lock lock(lock_);
  while (Part* part = parts_) {
    parts_ = part->next;
    drop(part);
  }
}

FileSource::Part* FileSource::take_record() {
  Part* part = spare_;
  spare_ = part->next;
  --spare_count_;
  *part = {};
  return part;
}

void FileSource::drop(Part* part) {
  part->next = spare_;
  spare_ = part;
  ++spare_count_;
}

bool FileSource::have_records() {
  {
    Lock lock(lock_);
    if (spare_count_ >= kRecordsPerPut) return true;
  }
  auto* records = static_cast<Part*>(metadata::allocate(kRecordsAtATime * sizeof(Part)));
  if (records == nullptr) return false;
  Lock lock(lock_);
  for (unsigned i = 0; i < kRecordsAtATime; ++i) drop(new (records + i) Part);
  return true;
}

// The first unused part that is long enough, or a new one. Null: there is no record, or no space below the limit.
FileSource::Part* FileSource::claim(Address start, size_t bytes) {
  if (spare_count_ < kRecordsPerPut) return nullptr;
  Part** end = &parts_;
  for (Part* part = parts_; part != nullptr; end = &part->next, part = part->next) {
    if (part->start != 0 || part->bytes < bytes) continue;
    if (part->bytes > bytes) {
      Part* rest = take_record();
      *rest = {part->offset + bytes, part->bytes - bytes, 0, part->zero, part->next};
      part->next = rest;
      part->bytes = bytes;
    }
    part->start = start;
    return part;
  }
  if (bytes > settings_.end || used_end_ > settings_.end - bytes) return nullptr;
  Part* part = take_record();
  *part = {used_end_, bytes, start, settings_.kind == os::FileKind::kMemory, nullptr};
  used_end_ += bytes;
  *end = part;
  return part;
}

FileSource::Put FileSource::map(const Part& part) {
  if (settings_.kind == os::FileKind::kMemory) {
    // A page of a tmpfs takes space even if it is only copied from. A hugetlbfs reserves space when it is mapped.
    const bool reserved = file_.has_huge_pages && settings_.sharing == os::Sharing::kPrivate;
    const bool room = reserved ? os::extend_file(file_, part.offset + part.bytes)
                               : os::allocate_in_file(file_, part.offset, part.bytes);
    if (!room) return refuse(g_no_space);
  }
  if (!os::map_file_at(pointer_to(part.start), part.bytes, file_, part.offset, settings_.sharing)) {
    return refuse(g_other);
  }
  return part.zero ? Put::kZeroed : Put::kUnknown;
}

FileSource::Put FileSource::put(Address start, size_t bytes) {
  if (inherited_ && settings_.sharing == os::Sharing::kShared) return refuse(g_other);
  if (!os::is_still(file_) || !have_records()) return refuse(g_other);
  Part part;
  {
    Lock lock(lock_);
    const Part* claimed = claim(start, bytes);
    if (claimed == nullptr) return refuse(g_beyond_limit);
    part = *claimed;
  }
  const Put result = map(part);
  if (result == Put::kRefused) take_away(start, bytes);
  return result;
}

FileSource::Refusals FileSource::refusals() {
  return {g_no_space.load(std::memory_order_relaxed), g_beyond_limit.load(std::memory_order_relaxed),
          g_other.load(std::memory_order_relaxed)};
}

void FileSource::take_away(Address start, size_t bytes) {
  uint64_t offset = UINT64_MAX;
  {
    Lock lock(lock_);
    for (const Part* part = parts_; part != nullptr; part = part->next) {
      if (part->start == start && part->bytes == bytes) offset = part->offset;
    }
  }
  if (offset == UINT64_MAX) return;
  const bool memory = settings_.kind == os::FileKind::kMemory;
  const bool punched = memory && !inherited_ && os::is_still(file_) && os::punch_hole(file_, offset, bytes);
  const bool zero = punched || (memory && settings_.sharing == os::Sharing::kPrivate);  // it writes nothing to the file
  Lock lock(lock_);
  Part* before = nullptr;
  for (Part* part = parts_; part != nullptr; before = part, part = part->next) {
    if (part->start != start || part->bytes != bytes) continue;
    part->start = 0;
    part->zero = zero;
    if (part->next != nullptr && part->next->start == 0 && part->next->offset == part->offset + part->bytes) {
      Part* after = part->next;
      part->bytes += after->bytes;
      part->zero &= after->zero;
      part->next = after->next;
      drop(after);
    }
    if (before != nullptr && before->start == 0 && before->offset + before->bytes == part->offset) {
      before->bytes += part->bytes;
      before->zero &= part->zero;
      before->next = part->next;
      drop(part);
    }
    return;
  }
}

bool FileSource::holds_pages(Address start, size_t bytes) {
  const bool returns_pages = settings_.kind == os::FileKind::kMemory &&
                             settings_.sharing == os::Sharing::kPrivate && !file_.has_huge_pages;
  if (!is_open() || returns_pages) return false;
  Lock lock(lock_);
  for (const Part* part = parts_; part != nullptr; part = part->next) {
    if (part->start != 0 && overlap(start, bytes, part->start, part->bytes)) return true;
  }
  return false;
}

// Whether a child of a fork would change this process's memory. A process that inherited the file maps it privately.
bool FileSource::shares() const {
  return is_open() && !inherited_ && settings_.sharing == os::Sharing::kShared &&
         settings_.kind == os::FileKind::kMemory;
}

// Bytes that the parent copies for a child: all parts in use, or 0. A hugetlbfs may lack pages for the child's changes,
// so its parts are not copied.
size_t FileSource::bytes_to_copy() {
  if (!shares() || file_.has_huge_pages) return 0;
  size_t bytes = 0;
  for (const Part* part = parts_; part != nullptr; part = part->next) bytes += part->start != 0 ? part->bytes : 0;
  return bytes <= kMostCopied ? bytes : 0;
}

void FileSource::copy_for_child() {
  bool done = true;
  for (const Part* part = parts_; part != nullptr && done; part = part->next) {
    if (part->start != 0) done = os::hand_over(handover_, pointer_to(part->start), part->bytes);
  }
  if (done) os::say_handed_over(handover_);
}

// If the parent has not copied as it should, it has ended, is stopped, or lacks memory. Then the child copies.
void FileSource::become_private() {
  const bool is_handed_over = handover_.file.descriptor >= 0;
  const bool has_copy = is_handed_over && os::wait_for_handover(handover_, kMostWaitMs);
  uint64_t offset = 0;  // in the copy
  for (const Part* part = parts_; part != nullptr; part = part->next) {
    if (part->start == 0) continue;
    void* start = pointer_to(part->start);
    if (has_copy) {
      os::map_file_at(start, part->bytes, handover_.file, offset, os::Sharing::kPrivate);
    } else if (os::is_still(file_)) {
      os::map_file_at(start, part->bytes, file_, part->offset, os::Sharing::kPrivate);
      if (is_handed_over) os::make_own(start, part->bytes);
    }
    offset += part->bytes;
  }
}

// The lock is held meanwhile, so the child gets the free lists in this memory as they were at the fork.
void FileSource::at_fork(ForkStage stage) ACRE_NO_THREAD_SAFETY_ANALYSIS {
  if (stage == ForkStage::kBefore) {
    if (!lock_.at_fork(stage)) return;
    const size_t bytes = bytes_to_copy();
    if (bytes != 0) handover_ = os::begin_handover(bytes);
    return;
  }
  if (stage == ForkStage::kInParent && handover_.file.descriptor >= 0) copy_for_child();
  if (stage == ForkStage::kInChild && shares()) become_private();
  os::end_handover(handover_);
  if (stage == ForkStage::kInChild) inherited_ = is_open();
  lock_.at_fork(stage);
}

}  // namespace acre
