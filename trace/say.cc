#include "say.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

namespace acre::trace {

void say(const char* format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const bool by_command = strncmp(text, "record: ", 8) == 0 || strncmp(text, "trace: ", 7) == 0 ||
                          strncmp(text, "replay: ", 8) == 0 || strncmp(text, "plot: ", 6) == 0;
  const std::string line = std::string(by_command ? "acre " : "acre: ") + text + '\n';
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // there is nobody to tell
}

}  // namespace acre::trace
