// What the tool says for itself, on stderr, as the command acre says it.
#pragma once

namespace acre::trace {

// "acre: " or, for a text such as "record: …", "acre record: …". One line.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

}  // namespace acre::trace
