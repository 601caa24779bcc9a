// Preloaded in front of the allocator: at the start of every process it appends to the file named by
// LAB_WITNESS the program and the object whose malloc it calls. So the lab knows, for each run and each
// child of it, which allocator was really in use; that the object is mapped would prove nothing.
// Itself it replaces nothing and allocates nothing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t append(char *line, size_t at, size_t size, const char *text) {
  const size_t length = strlen(text);
  if (at + length >= size) return at;
  memcpy(line + at, text, length);
  return at + length;
}

// A program with a fixed address that takes malloc's has a stub of that name, at which every other object then
// finds malloc. Whose it really is shows the search from here on.
static int is_stub(void *found) {
  Dl_info info;
  const ElfW(Sym) *symbol = NULL;
  if (dladdr1(found, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL) return 0;
  return symbol->st_shndx == SHN_UNDEF;
}

static void *malloc_in_use(void) {
  void *found = dlsym(RTLD_DEFAULT, "malloc");
  return found != NULL && is_stub(found) ? dlsym(RTLD_NEXT, "malloc") : found;
}

__attribute__((constructor)) static void testify(void) {
  const char *path = getenv("LAB_WITNESS");
  if (path == NULL) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  static char line[8192];
  static char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length < 0 ? 0 : length] = 0;
  Dl_info info;
  void *found = malloc_in_use();
  const int known = found != NULL && dladdr(found, &info) != 0 && info.dli_fname != NULL;
  size_t at = append(line, 0, sizeof line, program);
  at = append(line, at, sizeof line, "\t");
  at = append(line, at, sizeof line, known ? info.dli_fname : "?");
  at = append(line, at, sizeof line, "\n");
  const ssize_t written = write(file, line, at);
  (void)written;
  close(file);
}
