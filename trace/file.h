// The trace file: a header, chunks one after another, and at the end an index of them. docs/trace-format.md describes
// it byte by byte. A file that was cut off has no index: the reader then walks the chunks themselves. What is
// damaged is left out and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace acre::trace {

inline constexpr char kFileMagic[8] = {'\x89', 'A', 'C', 'R', 'E', '\r', '\n', '\x1a'};
inline constexpr uint32_t kFileVersion = 3;  // of what is written; less is read
inline constexpr uint32_t kChunkMagic = 0x4b484341;            // "ACHK"
inline constexpr uint64_t kTrailerMagic = 0x31444e4545524341;  // "ACREEND1"
inline constexpr uint32_t kNone = UINT32_MAX;

enum class ChunkType : uint16_t {
  kEvents = 1,        // a lane's block: the bytes after BlockHeader
  kProcessStart = 2,  // JSON; `lane`: the parent's number or kNone; first_ticks: its start
  kThread = 3,        // the thread's name; `block`: the kernel's number of the thread
  kProcessEnd = 4,    // nothing; `lane`: an Ending; `block`: exit code or signal; first_ticks: when it was seen
  kClock = 5,         // ClockPair …
  kMemory = 6,        // MemorySample …
  kMappings = 7,      // text: lines of /proc/PID/maps that name a file, and "build-id HEX PATH"
  kIndex = 8,         // IndexEntry …; the last chunk
  kStacks = 9,        // events kStackIs alone, that stood in segments dropped since
  kNames = 10,        // of an import: text, a line an address, of what another tool knew of it
  kOthers = 11,       // OthersSample …
};

enum class Ending : uint32_t {
  kUnknown = 0,  // it has ended; nobody could see how
  kExit = 1,     // by exit(), or by _exit() if the code could be seen
  kSignal = 2,
  kExec = 3,     // it became another program
  kRuns = 4,     // it still ran when the recording ended
  kStopped = 5,  // it ran on, and its recording was stopped
};

inline constexpr uint16_t kCompressed = 1;  // a chunk's flag: the payload is a frame of zstd
inline constexpr uint16_t kDamaged = 2;  // the events cannot be decoded to their end: the program has overwritten them

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;  // 64
  uint8_t recording[16];  // random: the same in all segments
  uint64_t realtime_ns;   // CLOCK_REALTIME when the recording began
  uint32_t segment;       // 0: a whole file; 1 …: a segment of a recording with a bound
  uint32_t stack_every;   // as in SharedHeader
  uint8_t reserved[12];
  uint32_t crc32;  // of the 60 bytes before it
};
static_assert(sizeof(FileHeader) == 64);

struct ChunkHeader {
  uint32_t magic = kChunkMagic;
  ChunkType type = ChunkType::kEvents;
  uint16_t flags = 0;
  uint32_t stored_bytes = 0;
  uint32_t raw_bytes = 0;
  uint32_t payload_crc32 = 0;  // of what is stored
  uint32_t process = kNone;
  uint32_t lane = kNone;
  uint32_t block = kNone;
  uint64_t first_ticks = 0;
  uint64_t last_ticks = 0;
  uint64_t seen = 0;    // kEvents: BlockHeader::seen
  uint32_t events = 0;  // allocations, frees and resizes
  uint32_t crc32 = 0;   // of the 60 bytes before it
};
static_assert(sizeof(ChunkHeader) == 64);

struct IndexEntry {
  uint64_t offset;
  ChunkHeader header;
};
static_assert(sizeof(IndexEntry) == 72);

struct Trailer {
  uint64_t index_offset;
  uint32_t reserved;
  uint32_t crc32;  // of the 12 bytes before it
  uint64_t magic;
};
static_assert(sizeof(Trailer) == 24);

struct ClockPair {
  uint64_t ticks, monotonic_ns, realtime_ns;
};

struct MemorySample {
  uint64_t ticks, mapped, resident, shared;  // bytes, as in /proc/PID/statm
};

struct OthersSample {
  uint64_t ticks, bytes;  // of others_of() in proc.h
};

inline constexpr uint32_t kMostPayload = 256u << 20;  // raw bytes of a chunk

uint32_t crc32_of(const void* data, size_t bytes);

// --- Writing ----------------------------------------------------------------------------------------------------

// Appends chunks to a file. After a failure it takes the file back to its last whole chunk, and refuses all further
// ones.
class Writer {
 public:
  Writer();
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Makes the file, or empties it. False: see error().
  bool open(const std::string& path, const FileHeader& header);
  // Fills the header's sizes and checksums in.
  bool write(ChunkHeader header, std::span<const uint8_t> payload);
  bool write(const ChunkHeader& header, std::string_view payload);
  // Writes the index and the trailer, and closes.
  bool finish();

  int error() const { return error_; }       // an errno
  uint64_t bytes() const { return bytes_; }  // of the file by now
  // Whether what follows is compressed in half the time, to 1.3 times the size.
  void hurry(bool on) { level_ = on ? kHurriedLevel : kLevel; }

 private:
  bool append(const void* head, size_t head_bytes, const void* rest, size_t rest_bytes);

  int file_ = -1;
  int error_ = 0;
  static constexpr int kLevel = 1, kHurriedLevel = -3;  // zstd's
  int level_ = kLevel;
  uint64_t bytes_ = 0;
  std::vector<IndexEntry> index_;
  std::vector<uint8_t> buffer_;
  struct Compressor;
  std::unique_ptr<Compressor> compressor_;
};

FileHeader new_file_header(uint32_t stack_every);

// --- Reading ----------------------------------------------------------------------------------------------------

// The paths of a recording's segments: "PATH.00000001" …, in order; also if PATH itself is one of them.
std::vector<std::string> segments_of(const std::string& path);

struct Chunk {
  ChunkHeader header;
  uint64_t offset;
  uint32_t file;  // which of the segments
};

// All chunks of a recording. Opened by the path of a file, or by the path that was given to `acre record --limit`,
// whose segments have numbers behind it.
class Reader {
 public:
  Reader();
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // False: error() is a line that says why.
  bool open(const std::string& path);
  // The payload as it was before compression. False: it is damaged.
  bool read(const Chunk& chunk, std::vector<uint8_t>& payload);

  const std::string& error() const { return error_; }
  const FileHeader& header() const { return header_; }
  // By files, and in each as they stand there, without kIndex.
  const std::vector<Chunk>& chunks() const { return chunks_; }
  bool has_index() const { return has_index_; }              // all files have
  uint64_t damaged_bytes() const { return damaged_bytes_; }  // that belong to no chunk
  uint64_t file_bytes() const { return file_bytes_; }
  bool is_bounded() const { return header_.segment != 0; }  // the beginning may have been dropped

 private:
  struct File;
  bool add(const std::string& path, bool first);
  bool read_index(uint32_t number);
  void walk(uint32_t number);

  std::string error_;
  FileHeader header_{};
  std::vector<std::unique_ptr<File>> files_;
  std::vector<Chunk> chunks_;
  bool has_index_ = true;
  uint64_t damaged_bytes_ = 0;
  uint64_t file_bytes_ = 0;
  std::vector<uint8_t> stored_;
  struct Decompressor;
  std::unique_ptr<Decompressor> decompressor_;
};

}  // namespace acre::trace
