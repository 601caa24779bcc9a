// acre's own threads, and how they sleep.
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/syscall.h"
#include "base/text.h"
#include "os/os.h"

namespace acre::os {

namespace {

// Enough for handlers at exit if this is the last thread of the process. Not all of it is touched.
constexpr size_t kStackBytes = size_t{256} << 10;

// thread null: detached.
int create(void* (*body)(void*), size_t stack_bytes, pthread_t* thread) {
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error != 0) return error;
  if (thread == nullptr) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t made;
  error = pthread_create(&made, &attributes, body, nullptr);
  pthread_attr_destroy(&attributes);
  if (error == 0 && thread != nullptr) *thread = made;
  return error;
}

}  // namespace

bool start_thread(void* (*body)(void*)) { return start_thread(body, nullptr); }

bool start_thread(void* (*body)(void*), unsigned long* thread) {
  static_assert(sizeof(pthread_t) == sizeof *thread);
  const int saved_errno = errno;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits it
  int error = create(body, kStackBytes, thread);
  if (error == EINVAL) error = create(body, 0, thread);  // the program's static TLS needs a larger stack
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = saved_errno;
  return error == 0;
}

void join_thread(unsigned long thread) {
  const int saved_errno = errno;
  pthread_join(thread, nullptr);
  errno = saved_errno;
}

void read_thread_name(char (&name)[kNameBytes]) { raw_syscall(SYS_prctl, PR_GET_NAME, reinterpret_cast<long>(name)); }
void name_this_thread(const char* name) { raw_syscall(SYS_prctl, PR_SET_NAME, reinterpret_cast<long>(name)); }
unsigned long pthread_of_this_thread() { return pthread_self(); }

static void wait(const std::atomic<uint32_t>& word, uint32_t value, uint64_t ms, int operation) {
  struct timespec time = {static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000 * 1000000)};
  const bool forever = ms / 1000 >= INT_MAX;
  raw_syscall(SYS_futex, reinterpret_cast<long>(&word), operation, static_cast<long>(value),
              forever ? 0 : reinterpret_cast<long>(&time));
}

void wait_while(const std::atomic<uint32_t>& word, uint32_t value, uint64_t ms) {
  wait(word, value, ms, FUTEX_WAIT_PRIVATE);
}
void wait_while_shared(const std::atomic<uint32_t>& word, uint32_t value, uint64_t ms) {
  wait(word, value, ms, FUTEX_WAIT);
}

void wake(const std::atomic<uint32_t>& word) {
  raw_syscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE_PRIVATE, INT_MAX);
}
void wake_shared(const std::atomic<uint32_t>& word) {
  raw_syscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE, INT_MAX);
}

bool is_running(uint32_t process) {
  Line<40> path;
  path.add("/proc/").decimal(process).add("/stat");
  char text[1024];
  const long bytes = read_file(path.c_str(), text, sizeof text - 1);
  if (bytes < 0) return false;
  text[bytes] = '\0';
  const char* state = strrchr(text, ')');  // the name before it may have any characters
  return state != nullptr && state[1] != '\0' && state[2] != 'Z' && state[2] != 'X';
}

}  // namespace acre::os
