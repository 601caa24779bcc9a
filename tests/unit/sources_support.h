// What tests of memory sources share.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "manual/manual_arena.h"
#include "support.h"

namespace acre {

// A folder of the test's own, with a file system of this type mounted on it; empty() if that is not allowed.
class Folder {
 public:
  explicit Folder(const char* type = nullptr, const char* settings = "") {
    char name[] = "/tmp/acre-sources-XXXXXX";
    path_ = mkdtemp(name);
    if (type == nullptr) return;
    mounted_ = mount("acre", path_.c_str(), type, 0, settings) == 0;
    if (!mounted_) remove();
  }
  ~Folder() { remove(); }
  bool empty() const { return path_.empty(); }
  const char* c_str() const { return path_.c_str(); }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

  size_t used() const {
    struct statfs facts;
    if (statfs(c_str(), &facts) != 0) return 0;
    return (facts.f_blocks - facts.f_bfree) * static_cast<size_t>(facts.f_bsize);
  }
  size_t names() const {
    const std::string count = "test $(ls -A " + path_ + " | wc -l) = ";
    for (int i = 0; i < 100; ++i) {
      if (system((count + std::to_string(i)).c_str()) == 0) return static_cast<size_t>(i);
    }
    return 100;
  }

 private:
  void remove() {
    if (path_.empty()) return;
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
    unlink((path_ + "/file").c_str());
    rmdir(path_.c_str());
    path_.clear();
  }
  std::string path_;
  bool mounted_ = false;
};

struct Maker {
  FileSettings file;
  OnFailure on_failure = OnFailure::kRefuse;

  explicit Maker(const char* path) { file.path = path; }
  ManualArena* make() {
    arenas::ArenaSettings settings;
    settings.file = &file;
    settings.on_failure = on_failure;
    return arenas::create(settings);
  }
};

inline void* allocate(ManualArena* arena, size_t n, bool zeroed = false) {
  return arenas::allocate_in(*arena, n, 1, zeroed);
}

// How many blocks the arena gives; all their pages are written.
inline std::vector<unsigned char*> fill_up(ManualArena* arena, size_t n, size_t most = SIZE_MAX) {
  std::vector<unsigned char*> blocks;
  while (blocks.size() < most) {
    auto* p = static_cast<unsigned char*>(allocate(arena, n));
    if (p == nullptr) break;
    memset(p, static_cast<int>(blocks.size() % 251 + 1), n);
    blocks.push_back(p);
  }
  return blocks;
}
inline void expect_contents(const std::vector<unsigned char*>& blocks, size_t n) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t at = 0; at < n; at += 512) ASSERT_EQ(blocks[i][at], i % 251 + 1) << "block " << i;
  }
}

}  // namespace acre
