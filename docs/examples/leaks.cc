// A check around a piece of code, and what it is not to find.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "acre/leaks.h"
#include "acre/leaks.hpp"

namespace {

std::vector<std::string>* g_cache;  // lives as long as the program

// Ten words, each with some scratch memory. (Of the last one the address may still stand in a register or on the stack.)
void parse(const char* input, bool forget) {
  for (int word = 0; word < 10; ++word) {
    g_cache->push_back(std::string(100, input[0]));
    char* scratch = new char[1000];
    scratch[0] = input[0];
    if (!forget) delete[] scratch;
  }
}

bool leaks(bool forget) {
  acre::HeapLeakChecker checker("parse");
  parse("input", forget);
  return !checker.NoLeaks();
}

}  // namespace

int main() {
  g_cache = new std::vector<std::string>;
  std::printf("parse leaks: %s\n", leaks(false) ? "yes" : "no");
  std::printf("parse that forgets its scratch leaks: %s\n", leaks(true) ? "yes" : "no");

  // What only a table in memory of its own leads to is looked for elsewhere, too: the table shall not keep it.
  static void* table[1];
  acre_leaks_leave_out(table, sizeof table);
  table[0] = std::malloc(100);

  acre_leaks_ignore(std::malloc(200));  // lost, and known to be
}
