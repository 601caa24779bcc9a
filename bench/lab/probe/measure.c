// measure OUT PRELOAD PROGRAM ARGS…: runs a program and writes what it cost to OUT:
// wall nanoseconds, CPU microseconds, peak resident KiB, minor faults, wait status.
//
// A program of its own, and small: the kernel counts what a process had resident before exec towards its
// peak, and an interpreter that starts a program has much more than a small program ever will.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long long microseconds(struct timeval t) { return t.tv_sec * 1000000ll + t.tv_usec; }

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  long long begin = now_ns();
  pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    setenv("LD_PRELOAD", argv[2], 1);
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    _exit(127);
  }

  int status;
  struct rusage usage;
  if (wait4(child, &status, 0, &usage) != child) return 2;
  long long wall = now_ns() - begin;
  FILE *out = fopen(argv[1], "w");
  if (out == NULL) return 2;
  fprintf(out, "%lld %lld %ld %ld %d\n", wall, microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
          usage.ru_maxrss, usage.ru_minflt, status);
  return fclose(out) == 0 ? 0 : 2;
}
