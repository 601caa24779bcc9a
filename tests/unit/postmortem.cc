// sample/postmortem.h: what a process that SIGKILL ends has left in its file. tests/survive has whole programs.
#include "sample/postmortem.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "os/os.h"
#include "sample/python.h"

namespace acre {
namespace {

namespace fs = std::filesystem;

// --- What the processes write ---------------------------------------------------------------------------------

// Functions f0, f1, … in the files folder/f0.py, …, each of one line, 100 and more.
class Functions {
 public:
  explicit Functions(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      const std::string name = "f" + std::to_string(i);
      texts_.push_back(std::make_unique<std::string[]>(2));
      texts_[i][0] = name;
      texts_[i][1] = "folder/" + name + ".py";
      functions_.push_back(std::make_unique<python::Function>(
          python::Function{texts_[i][0].c_str(), texts_[i][1].c_str(), 100 + i, 0, nullptr}));
      places_.push_back(std::make_unique<python::Place>(python::Place{functions_[i].get(), 100 + i, 0, 0, nullptr}));
    }
  }
  const python::Place* operator[](size_t i) const { return places_[i].get(); }

 private:
  std::vector<std::unique_ptr<std::string[]>> texts_;
  std::vector<std::unique_ptr<python::Function>> functions_;
  std::vector<std::unique_ptr<python::Place>> places_;
};

class Writer {
 public:
  Writer() { stacks_.set_buckets(buckets_.data()); }

  // A stack of these native frames, whose third and fourth run Python functions.
  profile::Stack& stack(Address first, unsigned native, const std::vector<const python::Place*>& python) {
    profile::Trace trace;
    trace.native.count = native;
    trace.native.truncated = false;
    for (unsigned i = 0; i < native; ++i) trace.native.address[i] = first + i;
    for (const python::Place* place : python) {
      const unsigned number = trace.python.count++;
      trace.python.frame[number] = python::Frame(place, number == 0 ? 2 : 3);
    }
    if (!stacks_.has_room()) {
      rooms_.emplace_back(new uint64_t[kRoom / sizeof(uint64_t)]());
      stacks_.add_room(rooms_.back().get(), kRoom);
    }
    return *stacks_.find(trace);
  }
  void write(profile::Stack& stack) {
    if (postmortem::lacks_room()) postmortem::make_room();
    postmortem::write(stack, 1, stacks_.first());
  }
  // Stack i has f(i) and f(i + 1), and i blocks.
  void write_many(const Functions& functions, unsigned from, unsigned to) {
    for (unsigned i = from; i < to; ++i) {
      profile::Stack& stack = this->stack(0x1000 * (i + 1), 6, {functions[i], functions[i + 1]});
      stack.sums.live.blocks = i;
      write(stack);
    }
  }

 private:
  static constexpr size_t kRoom = size_t{1} << 20;
  std::vector<profile::Stack*> buckets_ = std::vector<profile::Stack*>(profile::Stacks::kBuckets);
  std::vector<std::unique_ptr<uint64_t[]>> rooms_;
  profile::Stacks stacks_;
};

// --- What is left ---------------------------------------------------------------------------------------------

struct KeptRow {
  std::vector<Address> native;
  std::vector<std::pair<std::string, unsigned>> python;  // name file:line, and by which native frame
  uint64_t live = 0;
};

struct Kept {
  postmortem::State state = {};
  postmortem::Growth growth = {};
  uint32_t left_out = 0;
  size_t bytes = 0;
  std::vector<std::string> places;
  std::vector<KeptRow> rows;
  bool is_whole = true;  // what is before rows_end is entries, and rows have only places that are before them
};

Kept parse(const std::string& file) {
  using namespace postmortem;
  Kept kept;
  kept.bytes = file.size();
  const auto* head = reinterpret_cast<const Head*>(file.data());
  kept.state = head->state.load();
  kept.growth = head->growth.load();
  kept.left_out = head->left_out.load();
  std::map<uint32_t, std::string> places;
  size_t at = kRows;
  for (const size_t end = head->rows_end.load(); at < end;) {
    const auto* entry = reinterpret_cast<const Entry*>(file.data() + at);
    if (end > file.size() || end - at < sizeof(Entry) || entry->bytes < sizeof(Entry) || entry->bytes > end - at) break;
    if (entry->kind == EntryKind::kPlaceText) {
      const auto* text = reinterpret_cast<const PlaceText*>(entry);
      const auto* letters = reinterpret_cast<const char*>(text + 1);
      kept.places.push_back(std::string(letters, text->name_bytes) + " " +
                            std::string(letters + text->name_bytes, text->file_bytes) + ":" +
                            std::to_string(text->line));
      places[static_cast<uint32_t>(at)] = kept.places.back();
    } else {
      const auto* row = reinterpret_cast<const Row*>(entry);
      const auto* native = reinterpret_cast<const Address*>(row + 1);
      const auto* python = reinterpret_cast<const PythonFrame*>(native + row->frames);
      KeptRow copy{{native, native + row->frames}, {}, row->sums.live.blocks};
      for (unsigned i = 0; i < row->python_frames; ++i) {
        kept.is_whole &= places.contains(python[i].place);
        copy.python.emplace_back(places[python[i].place], python[i].native);
      }
      kept.rows.push_back(copy);
    }
    at += entry->bytes;
  }
  kept.is_whole &= at == head->rows_end.load();
  return kept;
}

std::string place_of(unsigned i) {
  const std::string name = "f" + std::to_string(i);
  return name + " folder/" + name + ".py:" + std::to_string(100 + i);
}

// As Writer::write_many() wrote it.
bool is_row(const KeptRow& row, unsigned i) {
  return row.native.size() == 6 && row.native[0] == 0x1000 * (i + 1) && row.native[5] == row.native[0] + 5 &&
         row.python == std::vector<std::pair<std::string, unsigned>>{{place_of(i), 2}, {place_of(i + 1), 3}};
}

class Postmortem : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/acre-postmortem-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    python::set_active(true);
  }
  void TearDown() override {
    python::set_active(false);
    fs::remove_all(folder_);
  }

  // Runs it in a process that ends by SIGKILL, and returns its number. The file is the process's own alone.
  pid_t begin(const std::function<void()>& body) {
    const pid_t child = fork();
    if (child != 0) return child;
    if (postmortem::start(folder_.c_str()) != 0) _exit(1);
    body();
    raise(SIGKILL);
    _exit(1);
  }
  static void end(pid_t process) {
    int status = 0;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  }
  // What a process left; nothing if there is no whole head yet.
  Kept left(pid_t process) const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().string().find("." + std::to_string(process) + ".") == std::string::npos) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      std::stringstream text;
      text << file.rdbuf();
      const std::string bytes = text.str();
      if (bytes.size() > postmortem::kRows && bytes.compare(0, 8, "acrepost") == 0) return parse(bytes);
    }
    return {};
  }
  Kept run(const std::function<void()>& body) {
    const pid_t process = begin(body);
    end(process);
    return left(process);
  }

  std::string folder_;
};

TEST_F(Postmortem, HasEachPlaceOnceAndBeforeTheRowsThatHaveIt) {
  const Functions functions(4);
  const Kept kept = run([&] {
    Writer writer;
    writer.write(writer.stack(0x1000, 5, {functions[1], functions[0]}));
    writer.write(writer.stack(0x2000, 7, {functions[2], functions[1], functions[1]}));
    writer.write(writer.stack(0x3000, 3, {}));
    profile::Stack& first = writer.stack(0x1000, 5, {functions[1], functions[0]});
    first.sums.live.blocks = 77;
    writer.write(first);
  });
  ASSERT_TRUE(kept.is_whole);
  EXPECT_EQ(kept.state, postmortem::State::kRunning);
  EXPECT_EQ(kept.places, (std::vector{place_of(1), place_of(0), place_of(2)}));
  ASSERT_EQ(kept.rows.size(), 3u);
  using Python = std::vector<std::pair<std::string, unsigned>>;
  EXPECT_EQ(kept.rows[0].python, (Python{{place_of(1), 2}, {place_of(0), 3}}));
  EXPECT_EQ(kept.rows[0].live, 77u);
  EXPECT_EQ(kept.rows[1].python, (Python{{place_of(2), 2}, {place_of(1), 3}, {place_of(1), 3}}));
  EXPECT_EQ(kept.rows[1].native.size(), 7u);
  EXPECT_EQ(kept.rows[2].python, Python{});
  EXPECT_EQ(kept.rows[2].native, (std::vector<Address>{0x3000, 0x3001, 0x3002}));
}

TEST_F(Postmortem, GrowsAndLosesNothing) {
  constexpr unsigned kStacks = 5000;
  const Functions functions(kStacks + 1);
  const Kept kept = run([&] { Writer().write_many(functions, 0, kStacks); });
  ASSERT_TRUE(kept.is_whole);
  EXPECT_EQ(kept.growth, postmortem::Growth::kGoesOn);
  EXPECT_EQ(kept.left_out, 0u);
  EXPECT_EQ(kept.places.size(), kStacks + 1);
  ASSERT_EQ(kept.rows.size(), kStacks);
  for (unsigned i = 0; i < kStacks; ++i) {
    ASSERT_TRUE(is_row(kept.rows[i], i)) << i;
    ASSERT_EQ(kept.rows[i].live, i);
  }
}

TEST_F(Postmortem, OfAChildOfForkHasAllStacksThatItInherited) {
  constexpr unsigned kStacks = 5000;
  const Functions functions(kStacks + 2);
  const Kept kept = run([&] {
    Writer writer;
    writer.write_many(functions, 0, kStacks);
    const pid_t child = fork();
    if (child == 0) {
      writer.write_many(functions, kStacks, kStacks + 1);
      raise(SIGKILL);
    }
    int status;
    waitpid(child, &status, 0);
    const Kept of_child = left(child);
    bool is_right = of_child.is_whole && of_child.rows.size() == kStacks + 1 && of_child.left_out == 0;
    for (unsigned i = 0; is_right && i < kStacks + 1; ++i) is_right = is_row(of_child.rows[i], i);
    if (!is_right) _exit(2);
  });
  EXPECT_EQ(kept.rows.size(), kStacks);  // the parent's file has nothing of its child's
}

void (*g_at_fork)() = nullptr;
Writer* g_writer = nullptr;
void* g_page = nullptr;
pid_t g_forked = -1;

void write_77(unsigned i) {
  profile::Stack& stack = g_writer->stack(0x1000 * (i + 1), 6, {});
  stack.sums.live.blocks = 77;
  g_writer->write(stack);
}

bool ended_by_kill(pid_t process) {
  int status = 0;
  return waitpid(process, &status, 0) == process && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

// A handler that was registered before the profiler's comes before it.
TEST_F(Postmortem, OfAParentHasNothingOfTheChildsHandlers) {
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    if (g_at_fork != nullptr) g_at_fork();
  });
  ASSERT_EQ(registered, 0);
  const Kept kept = run([&] {
    Writer writer;
    g_writer = &writer;
    for (unsigned i = 0; i < 2; ++i) writer.write(writer.stack(0x1000 * (i + 1), 6, {}));
    g_at_fork = [] { write_77(0); };
    const pid_t child = fork();
    if (child == 0) {
      write_77(1);
      raise(SIGKILL);
    }
    const bool is_killed = ended_by_kill(child);
    const Kept of_child = left(child);
    if (!is_killed || !of_child.is_whole || of_child.rows.size() != 2) _exit(2);
    if (of_child.rows[0].live != 77 || of_child.rows[1].live != 77) _exit(3);
    for (const auto& entry : fs::directory_iterator(folder_)) {  // it has gone on with the handler's file
      if (entry.path().string().find("." + std::to_string(child) + ".1.") != std::string::npos) _exit(4);
    }
  });
  ASSERT_EQ(kept.rows.size(), 2u);
  EXPECT_EQ(kept.rows[0].live, 0u);
}

// The write reads a page that cannot be read, and the handler forks. The write goes on in the child, too.
TEST_F(Postmortem, AHandlerThatInterruptsAWriteMayFork) {
  constexpr unsigned kStacks = 200, kInterrupted = 100;
  const Kept kept = run([&] {
    Writer writer;
    g_writer = &writer;
    for (unsigned i = 0; i < kStacks; ++i) writer.write(writer.stack(0x1000 * (i + 1), 6, {}));
    profile::Stack& stack = writer.stack(0x1000 * (kInterrupted + 1), 6, {});
    stack.sums.live.blocks = 5;
    g_page = pointer_to(align_down(address_of(&stack), os::page_bytes()));
    struct sigaction action = {};
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    action.sa_handler = [](int) {
      mprotect(g_page, 2 * os::page_bytes(), PROT_READ | PROT_WRITE);
      g_forked = fork();
    };
    sigaction(SIGSEGV, &action, nullptr);
    mprotect(g_page, 2 * os::page_bytes(), PROT_NONE);
    postmortem::write(stack, 1, nullptr);
    if (g_forked == 0) {
      write_77(kInterrupted);
      raise(SIGKILL);
    }
    const bool is_killed = ended_by_kill(g_forked);
    const Kept of_child = left(g_forked);
    if (!is_killed || !of_child.is_whole || of_child.rows.size() != kStacks) _exit(2);
    for (const KeptRow& row : of_child.rows) {
      if (row.live != (row.native[0] == 0x1000 * (kInterrupted + 1) ? 77 : 0)) _exit(3);
    }
  });
  ASSERT_TRUE(kept.is_whole);
  ASSERT_EQ(kept.rows.size(), kStacks);
  EXPECT_EQ(kept.rows[kInterrupted].live, 5u);
}

// As seen by a reader at any moment, so also by one after a SIGKILL at this moment.
TEST_F(Postmortem, IsWholeAtEachMoment) {
  constexpr unsigned kFirst = 1000, kStacks = 30000;
  const Functions functions(kStacks + 1);
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  // The process waits in between, so that it is seen at work however slow the reader is.
  const pid_t process = begin([&] {
    close(go[1]);
    Writer writer;
    writer.write_many(functions, 0, kFirst);
    char byte;
    if (read(go[0], &byte, 1) != 1) _exit(3);
    writer.write_many(functions, kFirst, kStacks);
  });
  size_t before = 0;
  unsigned seen = 0;
  for (int status = 0; waitpid(process, &status, WNOHANG) == 0;) {
    const Kept kept = left(process);
    ASSERT_TRUE(kept.is_whole);
    ASSERT_GE(kept.rows.size(), before);
    seen += kept.rows.size() != before;
    if (before < kFirst && kept.rows.size() >= kFirst) {
      ASSERT_EQ(write(go[1], "", 1), 1);
    }
    before = kept.rows.size();
    for (unsigned i = 0; i < kept.rows.size(); ++i) ASSERT_TRUE(is_row(kept.rows[i], i)) << i;
  }
  close(go[0]);
  close(go[1]);
  EXPECT_GT(seen, 0u);
  EXPECT_EQ(left(process).rows.size(), kStacks);
}

TEST_F(Postmortem, SaysHowManyStacksAreLeftOutWhenTheDiskIsFull) {
  constexpr unsigned kStacks = 5000;
  const Functions functions(kStacks + 1);
  const Kept kept = run([&] {
    os::testing::refuse_requests(0, 1000000);
    Writer writer;
    writer.write_many(functions, 0, kStacks);
    writer.write_many(functions, 0, kStacks);  // those that are left out are counted once
    profile::Stack& first = writer.stack(0x1000, 6, {functions[0], functions[1]});
    first.sums.live.blocks = 77;
    writer.write(first);
    if (!postmortem::is_on()) _exit(2);  // there is room for statistics
  });
  ASSERT_TRUE(kept.is_whole);
  EXPECT_EQ(kept.growth, postmortem::Growth::kRefused);
  ASSERT_GT(kept.rows.size(), 100u);
  EXPECT_EQ(kept.rows.size() + kept.left_out, kStacks);
  EXPECT_EQ(kept.rows[0].live, 77u);
}

TEST_F(Postmortem, IsBounded) {
  const Functions functions(python::kMostFrames);
  std::vector<const python::Place*> deep;
  for (unsigned i = 0; i < python::kMostFrames; ++i) deep.push_back(functions[i]);
  constexpr unsigned kStacks = 60000;
  const Kept kept = run([&] {
    Writer writer;
    profile::Stack& stack = writer.stack(0x1000, capture::kMostFrames, deep);
    for (unsigned i = 0; i < kStacks; ++i) {
      stack.row_file = 0;  // as if it were another one
      writer.write(stack);
    }
  });
  ASSERT_TRUE(kept.is_whole);
  EXPECT_EQ(kept.bytes, postmortem::kMostBytes);
  EXPECT_EQ(kept.growth, postmortem::Growth::kAtMost);
  EXPECT_EQ(kept.rows.size() + kept.left_out, kStacks);
  EXPECT_GT(kept.left_out, 0u);
  ASSERT_EQ(kept.rows.back().python.size(), python::kMostFrames);
  EXPECT_EQ(kept.rows.back().python.back().first, place_of(python::kMostFrames - 1));
}

}  // namespace
}  // namespace acre
