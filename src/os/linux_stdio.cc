// The C library's lock on its list of open files.
#include "os/os.h"

// Only glibc has them, in no header. A thread may take the lock several times.
extern "C" {
[[gnu::weak]] void _IO_list_lock();
[[gnu::weak]] void _IO_list_unlock();
[[gnu::weak]] void _IO_list_resetlock();
[[gnu::weak]] extern char __libc_single_threaded;
}

namespace acre::os {

namespace {

constinit unsigned g_held = 0;  // how often; written by the thread that has the lock

}  // namespace

bool is_alone() { return &__libc_single_threaded != nullptr && __libc_single_threaded; }

void lock_list_of_files() {
  if (_IO_list_lock == nullptr || _IO_list_unlock == nullptr || _IO_list_resetlock == nullptr) return;
  if (is_alone()) return;  // a single thread waits for no other, and in its child the C library leaves the lock alone
  _IO_list_lock();
  ++g_held;
}

void unlock_list_of_files() {
  if (g_held == 0) return;
  --g_held;
  _IO_list_unlock();
}

void forget_list_of_files() {
  if (g_held != 0) _IO_list_resetlock();
  g_held = 0;
}

}  // namespace acre::os
