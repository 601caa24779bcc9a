// What stack capture asks of the platform: an unwinder, the stack's bounds, and reads that cannot fault.
#pragma once

#include "base/units.h"

namespace acre::os {

struct UnwindContext;  // the unwinder's

// libgcc's unwinder (or another library's with the same functions), as its header unwind.h has them. With glibc from 2.35
// and libgcc from 12 on it allocates nothing while it walks the stack, and takes no lock; but for programs that have
// registered code by __register_frame: then it takes one, and may allocate with it held.
struct Unwinder {
  using Visit = int (*)(UnwindContext* frame, void* argument);  // 0: go on
  int (*walk)(Visit visit, void* argument) = nullptr;           // null: there is no unwinder
  // Where the frame goes on. *is_interrupted is not 0 if the frame was interrupted there by a signal.
  Address (*code)(UnwindContext* frame, int* is_interrupted) = nullptr;
  Address (*stack_pointer)(UnwindContext* frame) = nullptr;  // where the frame goes on: the callee's CFA
  Address (*saved_register)(UnwindContext* frame, int number) = nullptr;  // one that callees save
};

// Looks for one. Opens a library, and so allocates: call it with no lock held, at start-up.
Unwinder find_unwinder();

// What is mapped of the program or of one library.
struct CodeObject {
  Address start = 0;
  Address end = 0;
  const void* link_map = nullptr;  // the loader's
};

// The one that this address is in. False: none, as for code made at run time; or nobody can tell (glibc before 2.35, or
// a static program without libgcc's unwinder). Takes no lock; for signal handlers as well.
bool find_object(Address code, CodeObject* object);

// The end of the stack that this address of the calling thread lies on, as far as can be told without a system call; 0:
// no stack known to acre, such as one for signals.
Address stack_end(Address inside);

// Whether the page of this address can be read.
bool is_readable(Address a);

// The same for aligned words, without asking twice in a row for a page.
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

// Whether this address is in acre's code. Always false where acre is part of the program.
bool is_own_code(Address a);

// Where the library is mapped, its variables included. Empty where acre is part of the program.
struct OwnImage {
  Address start = 0;
  Address end = 0;
};
OwnImage own_image();

}  // namespace acre::os
