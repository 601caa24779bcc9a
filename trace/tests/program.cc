// A program that records as one on acre does (fake_recorder.h), by the option record in ACRE_CONF: program.cc WHAT …
//
//   threads COUNT EVENTS   threads that allocate, those of 600 bytes with a stack, and free each other's blocks
//   slow SECONDS           a thread that allocates now and then
//   kill EVENTS            the same as threads 2, and ends by SIGKILL in the midst of it
//   fork EVENTS            a child frees what its parent has allocated, while another thread of the parent goes on
//   exec EVENTS            becomes `threads 1 EVENTS`
//   daemon SECONDS         leaves a process behind that allocates, and ends
//   disorder EVENTS        as threads 2, but takeovers of one lane are left out
//   exit CODE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <thread>

#include "fake_recorder.h"

using namespace acre::trace;
using namespace acre::trace::testing;

namespace {

struct Live {
  uint64_t address, size;
};

// Blocks that wait for a thread to free them.
class Pool {
 public:
  void put(Live block) {
    const std::lock_guard guard(mutex_);
    blocks_.push_back(block);
  }
  bool take(Live& block, unsigned random) {
    const std::lock_guard guard(mutex_);
    if (blocks_.empty()) return false;
    const size_t at = random % blocks_.size();
    block = blocks_[at];
    blocks_[at] = blocks_.back();
    blocks_.pop_back();
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<Live> blocks_;
};

void work(FakeProcess& process, Addresses& addresses, Pool& pool, long events, unsigned seed, bool plant, bool ends,
          std::atomic<bool>* stop = nullptr) {
  FakeLane lane(process);
  const uint64_t stack = lane.number() + 1;
  lane.other([](Encoder& encoder) { encoder.text(acre::record::Op::kName, "worker"); });
  lane.other([&](Encoder& encoder) { encoder.stack_is(stack, {stack << 12, 0x500}); });
  for (long i = 0; i < events && (stop == nullptr || !stop->load()); ++i) {
    lane.leave_takeovers_out = plant && i > events / 2;
    seed = seed * 1664525 + 1013904223;
    const unsigned random = seed >> 8;
    Live block;
    if (random % 5 < 2 && pool.take(block, random)) {
      lane.free(block.address);  // before another thread can get it
      addresses.give_back(block.address, block.size);
    } else {
      block.size = 1 + random % 600;
      block.address = addresses.take(block.size);
      lane.allocate(block.size, block.address, block.size == 600 ? stack : UINT64_MAX);
      pool.put(block);
    }
  }
  if (ends) lane.end();
}

void run_threads(FakeProcess& process, int count, long events, bool plant = false) {
  Addresses addresses;
  Pool pool;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] { work(process, addresses, pool, events, 7u + i, plant && i == 1, true); });
  }
  for (std::thread& thread : threads) thread.join();
}

int fork_one(FakeProcess& process, const SharedMemory& shared, long events) {
  Addresses addresses;
  Pool pool;
  FakeLane lane(process);
  std::vector<Live> blocks;
  for (long i = 0; i < events; ++i) {
    const Live block{addresses.take(64), 64};
    lane.allocate(64, block.address);
    blocks.push_back(block);
  }
  const uint32_t parent = process.header->number;
  const uint32_t number = lane.block(), used = lane.used();  // before the parent goes on
  const pid_t child = fork();
  if (child == 0) {
    FakeProcess forked(shared, parent);
    FakeLane own(forked);
    own.other([&](Encoder& encoder) { encoder.cut(lane.number(), number, used); });
    for (const Live& block : blocks) {
      own.free(block.address);
      own.allocate(32, block.address);
    }
    own.end();
    forked.header->state.store(acre::record::ProcessState::kEnded);
    _exit(3);
  }
  for (const Live& block : blocks) lane.free(block.address);
  int status;
  waitpid(child, &status, 0);
  lane.end();
  return WEXITSTATUS(status);
}

}  // namespace

int main(int count, char** words) {
  const char* const conf = getenv("ACRE_CONF");
  const char* const at = conf == nullptr ? nullptr : strstr(conf, "record:");
  int collector, file;
  if (count < 2 || at == nullptr || sscanf(at, "record:%d/%d", &collector, &file) != 2) return 99;
  SharedMemory shared;
  if (!shared.open(("/proc/" + std::to_string(collector) + "/fd/" + std::to_string(file)).c_str())) return 98;
  if (shared.header().magic.load() != acre::record::kMagic) return 97;
  FakeProcess process(shared, acre::record::kNoProcess);
  const std::string what = words[1];
  const long number = count > 2 ? atol(words[count - 1]) : 0;
  int code = 0;
  if (what == "threads" || what == "disorder") {
    run_threads(process, what == "threads" ? atoi(words[2]) : 2, number, what == "disorder");
  } else if (what == "kill") {
    Addresses addresses;
    Pool pool;
    for (int i = 0; i < 2; ++i) {
      std::thread([&, i] { work(process, addresses, pool, 1 << 30, 7u + i, false, false); }).detach();
    }
    while (process.header->takeovers.load() < static_cast<uint64_t>(number)) usleep(100);
    kill(getpid(), SIGKILL);
  } else if (what == "slow") {
    Addresses addresses;
    Pool pool;
    FakeLane lane(process);
    for (int i = 0; i < number * 100; ++i) {
      lane.allocate(64, addresses.take(64));
      if (i == 20) dprintf(STDOUT_FILENO, "some events\n");
      usleep(10000);
    }
    lane.end();
    dprintf(STDOUT_FILENO, "all\n");
  } else if (what == "fork") {
    code = fork_one(process, shared, number);
  } else if (what == "fork, when told") {
    char told;
    dprintf(STDOUT_FILENO, "ready\n");
    if (read(STDIN_FILENO, &told, 1) == 1) code = fork_one(process, shared, number);
    dprintf(STDOUT_FILENO, "done\n");
  } else if (what == "exec") {
    FakeLane lane(process);
    lane.allocate(10, 0x7f0000000000);
    execl("/proc/self/exe", words[0], "threads", "1", words[2], nullptr);
  } else if (what == "daemon") {
    if (fork() == 0) {
      FakeProcess forked(shared, process.header->number);
      setsid();
      FakeLane lane(forked);
      for (int i = 0; i < number * 100; ++i) {
        lane.allocate(64, 0x7f0000000000 + 64 * static_cast<uint64_t>(i));
        usleep(10000);
      }
      lane.end();
      _exit(0);
    }
    code = 5;
  } else if (what == "exit") {
    code = static_cast<int>(number);
  }
  process.header->state.store(acre::record::ProcessState::kEnded);
  return code;
}
