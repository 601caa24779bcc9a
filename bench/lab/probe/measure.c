// measure OUT SECONDS PRELOAD PROGRAM ARGS…: runs PROGRAM with PRELOAD as its LD_PRELOAD and writes to OUT,
// as JSON, what it cost: time, page faults, and resident memory over time. After SECONDS it is killed.
//
// A program of its own, and small: the kernel counts what a process had resident before exec towards its
// peak, and an interpreter that starts a program has much more than a small program ever will.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kPoints = 400, kFirstIntervalMs = 5, kDepth = 8 };

struct curve {
  long time_ms[kPoints];
  long kib[kPoints];
  int count;
  int interval_ms;
};

static long page_kib;

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long long microseconds(struct timeval t) { return t.tv_sec * 1000000ll + t.tv_usec; }

static ssize_t read_file(const char *path, char *text, size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  const ssize_t length = read(file, text, size - 1);
  close(file);
  text[length < 0 ? 0 : length] = 0;
  return length;
}

// What a process and its descendants have resident, in KiB; shared pages count in each.
static long resident_kib(long pid, int depth) {
  char path[64], text[4096];
  long pages = 0;
  snprintf(path, sizeof path, "/proc/%ld/statm", pid);
  if (read_file(path, text, sizeof text) <= 0 || sscanf(text, "%*s %ld", &pages) != 1) return 0;
  long total = pages * page_kib;
  snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", pid, pid);
  if (depth < kDepth && read_file(path, text, sizeof text) > 0) {
    char *end;
    for (char *at = text;; at = end) {
      const long child = strtol(at, &end, 10);
      if (end == at) break;
      total += resident_kib(child, depth + 1);
    }
  }
  return total;
}

// Every second point goes when there is no room for one more.
static void thin(struct curve *curve) {
  for (int at = 0; at < kPoints / 2; ++at) {
    curve->time_ms[at] = curve->time_ms[2 * at];
    curve->kib[at] = curve->kib[2 * at];
  }
  curve->count = kPoints / 2;
  curve->interval_ms *= 2;
}

static void add_point(struct curve *curve, long long begin, long kib) {
  if (curve->count == kPoints) thin(curve);
  curve->time_ms[curve->count] = (long)((now_ns() - begin) / 1000000);
  curve->kib[curve->count++] = kib;
}

static double mean_kib(const struct curve *curve) {
  double sum = 0;
  for (int at = 0; at < curve->count; ++at) sum += (double)curve->kib[at];
  return curve->count ? sum / curve->count : 0;
}

// Follows the process until it ends or its time is over. -> whether it ended by itself
static int follow(pid_t child, long long begin, double limit_s, struct curve *curve) {
  const int handle = (int)syscall(SYS_pidfd_open, child, 0);
  if (handle < 0) return 1;
  struct pollfd ended = {.fd = handle, .events = POLLIN};
  while (poll(&ended, 1, curve->interval_ms) == 0) {
    const long kib = resident_kib(child, 0);
    if (kib > 0) add_point(curve, begin, kib);
    if ((double)(now_ns() - begin) > limit_s * 1e9) {
      kill(-child, SIGKILL);
      return 0;
    }
  }
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  page_kib = sysconf(_SC_PAGESIZE) / 1024;
  struct curve curve = {.interval_ms = kFirstIntervalMs};
  const long long begin = now_ns();
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    setpgid(0, 0);
    setenv("LD_PRELOAD", argv[3], 1);
    execvp(argv[4], argv + 4);
    perror(argv[4]);
    _exit(127);
  }
  setpgid(child, child);
  const int in_time = follow(child, begin, atof(argv[2]), &curve);

  int status;
  struct rusage usage;
  if (wait4(child, &status, 0, &usage) != child) return 2;
  const long long wall = now_ns() - begin;
  FILE *out = fopen(argv[1], "w");
  if (out == NULL) return 2;
  fprintf(out, "{\"wall_s\": %.9f, \"user_s\": %.6f, \"system_s\": %.6f, ", wall / 1e9,
          microseconds(usage.ru_utime) / 1e6, microseconds(usage.ru_stime) / 1e6);
  fprintf(out, "\"peak_kib\": %ld, \"mean_kib\": %.0f, \"minor_faults\": %ld, \"major_faults\": %ld, ",
          usage.ru_maxrss, mean_kib(&curve), usage.ru_minflt, usage.ru_majflt);
  fprintf(out, "\"status\": %d, \"in_time\": %s, \"curve\": [", status, in_time ? "true" : "false");
  for (int at = 0; at < curve.count; ++at) {
    fprintf(out, "%s[%ld, %ld]", at ? ", " : "", curve.time_ms[at], curve.kib[at]);
  }
  fprintf(out, "]}\n");
  return fclose(out) == 0 ? 0 : 2;
}
