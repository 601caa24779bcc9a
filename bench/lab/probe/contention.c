/* Counts the cache lines that move between processors while a program runs under qemu-user: a plugin for
 * qemu-x86_64, driven by ../contention.py.
 *
 *   -plugin contention.so,out=FILE,processors=N,step=K,library=PATH[:PATH...],enter=HEX[:HEX...]
 *
 * Threads advance in lockstep. One runs at a time; when it is K instructions ahead of the slowest it waits for that
 * one. A thread has a processor for life: an idle one when it is born, else that of the thread which started it. Each
 * processor has a cache without limit. A transfer is a load of a line that another processor wrote since this one last
 * had it, or a store to a line that another processor has. The process's clock goes on by a nanosecond an instruction.
 *
 * A transfer belongs to the allocator if the instruction lies in its library, or in the C library on behalf of its
 * library. For glibc's own malloc the allocator begins at its entry points (enter, as offsets in the C library) and ends
 * where the program's code goes on. The process is shown N processors.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What is used of QEMU's plugin interface, as its manual documents it. Debian has no package with the header. */
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*tb_trans_cb)(uint64_t id, struct qemu_plugin_tb *tb);
typedef void (*exec_cb)(unsigned vcpu, void *data);
typedef void (*mem_cb)(unsigned vcpu, uint32_t info, uint64_t address, void *data);
typedef void (*syscall_cb)(uint64_t id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
                           uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8);
typedef void (*syscall_ret_cb)(uint64_t id, unsigned vcpu, int64_t number, int64_t result);
enum { NO_REGISTERS = 0, READS_AND_WRITES = 3 };
extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, tb_trans_cb cb);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, exec_cb cb, int flags, void *data);
extern void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_cb cb, int flags, int rw, void *data);
extern void qemu_plugin_register_vcpu_syscall_cb(uint64_t id, syscall_cb cb);
extern void qemu_plugin_register_vcpu_syscall_ret_cb(uint64_t id, syscall_ret_cb cb);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
extern void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
extern unsigned qemu_plugin_mem_size_shift(uint32_t info);
extern bool qemu_plugin_mem_is_store(uint32_t info);

#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION 1
#endif
#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = PLUGIN_VERSION;

enum { MOST_PROCESSORS = 64, MOST_THREADS = 20000, LINE_BITS = 6, PAGE_BITS = 12, TABLE_BITS = 18 };
enum { TABLE = 1 << TABLE_BITS, LINES_A_PAGE = 1 << (PAGE_BITS - LINE_BITS) };
enum { MOST_RANGES = 512, MOST_ENTRIES = 32, TOP_LINES = 64 };

static void die(const char *what) {
  fprintf(stderr, "contention: %s\n", what);
  _exit(1);
}

static void *zeroed(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (memory == NULL) die("no memory for the simulation");
  return memory;
}

/* --- What the command said -------------------------------------------------------------------------------- */

static const char *g_out, *g_libraries = "";
static unsigned g_processors = 2, g_step = 20;
static uint64_t g_entries[MOST_ENTRIES];
static unsigned g_entry_count;

/* --- Code: whose it is ------------------------------------------------------------------------------------ */

enum owner { PROGRAM, ALLOCATOR, EITHER };  /* EITHER: the C library, on behalf of whoever called it */

struct range {
  uint64_t begin, end, offset;
  enum owner owner;
  char path[256];
};
static struct range g_ranges[MOST_RANGES];
static unsigned g_range_count;
static uint64_t g_guest_base;
static pthread_mutex_t g_code_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_listed(const char *path) {
  const size_t length = strlen(path);
  for (const char *at = g_libraries; (at = strstr(at, path)) != NULL; ++at) {
    if ((at == g_libraries || at[-1] == ':') && (at[length] == 0 || at[length] == ':')) return true;
  }
  return false;
}

static void read_ranges(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) die("/proc/self/maps cannot be read");
  char text[1024];
  g_range_count = 0;
  while (g_range_count < MOST_RANGES && fgets(text, sizeof text, maps) != NULL) {
    struct range *range = &g_ranges[g_range_count];
    unsigned long begin, end, offset;
    char path[sizeof range->path] = "";
    if (sscanf(text, "%lx-%lx %*s %lx %*s %*s %255[^\n]", &begin, &end, &offset, path) < 4 || path[0] != '/') continue;
    const char *name = strrchr(path, '/') + 1;
    *range = (struct range){begin - g_guest_base, end - g_guest_base, offset, PROGRAM, ""};
    memcpy(range->path, path, sizeof path);
    if (strncmp(name, "libc.so", 7) == 0 || strncmp(name, "ld-linux", 8) == 0) range->owner = EITHER;
    /* QEMU is linked with a C library of its own, which the program does not run. */
    if (is_listed(path)) range->owner = ALLOCATOR;
    ++g_range_count;
  }
  fclose(maps);
}

static const struct range *range_of(uint64_t address) {
  for (unsigned at = 0; at < g_range_count; ++at) {
    if (address >= g_ranges[at].begin && address < g_ranges[at].end) return &g_ranges[at];
  }
  return NULL;
}

static bool is_entry(uint64_t address, const struct range *range) {
  const uint64_t in_file = address - range->begin + range->offset;
  for (unsigned at = 0; at < g_entry_count; ++at) {
    if (g_entries[at] == in_file) return true;
  }
  return false;
}

static enum owner owner_of(uint64_t address) {
  const struct range *range = range_of(address);
  if (range == NULL) {
    read_ranges();
    range = range_of(address);
  }
  if (range == NULL) return PROGRAM;
  return range->owner == EITHER && is_entry(address, range) ? ALLOCATOR : range->owner;
}

/* --- Threads: one runs at a time -------------------------------------------------------------------------- */

enum state { GONE, READY, BLOCKED };

struct thread {
  enum state state;
  unsigned number, processor;
  bool in_allocator;
  uint64_t clock, limit;       /* instructions; where it has to wait for others */
  uint64_t child_tid;          /* the futex that the kernel wakes when the thread ends */
  uint64_t waits_for;          /* the futex it is blocked on */
  uint64_t arguments[4];       /* of the system call that it is in */
  bool wakes;                  /* other threads, by that call */
  bool expected;               /* one of those that g_expected counts */
  uint32_t turn;               /* 1: it may run */
};

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread *g_threads[MOST_THREADS];
static unsigned g_thread_count, g_first;    /* threads before g_first are gone */
static struct thread *g_holder;             /* who runs */
static int g_expected;                      /* threads that are about to be ready: nobody runs before they are */
static struct thread *g_parent;             /* whose child is on its way */
static uint64_t g_child_tid;
static uint64_t g_switches, g_surprises;
static uint64_t g_now;                      /* the clock of whoever ran last */
static bool g_active;                       /* the first thread has ended: see contention_start.c */
static __thread struct thread *t_self;

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout) {
  return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

/* With the lock. The ready thread that is behind most may run, until it is a step ahead of the next. */
static void choose(void) {
  if (g_holder != NULL || g_expected > 0) return;
  while (g_first < g_thread_count && g_threads[g_first]->state == GONE) ++g_first;
  struct thread *best = NULL;
  uint64_t next = UINT64_MAX;
  for (unsigned at = g_first; at < g_thread_count; ++at) {
    struct thread *thread = g_threads[at];
    if (thread->state != READY) continue;
    if (best == NULL || thread->clock < best->clock) {
      if (best != NULL) next = best->clock;
      best = thread;
    } else if (thread->clock < next) {
      next = thread->clock;
    }
  }
  if (best == NULL) return;
  best->limit = next == UINT64_MAX ? UINT64_MAX : next + g_step;
  g_holder = best;
  __atomic_store_n(&best->turn, 1, __ATOMIC_RELEASE);
  futex(&best->turn, FUTEX_WAKE, 1, NULL);
}

/* Without the lock. */
static void wait_for_turn(struct thread *self) {
  const struct timespec patience = {2, 0};
  while (__atomic_load_n(&self->turn, __ATOMIC_ACQUIRE) == 0) {
    if (futex(&self->turn, FUTEX_WAIT, 0, &patience) == 0 || errno != ETIMEDOUT) continue;
    pthread_mutex_lock(&g_lock);
    if (g_holder == NULL && g_expected > 0) {  /* who was expected does not come */
      ++g_surprises;
      g_expected = 0;
      choose();
    }
    pthread_mutex_unlock(&g_lock);
  }
}

/* By the calling thread, which runs: so many of those that wait for a futex are about to be ready. -> any? */
static bool expect_waiters(uint64_t address, uint64_t most) {
  pthread_mutex_lock(&g_lock);
  uint64_t waiting = 0;
  for (unsigned at = g_first; at < g_thread_count; ++at) {
    struct thread *thread = g_threads[at];
    if (thread->state != BLOCKED || thread->waits_for != address) continue;
    thread->expected = true;
    ++waiting;
  }
  g_expected += (int)(waiting < most ? waiting : most);
  pthread_mutex_unlock(&g_lock);
  return waiting > 0;
}

static void expect_child(int count) {
  pthread_mutex_lock(&g_lock);
  g_expected += count;
  pthread_mutex_unlock(&g_lock);
}

/* With the lock. */
static void has_come(struct thread *self) {
  if (!self->expected || g_expected <= 0 || --g_expected > 0) return;
  for (unsigned at = g_first; at < g_thread_count; ++at) g_threads[at]->expected = false;
}

/* The calling thread, which runs, lets others go on and stays in this state. */
static void leave(struct thread *self, enum state state) {
  pthread_mutex_lock(&g_lock);
  self->state = state;
  self->turn = 0;
  g_now = self->clock;
  g_holder = NULL;
  ++g_switches;
  choose();
  pthread_mutex_unlock(&g_lock);
}

static void let_others_run(struct thread *self) {
  leave(self, READY);
  wait_for_turn(self);
}

/* The calling thread did not run, and wants to. */
static void arrive(struct thread *self) {
  pthread_mutex_lock(&g_lock);
  self->state = READY;
  self->waits_for = 0;
  has_come(self);
  const uint64_t now = g_holder != NULL ? g_holder->clock : g_now;
  if (self->clock < now) self->clock = now;
  if (g_holder != NULL && g_holder->limit > self->clock + g_step) g_holder->limit = self->clock + g_step;
  choose();
  pthread_mutex_unlock(&g_lock);
  wait_for_turn(self);
}

static unsigned processor_for(const struct thread *parent) {
  uint64_t busy = 0;
  for (unsigned at = g_first; at < g_thread_count; ++at) {
    if (g_threads[at]->state == READY) busy |= UINT64_C(1) << g_threads[at]->processor;
  }
  for (unsigned at = 0; at < g_processors; ++at) {
    if ((busy >> at & 1) == 0) return at;
  }
  return parent != NULL ? parent->processor : 0;
}

static struct thread *self_thread(void) {
  if (t_self != NULL) return t_self;
  struct thread *self = zeroed(1, sizeof *self);
  pthread_mutex_lock(&g_lock);
  if (g_thread_count == MOST_THREADS) die("the program starts more threads than the simulation can hold");
  self->number = g_thread_count;
  self->processor = processor_for(g_parent);
  self->clock = g_now;
  self->child_tid = g_child_tid;
  self->state = BLOCKED;
  self->expected = true;
  g_threads[g_thread_count++] = self;
  pthread_mutex_unlock(&g_lock);
  t_self = self;
  arrive(self);
  return self;
}

/* --- Lines ------------------------------------------------------------------------------------------------ */

struct site {  /* an instruction */
  uint64_t address;
  struct site *next;
  uint64_t counts[2][2][2];  /* [in the allocator][a store][of a line that the program has touched] */
};

struct line {
  uint64_t has;       /* a bit for each processor */
  struct site *last;  /* that moved it */
  uint32_t moves, allocator_moves;
  int8_t writer;      /* 1 + the processor that wrote it last; 0: none */
  bool program_touched;
};

static struct line **g_tables[TABLE];
static struct site *g_sites;
static uint64_t g_counts[2][2];  /* [in the allocator][a store] */
static uint64_t g_accesses[2], g_instructions;

static struct line *line_of(uint64_t number) {
  const uint64_t page = number / LINES_A_PAGE;
  struct line ***table = &g_tables[page >> TABLE_BITS & (TABLE - 1)];
  if (*table == NULL) *table = zeroed(TABLE, sizeof **table);
  struct line **lines = &(*table)[page & (TABLE - 1)];
  if (*lines == NULL) *lines = zeroed(LINES_A_PAGE, sizeof **lines);
  return &(*lines)[number % LINES_A_PAGE];
}

static void touch(struct thread *self, struct site *site, struct line *line, bool store) {
  const uint64_t own = UINT64_C(1) << self->processor;
  const int8_t writer = (int8_t)(self->processor + 1);
  const bool moves = store ? (line->has & ~own) != 0
                           : (line->has & own) == 0 && line->writer != 0 && line->writer != writer;
  if (moves) {
    const bool mine = self->in_allocator;
    ++g_counts[mine][store];
    ++site->counts[mine][store][line->program_touched];
    ++line->moves;
    line->allocator_moves += mine;
    line->last = site;
  }
  if (store) {
    line->has = own;
    line->writer = writer;
  } else {
    line->has |= own;
  }
  if (!self->in_allocator) line->program_touched = true;
}

/* The kernel takes these pages, and gives others in their place: nobody has their lines. */
static void forget(uint64_t address, uint64_t length) {
  for (uint64_t page = address >> PAGE_BITS, end = (address + length) >> PAGE_BITS; page < end; ++page) {
    struct line **table = g_tables[page >> TABLE_BITS & (TABLE - 1)];
    if (table == NULL) {
      page |= TABLE - 1;
      continue;
    }
    struct line *lines = table[page & (TABLE - 1)];
    for (unsigned at = 0; lines != NULL && at < LINES_A_PAGE; ++at) {
      lines[at].has = 0;
      lines[at].writer = 0;
      lines[at].program_touched = false;
    }
  }
}

/* --- What QEMU calls -------------------------------------------------------------------------------------- */

struct block {
  uint32_t instructions;
  enum owner owner;
};

static void on_block(unsigned vcpu, void *data) {
  (void)vcpu;
  if (!g_active) return;
  const struct block *block = data;
  struct thread *self = t_self != NULL ? t_self : self_thread();
  if (block->owner != EITHER) self->in_allocator = block->owner == ALLOCATOR;
  if (self->clock > self->limit) let_others_run(self);
  self->clock += block->instructions;
  g_instructions += block->instructions;
}

static void on_access(unsigned vcpu, uint32_t info, uint64_t address, void *data) {
  (void)vcpu;
  struct thread *self = t_self;
  if (self == NULL) return;
  const bool store = qemu_plugin_mem_is_store(info);
  const uint64_t last = address + (UINT64_C(1) << qemu_plugin_mem_size_shift(info)) - 1;
  ++g_accesses[self->in_allocator];
  for (uint64_t number = address >> LINE_BITS; number <= last >> LINE_BITS; ++number) {
    touch(self, data, line_of(number), store);
  }
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb) {
  (void)id;
  pthread_mutex_lock(&g_code_lock);
  struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
  g_guest_base = (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(first) - qemu_plugin_insn_vaddr(first);
  struct block *block = zeroed(1, sizeof *block);
  block->instructions = (uint32_t)qemu_plugin_tb_n_insns(tb);
  block->owner = owner_of(qemu_plugin_insn_vaddr(first));
  qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, NO_REGISTERS, block);
  for (unsigned at = 0; at < block->instructions; ++at) {
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, at);
    struct site *site = zeroed(1, sizeof *site);
    site->address = qemu_plugin_insn_vaddr(insn);
    site->next = g_sites;
    g_sites = site;
    qemu_plugin_register_vcpu_mem_cb(insn, on_access, NO_REGISTERS, READS_AND_WRITES, site);
  }
  pthread_mutex_unlock(&g_code_lock);
}

static void write_results(void);

static bool is_futex(const uint64_t *arguments, int one, int other) {
  const int operation = (int)(arguments[1] & FUTEX_CMD_MASK);
  return operation == one || operation == other;
}

/* Does the call wait? Where it does not, the thread goes on without letting others run. */
static bool blocks(int64_t number, const uint64_t *arguments) {
  switch (number) {
    case SYS_futex:
      if (!is_futex(arguments, FUTEX_WAIT, FUTEX_WAIT_BITSET)) return is_futex(arguments, FUTEX_LOCK_PI, -1);
      return *(const volatile uint32_t *)(uintptr_t)(arguments[0] + g_guest_base) == (uint32_t)arguments[2];
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_pause:
    case SYS_wait4:
    case SYS_rt_sigtimedwait:
      return true;
    default:
      return false;
  }
}

static void on_syscall(uint64_t id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
                       uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8) {
  (void)id, (void)vcpu, (void)a5, (void)a6, (void)a7, (void)a8;
  if (!g_active) {
    g_active = number == SYS_exit;
    return;
  }
  struct thread *self = self_thread();
  memcpy(self->arguments, (uint64_t[]){a1, a2, a3, a4}, sizeof self->arguments);
  self->wakes = false;
  if (number == SYS_futex && is_futex(self->arguments, FUTEX_WAKE, FUTEX_WAKE_BITSET)) {
    self->wakes = expect_waiters(a1, a3);
  }
  switch (number) {
    case SYS_exit_group:  /* QEMU's own way out would wait for threads that wait here */
      write_results();
      _exit((int)a1);
    case SYS_exit:
      expect_waiters(self->child_tid, 1);
      leave(self, GONE);
      return;
    case SYS_munmap:
      forget(a1, a2);
      return;
    case SYS_mmap:
      if ((a4 & MAP_FIXED) != 0) forget(a1, a2);
      return;
    case SYS_madvise:
      if (a3 == MADV_DONTNEED) forget(a1, a2);
      return;
    case SYS_clone:
      g_parent = self;
      g_child_tid = a4;
      expect_child(1);
      return;
    default:
      if (!blocks(number, self->arguments)) return;
      self->waits_for = number == SYS_futex ? a1 : 0;
      leave(self, BLOCKED);
  }
}

static bool is_time(uint64_t clock) {
  return clock <= CLOCK_BOOTTIME && clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_THREAD_CPUTIME_ID;
}

/* By the real clock, what an allocator does by time would happen a thousand times too often: the simulation is slow. */
static void show_time(struct timespec *time, clockid_t clock, uint64_t instructions) {
  static struct timespec first[CLOCK_BOOTTIME + 1];
  const uint64_t second = 1000000000;
  struct timespec *from = &first[clock];
  if (from->tv_sec == 0) *from = *time;
  const uint64_t nanoseconds = (uint64_t)from->tv_nsec + instructions;
  *time = (struct timespec){from->tv_sec + (time_t)(nanoseconds / second), (long)(nanoseconds % second)};
}

static void on_result(uint64_t id, unsigned vcpu, int64_t number, int64_t result) {
  (void)id, (void)vcpu;
  struct thread *self = t_self;
  if (self == NULL) return;  /* a call from before */
  if (self->state == BLOCKED) {
    arrive(self);
    return;
  }
  const uint64_t *arguments = self->arguments;
  if (number == SYS_clone || self->wakes) {
    if (number == SYS_clone && result < 0) expect_child(-1);
    let_others_run(self);
  } else if (number == SYS_sched_getaffinity && result > 0) {
    uint64_t mask = g_processors == 64 ? UINT64_MAX : (UINT64_C(1) << g_processors) - 1;
    memset((void *)(uintptr_t)(arguments[2] + g_guest_base), 0, (size_t)result);
    memcpy((void *)(uintptr_t)(arguments[2] + g_guest_base), &mask, sizeof mask);
  } else if (number == SYS_getcpu && result == 0 && arguments[0] != 0) {
    *(uint32_t *)(uintptr_t)(arguments[0] + g_guest_base) = self->processor;
  } else if (number == SYS_clock_gettime && result == 0 && is_time(arguments[0])) {
    show_time((struct timespec *)(uintptr_t)(arguments[1] + g_guest_base), (clockid_t)arguments[0], self->clock);
  }
}

/* --- The end ---------------------------------------------------------------------------------------------- */

struct top {
  uint64_t address;
  const struct line *line;
};

static void write_lines(FILE *out) {
  struct top top[TOP_LINES + 1];
  unsigned count = 0;
  uint64_t lines = 0;
  for (uint64_t high = 0; high < TABLE; ++high) {
    for (uint64_t low = 0; g_tables[high] != NULL && low < TABLE; ++low) {
      const struct line *of_page = g_tables[high][low];
      for (unsigned at = 0; of_page != NULL && at < LINES_A_PAGE; ++at) {
        const struct line *line = &of_page[at];
        if (line->allocator_moves == 0) continue;
        ++lines;
        unsigned place = count;
        while (place > 0 && top[place - 1].line->allocator_moves < line->allocator_moves) --place;
        if (place == TOP_LINES) continue;
        memmove(&top[place + 1], &top[place], (count - place) * sizeof top[0]);
        top[place] = (struct top){(high << TABLE_BITS | low) << PAGE_BITS | (uint64_t)at << LINE_BITS, line};
        if (count < TOP_LINES) ++count;
      }
    }
  }
  fprintf(out, "\"lines_moved\": %lu, \"lines\": [", lines);
  for (unsigned at = 0; at < count; ++at) {
    const struct line *line = top[at].line;
    fprintf(out, "%s\n [%lu, %u, %u, %lu]", at > 0 ? "," : "", top[at].address, line->allocator_moves, line->moves,
            line->last->address);
  }
  fprintf(out, "]");
}

/* Numbers of all sites and lines that moved. What they are called is ../contention.py's. */
static void write_results(void) {
  pthread_mutex_lock(&g_code_lock);
  read_ranges();
  FILE *out = fopen(g_out, "w");
  if (out == NULL) die("the results cannot be written");
  fprintf(out, "{\"threads\": %u, \"instructions\": %lu, \"switches\": %lu, \"surprises\": %lu,\n", g_thread_count,
          g_instructions, g_switches, g_surprises);
  fprintf(out, "\"program\": {\"loads\": %lu, \"stores\": %lu}, \"allocator\": {\"loads\": %lu, \"stores\": %lu},\n",
          g_counts[0][0], g_counts[0][1], g_counts[1][0], g_counts[1][1]);
  fprintf(out, "\"accesses\": {\"program\": %lu, \"allocator\": %lu},\n", g_accesses[0], g_accesses[1]);
  write_lines(out);
  fprintf(out, ",\n\"sites\": [");
  const char *comma = "";
  for (const struct site *site = g_sites; site != NULL; site = site->next) {
    const uint64_t loads = site->counts[1][0][0] + site->counts[1][0][1];
    const uint64_t stores = site->counts[1][1][0] + site->counts[1][1][1];
    if (loads + stores == 0) continue;
    fprintf(out, "%s\n [%lu, %lu, %lu, %lu]", comma, site->address, loads, stores,
            site->counts[1][0][1] + site->counts[1][1][1]);
    comma = ",";
  }
  fprintf(out, "],\n\"ranges\": [");
  for (unsigned at = 0; at < g_range_count; ++at) {
    const struct range *range = &g_ranges[at];
    fprintf(out, "%s\n [%lu, %lu, %lu, \"%s\"]", at > 0 ? "," : "", range->begin, range->end, range->offset, range->path);
  }
  fprintf(out, "]}\n");
  if (fclose(out) != 0) die("the results cannot be written");
}

static bool take_argument(const char *text) {
  if (strncmp(text, "out=", 4) == 0) return (g_out = text + 4)[0] != 0;
  if (strncmp(text, "library=", 8) == 0) return (g_libraries = text + 8)[0] != 0;
  if (strncmp(text, "step=", 5) == 0) return (g_step = (unsigned)atoi(text + 5)) > 0;
  if (strncmp(text, "processors=", 11) == 0) {
    g_processors = (unsigned)atoi(text + 11);
    return g_processors > 0 && g_processors <= MOST_PROCESSORS;
  }
  if (strncmp(text, "enter=", 6) != 0) return false;
  for (char *at = (char *)text + 6; *at != 0 && g_entry_count < MOST_ENTRIES; at += *at == ':') {
    g_entries[g_entry_count++] = strtoul(at, &at, 16);
  }
  return true;
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments);
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments) {
  (void)info;
  for (int at = 0; at < count; ++at) {
    if (!take_argument(arguments[at])) die("an argument of the plugin is wrong");
  }
  if (g_out == NULL) die("out=FILE is wanted");
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
  qemu_plugin_register_vcpu_syscall_ret_cb(id, on_result);
  return 0;
}
