#include "base/fatal.h"

#include <stdlib.h>

#include "base/text.h"

namespace acre {

void fatal(const char* message) {
  Line<512> line;
  line.add("acre: ").add(message).add('\n');
  write_all(2, line.c_str(), line.size());
  abort();
}

void assertion_failed(const char* expression, const char* file, int line) {
  Line<400> text;
  text.add("internal error: ").add(expression).add(" does not hold (").add(file).add(':');
  text.decimal(static_cast<uint64_t>(line)).add(")");
  fatal(text.c_str());
}

}  // namespace acre
