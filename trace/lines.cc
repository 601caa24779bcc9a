#include "lines.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace acre::trace {

namespace {
constexpr size_t kPart = size_t{256} << 10;
constexpr size_t kMostLine = size_t{1} << 20;
constexpr unsigned char kZstdMagic[] = {0x28, 0xb5, 0x2f, 0xfd};
}  // namespace

// Bytes of the file, and what unpacks them.
struct Lines::Source {
  enum Packing { kPlain, kGzip, kZstd } packing = kPlain;
  int file = -1;
  std::vector<unsigned char> bytes = std::vector<unsigned char>(kPart);
  size_t have = 0, used = 0;
  bool at_end = false, in_frame = false;
  bool holds_more = false;  // what unpacks may have more without further bytes of the file
  z_stream gzip{};
  ZSTD_DStream* zstd = nullptr;

  ~Source() {
    if (file > STDIN_FILENO) close(file);
    if (packing == kGzip) inflateEnd(&gzip);
    ZSTD_freeDStream(zstd);
  }

  bool read_more() {  // false: an errno
    have = used = 0;
    while (have < 4 && !at_end) {  // as much as the magics need
      const ssize_t got = read(file, bytes.data() + have, bytes.size() - have);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return false;
      at_end = got == 0;
      have += static_cast<size_t>(got);
    }
    return true;
  }

  // -> how many bytes came out; what: why it is damaged
  size_t unpack(char* to, size_t room, const char*& what) {
    const unsigned char* const from = bytes.data() + used;
    if (packing == kPlain) {
      const size_t count = std::min(room, have - used);
      memcpy(to, from, count);
      used += count;
      return count;
    }
    if (packing == kZstd) {
      ZSTD_inBuffer in{from, have - used, 0};
      ZSTD_outBuffer out{to, room, 0};
      const size_t left = ZSTD_decompressStream(zstd, &out, &in);
      if (ZSTD_isError(left)) what = ZSTD_getErrorName(left);
      in_frame = left != 0;
      used += in.pos;
      return out.pos;
    }
    gzip.next_in = const_cast<unsigned char*>(from);
    gzip.avail_in = static_cast<unsigned>(have - used);
    gzip.next_out = reinterpret_cast<unsigned char*>(to);
    gzip.avail_out = static_cast<unsigned>(room);
    in_frame = true;
    const int result = inflate(&gzip, Z_NO_FLUSH);
    used = have - gzip.avail_in;
    if (result == Z_STREAM_END) {
      in_frame = false;
      inflateReset(&gzip);  // another member may follow
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      what = gzip.msg != nullptr ? gzip.msg : "no data of gzip";
    }
    return room - gzip.avail_out;
  }
};

Lines::Lines() : source_(new Source) {}
Lines::~Lines() = default;

bool Lines::open(const std::string& path) {
  source_->file = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (source_->file < 0 || !source_->read_more()) {
    error_ = strerror(errno);
    return false;
  }
  const unsigned char* const head = source_->bytes.data();
  if (source_->have >= 4 && memcmp(head, kZstdMagic, sizeof kZstdMagic) == 0) {
    source_->packing = Source::kZstd;
    source_->zstd = ZSTD_createDStream();
  } else if (source_->have >= 2 && head[0] == 0x1f && head[1] == 0x8b) {
    source_->packing = Source::kGzip;
    inflateInit2(&source_->gzip, 16 + MAX_WBITS);
  }
  return true;
}

bool Lines::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  for (;;) {
    Source& source = *source_;
    if (source.used == source.have && !source.at_end && !source.holds_more && !source.read_more()) {
      error_ = strerror(errno);
      return false;
    }
    if (source.used == source.have && source.at_end && !source.holds_more) {
      is_over_ = true;
      if (source.in_frame) error_ = "it was cut off";
      return false;
    }
    const size_t before = buffer_.size();
    buffer_.resize(before + kPart);
    const char* what = nullptr;
    const size_t got = source.unpack(buffer_.data() + before, kPart, what);
    buffer_.resize(before + got);
    source.holds_more = got == kPart && source.packing != Source::kPlain;
    if (what != nullptr) {
      error_ = std::string("it does not unpack: ") + what;
      is_over_ = true;
      return false;
    }
    if (got != 0) return true;
  }
}

bool Lines::next(std::string_view& line) {
  if (!error_.empty()) return false;
  size_t from = at_;
  for (;;) {
    const size_t end = buffer_.find('\n', from);
    if (end != std::string::npos) {
      line = std::string_view(buffer_).substr(at_, end - at_);
      at_ = end + 1;
      ++number_;
      return true;
    }
    if (buffer_.size() - at_ > kMostLine) {
      error_ = "line " + std::to_string(number_ + 1) + " has more than a million bytes";
      return false;
    }
    from = buffer_.size() - at_;  // fill() moves the rest to the beginning
    if (is_over_ || !fill()) break;
  }
  if (!error_.empty() || at_ == buffer_.size()) return false;  // half a line of a damaged file is none
  line = std::string_view(buffer_).substr(at_);
  at_ = buffer_.size();
  ++number_;
  return true;
}

}  // namespace acre::trace
