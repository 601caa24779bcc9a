// os/linux_library.h: what it finds is what dlsym finds.
#include "os/linux_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace acre {
namespace {

void* c_library() { return dlsym(RTLD_DEFAULT, "getauxval"); }

TEST(Library, ItsFunctionsAreFoundByName) {
  for (const char* name : {"_dl_find_object", "atoi", "getenv", "qsort", "environ", "tolower", "dlopen", "abs"}) {
    EXPECT_EQ(os::find_in_library_of(c_library(), name), dlsym(RTLD_DEFAULT, name)) << name;
  }
}

TEST(Library, OthersAreNot) {
  for (const char* name : {"", "atoi_", "_dl_find_object_", "main", "__tls_get_addr", "cos"}) {
    EXPECT_EQ(os::find_in_library_of(c_library(), name), nullptr) << name;
  }
}

TEST(Library, WhatIsNoneHasNone) {
  alignas(4096) static char page[3 * 4096];
  EXPECT_EQ(os::find_in_library_of(page + 2 * 4096, "nothing that any library has"), nullptr);
}

}  // namespace
}  // namespace acre
