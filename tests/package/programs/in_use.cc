// Exits 0 if operator new is acre's, and throws as it has to.
#include <acre/acre.h>

#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

int main() {
  std::vector<std::string> texts(100, std::string(100, 'x'));
  if (!acre_owns(texts.data()) || !acre_owns(texts[50].data())) {
    std::fputs("operator new gave no block of acre\n", stderr);
    return 1;
  }
  try {
    volatile std::size_t too_much = PTRDIFF_MAX - 100;
    delete[] new char[too_much];
    std::fputs("operator new of half the address space did not throw\n", stderr);
    return 1;
  } catch (const std::bad_alloc&) {
    std::puts("acre is in use");
  }
  return 0;
}
