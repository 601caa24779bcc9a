#include "sample/python.h"

#include <string.h>

#include <atomic>
#include <initializer_list>

#include "os/module.h"
#include "os/os.h"
#include "pages/metadata.h"

namespace acre::python {

namespace {

// Where the fields lie that lead to a thread's frames and from one to the next.
struct Layout {
  unsigned version = 0;      // 0x030b for 3.11
  size_t thread = 0;         // in a thread's state: its pthread_t
  size_t current = 0;        // in a thread's state: the innermost frame. Before 3.13, what leads there
  size_t frame_in_c = 0;     // before 3.13, in what leads there: the frame
  size_t previous_in_c = 0;  // in 3.11, in what leads there: the same of the calling C function
  size_t code = 0, previous = 0, instruction = 0, owner = 0;  // in a frame
  size_t is_entry = 0;       // in a frame of 3.11: whether a C function begins with it
  CodeLayout in_code = {};
};

constexpr CodeLayout kCode311{112, 128, 136, 72, 184, 0, 48, 72};
constexpr CodeLayout kCode312{112, 128, 136, 68, 192, 92, 40, 56};
constexpr Layout k311{0x030b, 152, 56, 8, 16, 32, 48, 56, 69, 68, kCode311};
constexpr Layout k312{0x030c, 136, 56, 0, 0, 0, 8, 56, 70, 0, kCode312};

// From 3.13 on the runtime begins with a table of its own offsets: _Py_DebugOffsets. These are the places in it.
struct Table {
  unsigned version;
  size_t thread_state, frame, code;
};
constexpr Table kTables[] = {{0x030d, 152, 224, 272}, {0x030e, 176, 248, 312}};

struct Interpreter {
  using ThreadState = Address (*)();
  using IsFinalizing = int (*)();

  Layout layout;
  const void* link_map = nullptr;  // of its module
  Address code_type = 0;
  ThreadState current = nullptr;   // of the thread that holds the interpreter's lock; from 3.12 on, of this thread
  ThreadState own = nullptr;       // of this thread, also without the lock
  IsFinalizing is_finalizing = nullptr;
};

constexpr unsigned kMostWithout = 32;

constinit std::atomic<bool> g_active{false};
constinit std::atomic<const Interpreter*> g_interpreter{nullptr};
constinit std::atomic<Address> g_without[kMostWithout];  // starts of modules that have no interpreter
constinit std::atomic<unsigned> g_turn{0};

constinit Mutex g_lock{Rank::kPython};
constinit Places g_places ACRE_GUARDED_BY(g_lock);

// --- The interpreter ------------------------------------------------------------------------------------------

bool read_table(Reader& reader, Address runtime, const Table& table, Layout* to) {
  constexpr char kCookie[] = "xdebugpy";
  if (!reader.can_read(runtime, table.code + kPageBytes / 4)) return false;
  if (memcmp(pointer_to(runtime), kCookie, sizeof kCookie - 1) != 0) return false;
  const auto field = [&](size_t group, unsigned number) {
    return reader.word(runtime + group + number * sizeof(Address));
  };
  enum { kVersion = 1, kFreeThreaded = 2 };
  if (field(0, kVersion) >> 16 != table.version || field(0, kFreeThreaded) != 0) return false;
  enum { kCurrentFrame = 4, kThreadId = 5 };
  enum { kPrevious = 1, kExecutable, kInstruction, kOwner = 5 };
  enum { kFile = 1, kName = 3, kLineTable, kFirstLine, kBytecode = 9 };
  constexpr size_t kVersionAfterFirstLine = 24;
  const size_t first_line = field(table.code, kFirstLine);
  *to = k312;
  to->version = table.version;
  to->thread = field(table.thread_state, kThreadId);
  to->current = field(table.thread_state, kCurrentFrame);
  to->previous = field(table.frame, kPrevious);
  to->code = field(table.frame, kExecutable);
  to->instruction = field(table.frame, kInstruction);
  to->owner = field(table.frame, kOwner);
  to->in_code.file = field(table.code, kFile);
  to->in_code.name = field(table.code, kName);
  to->in_code.line_table = field(table.code, kLineTable);
  to->in_code.bytecode = field(table.code, kBytecode);
  to->in_code.first_line = first_line;
  to->in_code.version = first_line + kVersionAfterFirstLine;
  return true;
}

bool find_layout(Reader& reader, unsigned version, Address runtime, Layout* to) {
  for (const Layout& layout : {k311, k312}) {
    if (layout.version == version) *to = layout;
  }
  for (const Table& table : kTables) {
    if (table.version == version && !read_table(reader, runtime, table, to)) return false;
  }
  return to->version != 0;
}

template <class Function>
bool look_up(const os::Module& module, Function& function, const char* name, const char* other_name = nullptr) {
  void* found = os::find_exported(module, name);
  if (found == nullptr && other_name != nullptr) found = os::find_exported(module, other_name);
  function = reinterpret_cast<Function>(found);
  return found != nullptr;
}

bool find_in(const os::Module& module, Interpreter* to) {
  const void* runtime;
  const void* version;
  if (!look_up(module, runtime, "_PyRuntime") || !look_up(module, version, "Py_Version")) return false;
  Reader reader;
  return find_layout(reader, reader.number(address_of(version)) >> 16, address_of(runtime), &to->layout) &&
         look_up(module, to->code_type, "PyCode_Type") &&
         look_up(module, to->current, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet") &&
         look_up(module, to->own, "PyGILState_GetThisThreadState") &&
         look_up(module, to->is_finalizing, "Py_IsFinalizing", "_Py_IsFinalizing");
}

bool is_without(Address module) {
  for (const auto& start : g_without) {
    if (start.load(std::memory_order_relaxed) == module) return true;
  }
  return false;
}

// The interpreter is in a module that is on its stack. It is found once; one that is unloaded is not found again.
const Interpreter* find_interpreter(const capture::Frames& frames) {
  static constinit std::atomic<bool> is_found{false};
  static constinit Interpreter interpreter;
  os::CodeObject object;
  for (unsigned i = 0; i < frames.count; ++i) {
    const Address code = frames.address[i];
    if (code - object.start < object.end - object.start) continue;  // in the same module as the frame before
    if (!os::find_object(code, &object) || is_without(object.start)) continue;
    os::Module module;
    Interpreter found;
    if (!os::find_module(code, &module) || !find_in(module, &found)) {
      g_without[g_turn.fetch_add(1, std::memory_order_relaxed) % kMostWithout].store(object.start,
                                                                                     std::memory_order_relaxed);
      continue;
    }
    if (is_found.exchange(true)) return nullptr;
    found.link_map = object.link_map;
    interpreter = found;
    g_interpreter.store(&interpreter, std::memory_order_release);
    return &interpreter;
  }
  return nullptr;
}

bool is_loaded(const Interpreter& interpreter) {
  os::CodeObject object;
  const auto code = reinterpret_cast<Address>(interpreter.own);
  return os::find_object(code, &object) && object.link_map == interpreter.link_map;
}

// Returns 0 if there is none. These functions of CPython read a variable or two; they neither lock nor allocate.
Address thread_state(const Interpreter& interpreter, Reader& reader) {
  const Address thread = os::pthread_of_this_thread();
  const auto is_own = [&](Address state) {
    return state != 0 && reader.word(state + interpreter.layout.thread) == thread;
  };
  const Address current = interpreter.current();
  if (is_own(current)) return current;
  if (interpreter.is_finalizing() != 0) return 0;
  const Address own = interpreter.own();
  return is_own(own) ? own : 0;
}

// --- Frames ---------------------------------------------------------------------------------------------------

struct Found {
  Instruction instruction[kMostFrames];
  unsigned native[kMostFrames];  // for each, which native frame runs it
  unsigned count = 0;
  bool truncated = false;
};

// The native frame that this address on the stack lies in; the number of frames if none is known to.
unsigned frame_around(const capture::Frames& native, Address inside) {
  const Address depth = inside - native.stack_pointer;
  for (unsigned i = 0; i + 1 < native.count; ++i) {
    if (depth < native.depth[i + 1]) return i;
  }
  return native.count;
}

class Walk {
 public:
  Walk(const Interpreter& interpreter, Reader& reader, const capture::Frames& native, Found& to)
      : interpreter_(interpreter), layout_(interpreter.layout), reader_(reader), native_(native), to_(to) {}

  void go(Address state) {
    constexpr unsigned kMostSteps = 1024;  // a chain that goes in circles ends, too
    constexpr uint8_t kOwnedByC = 3;
    const bool is_direct = layout_.version >= 0x030d;
    Address in_c = is_direct ? 0 : reader_.word(state + layout_.current);
    Address frame = reader_.word(is_direct ? state + layout_.current : in_c + layout_.frame_in_c);
    for (unsigned i = 0; i < kMostSteps && frame != 0; ++i) {
      // From 3.12 on, a C function that begins to run Python functions puts a frame without code on its stack.
      if (reader_.byte(frame + layout_.owner) >= kOwnedByC) {
        assign(frame);
      } else {
        if (!add(frame)) return;
        if (layout_.is_entry != 0 && reader_.byte(frame + layout_.is_entry) != 0) {
          assign(in_c);
          in_c = reader_.word(in_c + layout_.previous_in_c);
        }
      }
      frame = reader_.word(frame + layout_.previous);
    }
  }

 private:
  bool add(Address frame) {
    constexpr size_t kType = 8;     // in any object
    constexpr Address kTags = 3;    // from 3.14 on
    const Address code = reader_.word(frame + layout_.code) & ~kTags;
    if (code == 0 || reader_.word(code + kType) != interpreter_.code_type) return true;
    if (to_.count == kMostFrames) {
      to_.truncated = true;
      return false;
    }
    to_.native[to_.count] = native_.count;
    to_.instruction[to_.count++] =
        instruction(reader_, layout_.in_code, code, reader_.word(frame + layout_.instruction));
    return true;
  }

  // What was added since the last call runs in the C function to whose frame this address belongs.
  void assign(Address inside) {
    const unsigned native = frame_around(native_, inside);
    for (; assigned_ < to_.count; ++assigned_) to_.native[assigned_] = native;
  }

  const Interpreter& interpreter_;
  const Layout& layout_;
  Reader& reader_;
  const capture::Frames& native_;
  Found& to_;
  unsigned assigned_ = 0;
};

const Place* add_place(Reader& reader, const CodeLayout& layout, const Instruction& instruction) {
  Description description;
  describe(reader, layout, instruction, &description);
  for (;;) {
    {
      Lock lock(g_lock);
      if (g_places.has_room()) return g_places.find(instruction, description);
    }
    void* memory = metadata::allocate(Places::kRoomBytes);
    if (memory == nullptr) return nullptr;
    Lock lock(g_lock);
    g_places.add_room(memory);
  }
}

}  // namespace

void set_active(bool active) { g_active.store(active); }
bool is_active() { return g_active.load(std::memory_order_relaxed); }

ACRE_NOINLINE void take(const capture::Frames& native, Frames& frames) {
  const Interpreter* interpreter = g_interpreter.load(std::memory_order_acquire);
  if (interpreter == nullptr) interpreter = find_interpreter(native);
  if (interpreter == nullptr || !is_loaded(*interpreter)) return;
  Reader reader;
  const Address state = thread_state(*interpreter, reader);
  if (state == 0) return;
  Found found;
  Walk(*interpreter, reader, native, found).go(state);
  const Place* place[kMostFrames];
  {
    Lock lock(g_lock);
    for (unsigned i = 0; i < found.count; ++i) place[i] = g_places.known(found.instruction[i]);
  }
  for (unsigned i = 0; i < found.count; ++i) {
    if (place[i] == nullptr) place[i] = add_place(reader, interpreter->layout.in_code, found.instruction[i]);
    if (place[i] != nullptr) frames.frame[frames.count++] = Frame(place[i], found.native[i]);
  }
  frames.truncated = found.truncated;
}

void at_fork(ForkStage stage) { g_lock.at_fork(stage); }

}  // namespace acre::python
