// Files of the system's that a test makes up.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "os/cgroup.h"

namespace acre::test {

// While it lives, the files that os/cgroup.h reads are looked for below a folder of its own.
class MadeUpFiles {
 public:
  MadeUpFiles() {
    char name[] = "/tmp/acre-files-XXXXXX";
    folder_ = mkdtemp(name);
    os::testing::use_files_below(folder_.c_str());
  }
  ~MadeUpFiles() {
    os::testing::use_files_below(nullptr);
    std::filesystem::remove_all(folder_);
  }
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole = folder_ + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }

 private:
  std::string folder_;
};

}  // namespace acre::test
