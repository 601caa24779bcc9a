#include <fcntl.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>

#include "file.h"

namespace acre::trace {

uint32_t crc32_of(const void* data, size_t bytes) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), bytes));
}

struct Writer::Compressor {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ~Compressor() { ZSTD_freeCCtx(context); }
};

Writer::Writer() : compressor_(new Compressor) {}

Writer::~Writer() {
  if (file_ >= 0) close(file_);
}

FileHeader new_file_header(uint32_t stack_every) {
  FileHeader header{};
  memcpy(header.magic, kFileMagic, sizeof kFileMagic);
  header.version = kFileVersion;
  header.header_bytes = sizeof header;
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  header.realtime_ns = static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
  if (getrandom(header.recording, sizeof header.recording, 0) != sizeof header.recording) {
    memcpy(header.recording, &header.realtime_ns, sizeof header.realtime_ns);
  }
  header.stack_every = stack_every;
  return header;
}

bool Writer::open(const std::string& path, const FileHeader& header) {
  if (file_ >= 0) close(file_);
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bytes_ = 0;
  index_.clear();
  error_ = file_ < 0 ? errno : 0;
  if (file_ < 0) return false;
  FileHeader sealed = header;
  sealed.crc32 = crc32_of(&sealed, offsetof(FileHeader, crc32));
  return append(&sealed, sizeof sealed, nullptr, 0);
}

bool Writer::append(const void* head, size_t head_bytes, const void* rest, size_t rest_bytes) {
  if (error_ != 0) return false;
  size_t done = 0;
  const size_t all = head_bytes + rest_bytes;
  while (done < all) {
    iovec parts[2] = {{const_cast<void*>(head), head_bytes}, {const_cast<void*>(rest), rest_bytes}};
    const size_t of_head = std::min(done, head_bytes);
    parts[0] = {static_cast<char*>(const_cast<void*>(head)) + of_head, head_bytes - of_head};
    if (rest != nullptr) {
      parts[1] = {static_cast<char*>(const_cast<void*>(rest)) + (done - of_head), rest_bytes - (done - of_head)};
    }
    const ssize_t written = writev(file_, parts, rest != nullptr ? 2 : 1);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      error_ = written < 0 ? errno : ENOSPC;
      // A pipe or a device has no end to take back.
      if (ftruncate(file_, static_cast<off_t>(bytes_)) == 0) lseek(file_, static_cast<off_t>(bytes_), SEEK_SET);
      return false;
    }
    done += static_cast<size_t>(written);
  }
  bytes_ += all;
  return true;
}

bool Writer::write(const ChunkHeader& header, std::string_view payload) {
  return write(header, {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()});
}

bool Writer::write(ChunkHeader header, std::span<const uint8_t> payload) {
  if (error_ != 0) return false;
  header.raw_bytes = static_cast<uint32_t>(payload.size());
  std::span<const uint8_t> stored = payload;
  if (payload.size() >= 64) {
    buffer_.resize(ZSTD_compressBound(payload.size()));
    const size_t bytes =
        ZSTD_compressCCtx(compressor_->context, buffer_.data(), buffer_.size(), payload.data(), payload.size(), level_);
    if (!ZSTD_isError(bytes) && bytes < payload.size()) {
      stored = {buffer_.data(), bytes};
      header.flags |= kCompressed;
    }
  }
  header.stored_bytes = static_cast<uint32_t>(stored.size());
  header.payload_crc32 = crc32_of(stored.data(), stored.size());
  header.crc32 = crc32_of(&header, offsetof(ChunkHeader, crc32));
  const uint64_t offset = bytes_;
  if (!append(&header, sizeof header, stored.data(), stored.size())) return false;
  index_.push_back({offset, header});
  return true;
}

bool Writer::finish() {
  if (file_ < 0) return error_ == 0;
  ChunkHeader header;
  header.type = ChunkType::kIndex;
  Trailer trailer{};
  trailer.index_offset = bytes_;
  trailer.magic = kTrailerMagic;
  trailer.crc32 = crc32_of(&trailer, offsetof(Trailer, crc32));
  const std::vector<IndexEntry> entries = std::move(index_);
  index_.clear();
  const uint64_t before = bytes_;
  bool well = write(header, {reinterpret_cast<const uint8_t*>(entries.data()), entries.size() * sizeof(IndexEntry)}) &&
              append(&trailer, sizeof trailer, nullptr, 0);
  if (!well && bytes_ != before && ftruncate(file_, static_cast<off_t>(before)) == 0) bytes_ = before;
  if (close(file_) != 0 && well) {
    error_ = errno;
    well = false;
  }
  file_ = -1;
  return well;
}

}  // namespace acre::trace
