#include "output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace acre::trace {

namespace {

bool is_trace(const std::string& path) {
  char magic[sizeof kFileMagic];
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const bool is =
      file >= 0 && read(file, magic, sizeof magic) == sizeof magic && memcmp(magic, kFileMagic, sizeof magic) == 0;
  if (file >= 0) close(file);
  return is;
}

// Whether another recording has it locked.
bool is_being_written(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const bool is = file >= 0 && flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (file >= 0) close(file);
  return is;
}

}  // namespace

bool Output::fail(const char* what, const std::string& path, int error) {
  if (failure_.empty()) failure_ = std::string(what) + " '" + path + "': " + strerror(error);
  return false;
}

std::string Output::segment_path(uint32_t number) const {
  char end[16];
  snprintf(end, sizeof end, ".%08u", number);
  return number == 0 ? path_ : path_ + end;
}

bool Output::open(const std::string& path, uint64_t limit, uint32_t stack_every, std::function<void()> checkpoint) {
  path_ = path;
  limit_ = limit;
  segment_limit_ = limit / kSegments / 16 * 15;  // the rest is for the index
  checkpoint_ = std::move(checkpoint);
  header_ = new_file_header(stack_every);
  if (!is_written_by_another()) {
    const std::string first = segment_path(limit_ != 0 ? 1 : 0);
    if (lock(first)) return true;
    if (lock_ < 0) return fail("cannot write", first, errno);
  }
  failure_ = "'" + path_ + "' is being written by another recording";
  return false;
}

// Another recording locks its next segment before it leaves one. So a list of segments none of which is locked tells
// of all recordings if it still holds afterwards.
bool Output::is_written_by_another() const {
  const auto files = [this] {
    std::vector<std::string> found = segments_of(path_);
    if (limit_ != 0) found.push_back(path_);
    return found;
  };
  for (std::vector<std::string> seen = files();;) {
    if (std::any_of(seen.begin(), seen.end(), is_being_written)) return true;
    std::vector<std::string> now = files();
    if (now == seen) return false;
    seen = std::move(now);
  }
}

bool Output::lock(const std::string& segment) {
  const int file = ::open(segment.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  const bool is_locked = file >= 0 && (flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
  if (lock_ >= 0) close(lock_);  // that of the segment before, which others have seen until now
  lock_ = file;
  return is_locked;
}

bool Output::begin() {
  has_begun_ = true;
  if (limit_ != 0) {
    // What an earlier recording of the same name has left would be taken for a part of this one.
    if (is_trace(path_)) unlink(path_.c_str());
    for (const std::string& segment : segments_of(path_)) {
      if (segment != segment_path(1) && is_trace(segment)) unlink(segment.c_str());
    }
  }
  return begin_segment();
}

bool Output::begin_segment() {
  if (limit_ != 0 && ++header_.segment > 1) lock(segment_path(header_.segment));
  const std::string path = segment_path(header_.segment);
  if (!writer_.open(path, header_)) return fail("cannot write", path, writer_.error());
  return true;
}

uint64_t Output::bytes() const {
  uint64_t sum = writer_.bytes();
  for (const auto& [segment, bytes] : closed_) sum += bytes;
  return sum;
}

bool Output::write(const ChunkHeader& header, std::string_view payload) {
  return write(header, {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()});
}

bool Output::write(const ChunkHeader& header, std::span<const uint8_t> payload) {
  if (has_failed() || (!has_begun_ && !begin())) return false;
  if (limit_ != 0 && !in_checkpoint_ && writer_.bytes() + payload.size() > segment_limit_) {
    if (!writer_.finish()) return fail("cannot write", segment_path(header_.segment), writer_.error());
    closed_.emplace_back(header_.segment, writer_.bytes());
    uint64_t kept = 0;
    for (const auto& [segment, its_bytes] : closed_) kept += its_bytes;
    while (!closed_.empty() && kept + limit_ / kSegments > limit_) {
      unlink(segment_path(closed_.front().first).c_str());
      kept -= closed_.front().second;
      closed_.pop_front();
      ++dropped_;
    }
    if (!begin_segment()) return false;
    in_checkpoint_ = true;
    checkpoint_();
    in_checkpoint_ = false;
  }
  if (!writer_.write(header, payload)) return fail("cannot write", segment_path(header_.segment), writer_.error());
  return true;
}

bool Output::finish() {
  if (has_failed()) {
    writer_.finish();
    return false;
  }
  struct stat status;
  const bool is_new = !has_begun_ && fstat(lock_, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
  if (is_new) unlink(segment_path(limit_ != 0 ? 1 : 0).c_str());
  if (!writer_.finish()) return fail("cannot write", segment_path(header_.segment), writer_.error());
  // One that never came to a second segment is a file as without a bound.
  if (limit_ != 0 && header_.segment == 1) rename(segment_path(1).c_str(), path_.c_str());
  if (lock_ >= 0) close(lock_);
  lock_ = -1;
  return true;
}

}  // namespace acre::trace
