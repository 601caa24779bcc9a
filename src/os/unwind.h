// The platform's part of stack capture: an unwinder, the stack's bounds, and reads that cannot fault.
#pragma once

#include "base/units.h"

namespace acre::os {

struct UnwindContext;  // the unwinder's

// libgcc's unwinder (or another library's with the same functions), as in its header unwind.h. From glibc 2.35 and
// libgcc 12 on it walks stacks without allocation and locks. In programs that registered code by __register_frame it
// takes a lock and may allocate with it held.
struct Unwinder {
  using Visit = int (*)(UnwindContext* frame, void* argument);  // returns 0 to go on
  int (*walk)(Visit visit, void* argument) = nullptr;           // null: there is no unwinder
  // The frame's place in the code. Sets *is_interrupted to other than 0 if a signal interrupted the frame there.
  Address (*code)(UnwindContext* frame, int* is_interrupted) = nullptr;
  Address (*stack_pointer)(UnwindContext* frame) = nullptr;               // at that place: the CFA of the callee
  Address (*saved_register)(UnwindContext* frame, int number) = nullptr;  // a register that callees save
};

// Whether the program, or a library that it was started with, has an unwinder, as C++ programs do. Takes no lock.
bool has_unwinder();

// Looks for an unwinder. Unless has_unwinder(), this function opens a library, which allocates and takes the loader's
// lock: call it with no lock held.
Unwinder find_unwinder();

// The mapping of the program or of one library.
struct CodeObject {
  Address start = 0;
  Address end = 0;
  const void* link_map = nullptr;  // the loader's
};

// Finds the object that contains this address. False: none does, as for code made at run time; or it is not known
// (glibc before 2.35; a static program without libgcc's unwinder). Takes no lock; async-signal-safe.
bool find_object(Address code, CodeObject* object);

// The end of the calling thread's stack that `inside` is on, without a system call. 0: acre does not know the stack,
// for instance one for signals.
Address stack_end(Address inside);

// Whether the page of this address is readable.
bool is_readable(Address a);

// What a thread knows of its own stack: the words of [from, end) are readable while it lives. Another stack on which the
// thread runs, a coroutine's, ends at a page that cannot be read, or is not the thread's for ever.
struct OwnStack {
  Address from = 0;
  Address end = 0;
  Address gap = 0;  // a page above the stack pointer that could not be read

  bool has(Address stack_pointer) const { return stack_pointer - from < end - from; }
  // Whether that holds for [stack_pointer, stack_end). Asks for pages that were not asked for before.
  bool reaches(Address stack_pointer, Address stack_end);
};

// The same for aligned words. Asks once for consecutive words of a page.
class ReadablePages {
 public:
  explicit ReadablePages(Address readable) : last_(align_down(readable, kPageBytes)) {}

  bool reads(Address word) {
    const Address page = align_down(word, kPageBytes);
    if (page == last_) return true;
    if (!is_readable(page)) return false;
    last_ = page;
    return true;
  }

 private:
  Address last_;
};

// Whether this address is in acre's code. False if acre is part of the program.
bool is_own_code(Address a);

// The library's mapping, variables included. Empty if acre is part of the program.
struct OwnImage {
  Address start = 0;
  Address end = 0;
};
OwnImage own_image();

}  // namespace acre::os
