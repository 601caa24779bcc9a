// libstdc++'s own, as a freestanding implementation's: without threads, locales and strings, which are glibc's.
#pragma once

#include_next <bits/c++config.h>

#undef _GLIBCXX_HOSTED
#define _GLIBCXX_HOSTED 0
