// A program that allocates at known places: allocates.cc WHAT [COUNT]
//
//   sites          a block by each of the functions below, in two threads and in a child
//   often COUNT    blocks of 1000 bytes by site_malloc
//   pause          blocks of 3000 bytes, a second later of 4000
//   churn COUNT    blocks of all sizes, up to 30 MB at a time, then none; the last of COUNT after its pages went back
//   forks COUNT    so many children, while other threads begin and end
//   same           100 blocks of 3000 bytes, and by the same calls one of 3001 in a child
//   names          a thread that gives itself a name after its first block
//   sized          blocks of 7000 … 7006 bytes and of 400000 that are freed with their size, and others of 7010
//   tags           blocks of 6000 … 6008 bytes, in a thread of 7000 …, while it has none, one or several tags
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "acre/tags.h"

#pragma weak acre_tag_push
#pragma weak acre_tag_enter
#pragma weak acre_tag_pop

extern "C" __attribute__((weak)) void free_sized(void* block, size_t size);

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

// Allocates `size` bytes under each tag that is in force in turn, 1 more each time.
SITE(tagged)(size_t size) {
  site_malloc(size);
  acre_tag_push("outer");
  site_malloc(size + 1);
  acre_tag_push("in \"quotes\"");
  site_malloc(size + 2);
  acre_tag_enter(nullptr);
  site_malloc(size + 3);
  acre_tag_pop();
  site_malloc(size + 4);
  acre_tag_pop();
  for (int i = 0; i < 30000; ++i) site_malloc(size + 5);  // several blocks of the lane
  const pid_t child = fork();
  site_malloc(child == 0 ? size + 6 : size + 7);
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  acre_tag_pop();
  site_malloc(size + 8);
}

// Frees blocks with their sizes, in all ways that there are; a null pointer, too, and after each of these a block without.
void free_with_sizes() {
  for (const size_t size : {7000, 7001, 400000}) {
    void* block = operator new(size);
    use(block);
    operator delete(block, size);
    operator delete(static_cast<void*>(nullptr), size);
    site_malloc(7010);
  }
  operator delete[](operator new[](7002), 7002);
  void* block = operator new(7003);
  std::thread([&] { operator delete(block, 7003); }).join();
  operator delete(operator new(7004, std::align_val_t{64}), 7004, std::align_val_t{64});
  free_sized(malloc(7005), 7005);
  std::vector<void*> old;  // more than the recorder knows as recent
  for (int i = 0; i < 5000; ++i) old.push_back(operator new(7006));
  for (void* each : old) operator delete(each, 7006);
  site_malloc(7010);
}

// Each thread allocates after a fork under which it may have begun.
void fork_while_threads_begin(long forks) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> makers;
  for (int i = 0; i < 8; ++i) {
    makers.emplace_back([&] {
      while (!stop) {
        std::thread([] {
          for (int n = 0; n < 100; ++n) site_malloc(100);
          usleep(2000);
          for (int n = 0; n < 100; ++n) site_malloc(100);
        }).join();
      }
    });
  }
  for (long i = 0; i < forks; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
  }
  stop = true;
  for (std::thread& maker : makers) maker.join();
}

int main(int count, char** words) {
  if (count > 2 && strcmp(words[1], "forks") == 0) {
    fork_while_threads_begin(atol(words[2]));
    return 0;
  }
  if (count > 1 && strcmp(words[1], "sized") == 0) {
    free_with_sizes();
    return 0;
  }
  if (count > 1 && strcmp(words[1], "tags") == 0) {
    tagged(6000);
    std::thread(tagged, 7000).join();
    return 0;
  }
  if (count > 1 && strcmp(words[1], "same") == 0) {
    pid_t child = 0;
    for (volatile int i = 0; i <= 100; i = i + 1) {  // not unrolled
      if (i == 100 && (child = fork()) != 0) break;
      site_malloc(i == 100 ? 3001 : 3000);
    }
    if (child != 0) waitpid(child, nullptr, 0);
    return 0;
  }
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
  if (count > 2 && strcmp(words[1], "churn") == 0) {
    std::vector<void*> blocks(3000);
    unsigned random = 1;
    for (long i = 0; i < atol(words[2]); ++i) {
      random = random * 1664525 + 1013904223;
      void*& place = blocks[random >> 8 & 2047];
      free(place);
      place = malloc(random >> 8 & 31 ? random >> 19 : random >> 14);
    }
    for (void*& block : blocks) free(block), block = nullptr;
    malloc_trim(0);
    usleep(30000);
    for (int i = 0; i < 1000; ++i) site_malloc(100);
    return 0;
  }
  if (count > 1 && strcmp(words[1], "names") == 0) {
    std::thread([] {
      site_malloc(100);
      pthread_setname_np(pthread_self(), "late name");
    }).join();
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
