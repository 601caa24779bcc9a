// What /proc says of a process. All of it may be gone at any time: then what is returned is empty.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acre::trace {

std::string read_all(const std::string& path);
std::string proc_file(pid_t pid, const char* name);  // "/proc/PID/NAME"

// As JSON has it. Bytes that are no UTF-8 become \udcXX, as Python's surrogateescape has them.
std::string json_string(std::string_view text);

struct Statm {
  uint64_t mapped, resident, shared;  // bytes
};
std::optional<Statm> statm_of(pid_t pid);

// Of resident memory that is neither shared nor a file's, bytes that cannot be an allocator's, from the text of
// /proc/PID/smaps: pages of mappings that have a name and were written to, and of those directly behind one, which are
// variables without a value.
uint64_t others_in(std::string_view smaps);

struct Identity {            // of the program that a process runs: an exec changes it
  uint64_t start_time = 0;   // of the process, in clock ticks after boot
  uint64_t start_stack = 0;  // 0: not to be seen
  char state = 0;
};
std::optional<Identity> identity_of(pid_t pid);

// The lines of /proc/PID/maps that name a file, and the build ids of those that hold code.
std::string mappings_of(pid_t pid, const std::string& maps);
std::string executable_lines(const std::string& maps);

struct CodeOfFile {
  uint64_t offset, address, bytes;  // in the file; as it counts addresses itself
};
// What of an ELF file is loaded to be executed. Empty: it is none, or there is none.
std::vector<CodeOfFile> code_of(const std::string& path);

// The bytes of a build id in hexadecimal, or nothing.
std::string build_id_of(const std::string& path);

// How a process ended, that need not be a child: its status as of wait(). Systems before Linux 6.15 do not tell.
std::optional<int> status_by_pidfd(int pidfd);

// A process of this user that began less than `age_s` ago has `setting` in its environment, or the file with this inode
// in its memory, and is not `except`.
bool a_program_may_come(std::string_view setting, ino_t inode, double age_s, pid_t except);

}  // namespace acre::trace
