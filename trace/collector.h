// Takes filled blocks of recorded programs out of the shared memory and writes them to a file.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "skim.h"
#include "output.h"
#include "proc.h"
#include "shared.h"

namespace acre::trace {

struct CollectOptions {
  std::string path;
  uint64_t limit = 0;  // bytes; 0: none
  double seconds = 0;  // 0: until the program ends
  uint32_t stack_every = 0;
  std::string preload;  // the program's LD_PRELOAD
  std::string conf;     // its ACRE_CONF, without the option record
  std::string command;  // how the command acre is called, for what people read
  bool attach = false;  // the program runs already, and is told by somebody else
  std::vector<std::string> program;
};

class Collector {
 public:
  explicit Collector(const CollectOptions& options);
  ~Collector();

  // False: a line was said.
  bool begin();
  std::string setting() const;                     // PID/FD, by which a program finds the shared memory
  void set_program(pid_t pid) { program_ = pid; }  // the child, whose end is told by program_ended()
  void program_ended(int status);                  // as of wait()

  // Takes what is there, and waits for more, 10 ms at most.
  void turn();
  bool is_over();  // nothing records any more, or the recording has failed
  void finish();   // takes what lies in blocks that are not filled, and closes the file
  void report();   // on stderr

  // From a signal handler.
  void interrupt();
  ino_t inode() const;
  bool has_seen_any() const { return processes_seen_ != 0; }
  bool has_failed() const { return has_failed_; }

 private:
  // False: the process that is asked to join may refuse. Nothing is written then, so that an earlier recording stays.
  bool has_begun() const { return !options_.attach || has_seen_any(); }
  template <class Sample>
  struct Samples {
    std::vector<Sample> kept;
    Sample seen{};          // the last one
    uint64_t kept_ns = 0;   // when one was kept last
    bool is_seen_kept = true;
  };
  struct Process {
    unsigned slot;
    uint32_t number;
    uint32_t parent;
    pid_t pid;
    int pidfd = -1;
    uint64_t start_ticks;
    Identity identity;
    uint32_t program = 0;  // ProcessHeader::program
    std::string exe, arguments;  // JSON
    std::string about;           // JSON
    std::string executable;  // mappings, to see changes
    std::string mappings;
    uint64_t next_mappings_ns = 0;
    uint64_t kept_since_ns = 0;                                    // the process says that it has ended, and runs
    uint64_t gone_since_ns = 0;                                    // it has ended, and nobody can say yet how
    std::map<uint32_t, std::pair<uint32_t, std::string>> threads;  // of lanes that are in use: number, name
    std::vector<uint8_t> stacks;                                   // events kStackIs; only with a bound
    std::unordered_set<uint64_t> stack_numbers;                    // of those
    Samples<MemorySample> memory;
    Samples<OthersSample> others;
    uint64_t next_others_ns = 0;
  };

  bool look_for_processes();
  bool look_at_lanes(bool all);
  void look_for_lanes();
  bool take_blocks(unsigned lane);
  void take_last_block(unsigned lane);
  void write_block(Process& process, unsigned lane, uint32_t number, uint32_t used);
  void free_lane(unsigned lane);
  Process* find(uint32_t number);
  void begin_process(unsigned slot);
  void end_process(Process& process, Ending ending, uint32_t status);
  void end_by_status(Process& process, uint64_t now);
  void look_for_ends();
  void housekeeping();
  void sample_memory();
  void sample(Process& process, uint64_t now);
  void sample_others(Process& process, uint64_t now);
  template <class Sample>
  void keep(Samples<Sample>& samples, const Sample& found, uint64_t now);
  void write_samples(Process& process);
  void write_mappings(Process& process, bool even_if_the_same);
  void write_about(Process& process);
  void write_thread(Process& process, uint32_t lane);
  void begin_time();
  void write_clock();
  void checkpoint();
  void fail_if_output_did();
  void watch_ends();

  const CollectOptions& options_;
  SharedMemory shared_;
  Output output_;
  std::vector<uint8_t> copy_;
  std::map<uint32_t, Process> processes_;  // by number
  std::array<uint32_t, record::kMostProcesses> number_in_slot_;
  std::map<pid_t, int> statuses_;      // of children
  std::vector<unsigned> lanes_;        // those in use
  uint64_t lanes_begun_ = UINT64_MAX;  // of all processes, when lanes_ was made
  uint64_t next_housekeeping_ns_ = 0;
  uint64_t next_tick_ns_ = 0;
  uint64_t next_samples_ns_ = 0;
  uint64_t next_clock_ns_ = 0;
  uint64_t began_ns_ = 0;
  uint64_t over_since_ns_ = 0;
  uint64_t events_ = 0, raw_bytes_ = 0, processes_seen_ = 0, lost_ = 0;
  bool has_failed_ = false;
  bool is_finished_ = false;
  std::atomic<bool> look_for_ends_{true};  // one may have ended
  pid_t program_ = 0;
  int epoll_ = -1;
  std::thread watcher_;
};

int collect(const CollectOptions& options);  // the exit code

}  // namespace acre::trace
