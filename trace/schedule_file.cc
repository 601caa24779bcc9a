#include "schedule_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace acre::trace {

using replay::Header;
using replay::Piece;
using replay::ThreadEntry;

namespace {

constexpr uint64_t kFirstStep = 1u << 20, kLongestStep = 256u << 20;    // by which the file grows
constexpr uint64_t kShortestPiece = 512, kLongestPiece = 64u << 10;  // of a thread that does little, and much

}  // namespace

ScheduleFile::~ScheduleFile() {
  if (file_ >= 0) fail(0);
}

bool ScheduleFile::fail(int error) {
  error_ = error;
  if (map_ != nullptr) munmap(map_, mapped_);
  map_ = nullptr;
  if (file_ >= 0) {
    struct stat status;
    if (fstat(file_, &status) == 0 && S_ISREG(status.st_mode)) unlink(path_.c_str());
    close(file_);
  }
  file_ = -1;
  return false;
}

bool ScheduleFile::open(const std::string& path) {
  path_ = path;
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) return fail(errno);
  uint64_t offset;
  return allot(sizeof(Header), offset);
}

// Where the disk is full, that is said here, and not by a signal at a write into the mapping.
bool ScheduleFile::allot(uint64_t bytes, uint64_t& offset) {
  if (file_ < 0) return false;
  if (used_ + bytes > mapped_) {
    const uint64_t step = std::max(bytes, std::clamp(mapped_, kFirstStep, kLongestStep));
    const int error = posix_fallocate(file_, static_cast<off_t>(mapped_), static_cast<off_t>(step));
    if (error != 0) return fail(error);
    void* const map = map_ == nullptr
                          ? mmap(nullptr, step, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0)
                          : mremap(map_, mapped_, mapped_ + step, MREMAP_MAYMOVE);
    if (map == MAP_FAILED) return fail(errno);
    map_ = static_cast<char*>(map);
    mapped_ += step;
  }
  offset = used_;
  used_ += bytes;
  return true;
}

bool ScheduleFile::begin_piece(Thread& thread) {
  const uint64_t bytes = std::min(kLongestPiece, kShortestPiece << std::min<size_t>(thread.pieces.size(), 16));
  uint64_t offset;
  if (!allot(bytes, offset)) return false;
  longest_piece_ = std::max(longest_piece_, bytes);
  if (!thread.pieces.empty()) at<Piece>(thread.pieces.back().offset).next = offset;
  at<Piece>(offset) = {0, 0};
  thread.pieces.push_back({thread.words, offset});
  thread.room = (bytes - sizeof(Piece)) / sizeof(uint64_t);
  return true;
}

bool ScheduleFile::append(uint32_t number, uint64_t word) {
  if (number >= threads_.size()) threads_.resize(number + 1);
  Thread& thread = threads_[number];
  if (thread.room == 0 && !begin_piece(thread)) return false;
  if (thread.words >= UINT32_MAX) return fail(EFBIG);  // as kWait could not name it
  Piece& piece = at<Piece>(thread.pieces.back().offset);
  at<uint64_t>(thread.pieces.back().offset + sizeof(Piece) + piece.words * sizeof(uint64_t)) = word;
  ++piece.words;
  ++thread.words;
  --thread.room;
  return true;
}

void ScheduleFile::post(uint32_t number, uint64_t word) {
  if (file_ < 0 || word >= words(number)) return;
  const std::vector<Part>& pieces = threads_[number].pieces;
  const auto behind = std::upper_bound(pieces.begin(), pieces.end(), word,
                                       [](uint64_t value, const Part& part) { return value < part.first_word; });
  const Part& part = behind[-1];
  at<uint64_t>(part.offset + sizeof(Piece) + (word - part.first_word) * sizeof(uint64_t)) |= replay::kPosted;
}

bool ScheduleFile::finish(Header header, const std::vector<replay::Sample>& samples) {
  memcpy(header.magic, replay::kMagic, sizeof header.magic);
  header.threads = static_cast<uint32_t>(threads_.size());
  header.samples = samples.size();
  header.longest_piece = longest_piece_;
  if (!allot(threads_.size() * sizeof(ThreadEntry), header.threads_offset) ||
      !allot(samples.size() * sizeof(replay::Sample), header.samples_offset)) {
    return false;
  }
  for (size_t i = 0; i < threads_.size(); ++i) {
    at<ThreadEntry>(header.threads_offset + i * sizeof(ThreadEntry)) = {
        threads_[i].words, threads_[i].pieces.empty() ? 0 : threads_[i].pieces.front().offset};
  }
  if (!samples.empty()) memcpy(map_ + header.samples_offset, samples.data(), samples.size() * sizeof samples[0]);
  at<Header>(0) = header;
  munmap(map_, mapped_);
  map_ = nullptr;
  if (ftruncate(file_, static_cast<off_t>(used_)) != 0 || close(file_) != 0) return fail(errno);
  file_ = -1;
  return true;
}

}  // namespace acre::trace
