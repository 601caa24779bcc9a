#include "guard/handler.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "base/syscall.h"
#include "base/text.h"
#include "cache/upcalls.h"
#include "guard/explain.h"
#include "guard/slots.h"
#include "os/fault.h"
#include "os/os.h"

namespace acre::guard {

namespace {

// The program may set a handler after acre has, and have that one call acre's, which it has replaced. So acre sets
// another function above it, one for each level, and each calls what it has replaced itself.
constexpr unsigned kLevels = 8;
constinit struct sigaction g_replaced[kLevels] = {};
constinit std::atomic<unsigned> g_levels{0};      // so many have been set
constinit std::atomic<bool> g_is_watching{false};  // a thread is in watch_for_faults()
constinit std::atomic<ThreadToken> g_telling{kNoThread};
constinit std::atomic<const void*> g_told{nullptr};  // the context of the fault that was told last

// --- The report -----------------------------------------------------------------------------------------------

void add_access(Text& text, os::Access access, Address a) {
  const bool is_known = access != os::Access::kUnknown;
  text.add("acre: ").add(!is_known ? "access to " : access == os::Access::kWrite ? "write to " : "read from ").hex(a).add(": ");
}

void add_bytes(Text& text, size_t n) { text.decimal(n).add(n == 1 ? " byte" : " bytes"); }

void add_place(Text& text, Address a, const Where& at) {
  const Address block = at.block, end = block + at.bytes;
  const bool is_live = !at.is_free;
  if (a >= block && a < end) {
    text.add(is_live ? "use after free, of a block whose place is in use again: it is " : "use after free: it is ");
    add_bytes(text, a - block);
    text.add(" into");
  } else {
    text.add(a < block ? "underflow: it is " : "overflow: it is ");
    add_bytes(text, a < block ? block - a : a - end + 1);
    text.add(a < block ? " before the start of" : " past the end of");
  }
  text.add(is_live ? " a block of " : " a freed block of ").decimal(at.bytes).add(" bytes at ").hex(block);
}

bool find_guarded(Address a, Where* where) {
  if (find(pointer_to(a), where)) return true;
  return hardened::is_on() && hardened::find_guarded(pointer_to(a), where);
}

// where: null if no block was beside the address yet. Threads tell one after the other. A thread that waits for long goes on without a report.
void tell(Address a, const Where* where, const void* context) {
  constexpr int kMostWaits = 1000;
  const struct timespec millisecond = {0, 1000000};
  ThreadToken nobody = kNoThread;
  for (int i = 0; !g_telling.compare_exchange_strong(nobody, this_thread()); ++i, nobody = kNoThread) {
    if (nobody == this_thread() || i == kMostWaits) return;
    raw_syscall(SYS_nanosleep, reinterpret_cast<long>(&millisecond), 0);
  }
  Line<300> text;
  add_access(text, os::access_at_fault(context), a);
  if (where != nullptr) {
    add_place(text, a, *where);
  } else {
    text.add("it is beside guarded blocks, of which none was here yet");
  }
  text.add('\n');
  write_all(2, text.c_str(), text.size());
  if (os::has_stack_for_report(context)) write_interrupted_stack(os::code_at_fault(context));
  if (slots::has(a)) write_stacks_of(a);
  g_telling.store(kNoThread);
}

// --- Handing on ------------------------------------------------------------------------------------------------

// The access is made again when the handler returns, and ends the program where it happened. A signal that was sent
// comes again then.
void end_by_default(int number, const siginfo_t* info) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(number, &action, nullptr);
  if (info->si_code <= 0) raw_syscall(SYS_tgkill, getpid(), static_cast<long>(os::thread_number()), number);
}

// Calls the program's handler if it has one. Its mask and SA_NODEFER are in force already: acre's handler has them.
void hand_on(const struct sigaction& to, int number, siginfo_t* info, void* context) {
  const bool is_fault = info->si_code > 0;
  const auto handler = to.sa_handler;
  if (handler == SIG_IGN && !is_fault) return;
  if (handler == SIG_DFL || handler == SIG_IGN) return end_by_default(number, info);
  (to.sa_flags & SA_SIGINFO) != 0 ? to.sa_sigaction(number, info, context) : handler(number);
}

bool is_function(const struct sigaction& action) { return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN; }

void handle(unsigned level, int number, siginfo_t* info, void* context) {
  const int error = errno;
  const Address a = address_of(info->si_addr);
  Where where;
  const bool is_fault = info->si_code > 0;
  const bool is_found = is_fault && find_guarded(a, &where);
  struct sigaction to = g_replaced[level];
  // A live block's page can be read and written, unless the program has protected it, which its handler knows.
  const bool is_programs = is_found && !where.is_free && a - where.block < where.bytes && is_function(to);
  const bool is_guards = !is_programs && (is_found || (is_fault && slots::has(a)));
  const Address code = os::code_at_fault(context);
  // The highest level is called by the kernel; a lower one may be called by the program's handler, for the same fault.
  const bool is_told = level + 1 < g_levels.load() && g_told.load() == context;
  if (is_guards && !is_told) {
    g_told.store(context);
    tell(a, is_found ? &where : nullptr, context);
  }
  if ((to.sa_flags & SA_RESETHAND) != 0) g_replaced[level].sa_handler = SIG_DFL;
  hand_on(to, number, info, context);
  if (is_guards && os::code_at_fault(context) == code) end_by_default(number, info);  // else there would be no end
  errno = error;
}

template <unsigned kLevel>
void on_fault(int number, siginfo_t* info, void* context) {
  handle(kLevel, number, info, context);
}

// --- Setting it ------------------------------------------------------------------------------------------------

using Handler = void (*)(int, siginfo_t*, void*);

// Found by comparisons: a table of pointers would have to be relocated in every process.
template <size_t... kLevel>
Handler handler_of(unsigned level, std::index_sequence<kLevel...>) {
  Handler found = nullptr;
  (void)((kLevel == level && (found = on_fault<kLevel>, true)) || ...);
  return found;
}
Handler handler_of(unsigned level) { return handler_of(level, std::make_index_sequence<kLevels>()); }

bool is_acres(const struct sigaction& action) {
  for (unsigned level = 0; level < g_levels.load(); ++level) {
    if (action.sa_sigaction == handler_of(level)) return true;
  }
  return false;
}

void set_above(const struct sigaction& replaced) {
  const unsigned level = g_levels.load();
  if (level == kLevels) return;  // the program sets handlers again and again
  g_replaced[level] = replaced;
  struct sigaction action = {};
  action.sa_sigaction = handler_of(level);
  action.sa_mask = replaced.sa_mask;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | (replaced.sa_flags & (SA_NODEFER | SA_RESTART));
  g_levels.store(level + 1);
  struct sigaction last;  // another one if another thread has set it meanwhile
  if (sigaction(SIGSEGV, &action, &last) == 0 && last.sa_handler != replaced.sa_handler) g_replaced[level] = last;
}

}  // namespace

void watch_for_faults() {
  if (g_is_watching.exchange(true)) return;
  struct sigaction now;
  if (sigaction(SIGSEGV, nullptr, &now) == 0 && !is_acres(now)) set_above(now);
  g_is_watching.store(false);
}

void forget_other_threads() {
  g_is_watching.store(false);
  g_telling.store(kNoThread);
}

}  // namespace acre::guard
