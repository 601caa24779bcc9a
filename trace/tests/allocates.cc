// A program that allocates at known places: allocates.cc WHAT [COUNT]
//
//   sites          a block by each of the functions below, in two threads and in a child
//   often COUNT    blocks of 1000 bytes by site_malloc
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

// Each function calls one function of malloc's, and does something afterwards, so that it is on the stack.
#define SITE(name) extern "C" __attribute__((noinline)) void name
namespace {
void use(void* block) { asm volatile("" : : "r"(block) : "memory"); }
}  // namespace

SITE(site_malloc)(size_t n) {
  void* block = malloc(n);
  use(block);
  free(block);
}
SITE(site_calloc)(size_t n) {
  void* block = calloc(1, n);
  use(block);
  free(block);
}
SITE(site_aligned)(size_t n) {
  void* block = aligned_alloc(256, n);
  use(block);
  free(block);
}
SITE(site_new)(size_t n) {
  void* block = operator new(n);
  use(block);
  operator delete(block);
}
SITE(site_realloc)(size_t n) {
  void* block = realloc(malloc(10), n);
  use(block);
  free(block);
}
// Stays in its pages.
SITE(site_resize)(size_t n) {
  void* block = realloc(malloc(1000000), n);
  use(block);
  free(block);
}

SITE(all_sites)(size_t more) {
  site_malloc(5001 + more);
  site_calloc(5002 + more);
  site_aligned(5376 + more * 256);
  site_new(5004 + more);
  site_realloc(5005 + more);
  site_resize(1000006 + more);
  asm volatile("");
}

int main(int count, char** words) {
  if (count > 2 && strcmp(words[1], "often") == 0) {
    for (long i = 0; i < atol(words[2]); ++i) site_malloc(1000);
    return 0;
  }
  if (count > 1 && strcmp(words[1], "pause") == 0) {
    for (int i = 0; i < 3; ++i) site_malloc(3000);
    sleep(1);
    for (int i = 0; i < 3; ++i) site_malloc(4000);
    return 0;
  }
  all_sites(0);
  std::thread(all_sites, 10).join();
  const pid_t child = fork();
  if (child == 0) {
    all_sites(20);
    _exit(0);
  }
  int status;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
