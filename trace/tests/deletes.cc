// A program with an operator delete of its own, which keeps blocks, and one by malloc that it frees without a size.
#include <cstdlib>
#include <new>

namespace {
void* volatile g_kept;
}  // namespace

void operator delete(void* block) noexcept { g_kept = block; }

int main() {
  for (int i = 0; i < 4; ++i) {
    ::operator delete(operator new(7000), 7000);  // the library's, which calls the one above
    void* volatile block = malloc(7010);
    free(block);
  }
}
