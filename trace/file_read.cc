#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "file.h"

namespace acre::trace {

struct Reader::File {
  explicit File(int file) : descriptor(file) {}
  File(const File&) = delete;
  int descriptor;
  uint64_t bytes = 0;
  FileHeader header{};
  ~File() { close(descriptor); }

  bool read(uint64_t offset, void* to, size_t count) const {
    auto* at = static_cast<char*>(to);
    while (count > 0) {
      const ssize_t got = pread(descriptor, at, count, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      at += got;
      offset += static_cast<uint64_t>(got);
      count -= static_cast<size_t>(got);
    }
    return true;
  }
};

struct Reader::Decompressor {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ~Decompressor() { ZSTD_freeDCtx(context); }
};

Reader::Reader() : decompressor_(new Decompressor) {}
Reader::~Reader() = default;

namespace {

// Whether a chunk that is stored at the offset ends where the file does, or before.
bool ends_within(const ChunkHeader& header, uint64_t offset, uint64_t end) {
  return offset <= end && end - offset >= sizeof header && end - offset - sizeof header >= header.stored_bytes;
}

bool is_sound(const ChunkHeader& header, uint64_t offset, uint64_t end) {
  return header.magic == kChunkMagic && header.crc32 == crc32_of(&header, offsetof(ChunkHeader, crc32)) &&
         header.raw_bytes <= kMostPayload && ends_within(header, offset, end);
}

}  // namespace

std::vector<std::string> segments_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string base = slash == std::string::npos ? path : path.substr(slash + 1);
  const size_t dot = base.rfind('.');
  const auto is_number = [](std::string_view text) {
    return text.size() == 8 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (dot != std::string::npos && is_number(std::string_view(base).substr(dot + 1))) base.resize(dot);
  std::vector<std::string> found;
  if (DIR* entries = opendir(folder.c_str()); entries != nullptr) {
    while (const dirent* entry = readdir(entries)) {
      const std::string_view name = entry->d_name;
      if (name.size() == base.size() + 9 && name.starts_with(base) && name[base.size()] == '.' &&
          is_number(name.substr(base.size() + 1))) {
        found.push_back((slash == std::string::npos ? "" : folder) + std::string(name));
      }
    }
    closedir(entries);
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool Reader::open(const std::string& path) {
  std::vector<std::string> segments;
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    segments = segments_of(path);
    if (segments.empty()) {
      error_ = "cannot read '" + path + "': " + strerror(ENOENT);
      return false;
    }
  } else {
    if (!add(path, true)) return false;
    if (header_.segment == 0) return true;
    segments = segments_of(path);
    files_.clear();
    chunks_.clear();
    has_index_ = true;
    damaged_bytes_ = file_bytes_ = 0;
    if (segments.empty()) segments = {path};  // it has another name now
  }
  // A segment that cannot be read, or is of another recording, is left out.
  for (const std::string& segment : segments) add(segment, files_.empty());
  if (files_.empty()) return false;
  error_.clear();
  return true;
}

bool Reader::add(const std::string& path, bool first) {
  const auto refuse = [&](const std::string& why) {
    error_ = why;
    return false;
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return refuse("cannot read '" + path + "': " + strerror(errno));
  auto file = std::make_unique<File>(descriptor);
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return refuse("'" + path + "' is no file");
  file->bytes = static_cast<uint64_t>(status.st_size);
  FileHeader& header = file->header;
  const bool whole = file->read(0, &header, sizeof header);
  if (!whole || memcmp(header.magic, kFileMagic, sizeof kFileMagic) != 0) {
    return refuse("'" + path + "' is no trace of acre");
  }
  if (header.version == 0 || header.version > kFileVersion) {
    return refuse("'" + path + "' has version " + std::to_string(header.version) +
                  " of the format, and this acre reads 1 to " + std::to_string(kFileVersion));
  }
  if (header.crc32 != crc32_of(&header, offsetof(FileHeader, crc32))) {
    return refuse("'" + path + "' is damaged at its beginning");
  }
  if (!first && memcmp(header.recording, header_.recording, sizeof header.recording) != 0) {
    return refuse("'" + path + "' is of another recording");
  }
  if (first) header_ = header;
  file_bytes_ += file->bytes;
  files_.push_back(std::move(file));
  const auto number = static_cast<uint32_t>(files_.size() - 1);
  if (!read_index(number)) {
    has_index_ = false;
    walk(number);
  }
  return true;
}

bool Reader::read_index(uint32_t number) {
  const File& file = *files_[number];
  Trailer trailer;
  if (file.bytes < sizeof(FileHeader) + sizeof(ChunkHeader) + sizeof trailer) return false;
  const uint64_t end = file.bytes - sizeof trailer;
  if (!file.read(end, &trailer, sizeof trailer) || trailer.magic != kTrailerMagic ||
      trailer.crc32 != crc32_of(&trailer, offsetof(Trailer, crc32)) ||
      trailer.index_offset > end - sizeof(ChunkHeader)) {
    return false;
  }
  Chunk index{{}, trailer.index_offset, number};
  std::vector<uint8_t> payload;
  if (!file.read(index.offset, &index.header, sizeof index.header) || !is_sound(index.header, index.offset, end) ||
      index.header.type != ChunkType::kIndex || !read(index, payload) || payload.size() % sizeof(IndexEntry) != 0) {
    return false;
  }
  const size_t before = chunks_.size();
  for (size_t at = 0; at < payload.size(); at += sizeof(IndexEntry)) {
    IndexEntry entry;
    memcpy(&entry, payload.data() + at, sizeof entry);
    if (!is_sound(entry.header, entry.offset, trailer.index_offset)) {
      chunks_.resize(before);
      return false;
    }
    chunks_.push_back({entry.header, entry.offset, number});
  }
  return true;
}

// From chunk to chunk. Behind a header that is damaged the next one is looked for byte by byte.
void Reader::walk(uint32_t number) {
  const File& file = *files_[number];
  uint64_t at = sizeof(FileHeader);
  std::vector<uint8_t> window;
  while (at + sizeof(ChunkHeader) <= file.bytes) {
    ChunkHeader header;
    if (!file.read(at, &header, sizeof header)) break;
    if (is_sound(header, at, file.bytes)) {
      if (header.type != ChunkType::kIndex) chunks_.push_back({header, at, number});
      at += sizeof header + header.stored_bytes;
      continue;
    }
    uint64_t next = at + 1;
    bool found = false;
    while (!found && next + sizeof(ChunkHeader) <= file.bytes) {
      window.resize(std::min<uint64_t>(1 << 16, file.bytes - next));
      if (!file.read(next, window.data(), window.size())) {
        next = file.bytes;
        break;
      }
      size_t i = 0;
      for (; i + sizeof header <= window.size(); ++i) {
        memcpy(&header, window.data() + i, sizeof header);
        if (header.magic == kChunkMagic && is_sound(header, next + i, file.bytes)) {
          found = true;
          break;
        }
      }
      next += i;
    }
    if (!found) next = file.bytes;
    damaged_bytes_ += next - at;
    at = next;
  }
  if (at < file.bytes && file.bytes - at != sizeof(Trailer)) damaged_bytes_ += file.bytes - at;
}

bool Reader::read(const Chunk& chunk, std::vector<uint8_t>& payload) {
  const ChunkHeader& header = chunk.header;
  const File& file = *files_[chunk.file];
  if (header.raw_bytes > kMostPayload || !ends_within(header, chunk.offset, file.bytes)) return false;
  stored_.resize(header.stored_bytes);
  if (!file.read(chunk.offset + sizeof header, stored_.data(), stored_.size()) ||
      crc32_of(stored_.data(), stored_.size()) != header.payload_crc32) {
    return false;
  }
  if ((header.flags & kCompressed) == 0) {
    if (header.stored_bytes != header.raw_bytes) return false;
    payload = stored_;
    return true;
  }
  if (ZSTD_getFrameContentSize(stored_.data(), stored_.size()) != header.raw_bytes) return false;
  payload.resize(header.raw_bytes);
  const size_t bytes =
      ZSTD_decompressDCtx(decompressor_->context, payload.data(), payload.size(), stored_.data(), stored_.size());
  return !ZSTD_isError(bytes) && bytes == payload.size();
}

}  // namespace acre::trace
