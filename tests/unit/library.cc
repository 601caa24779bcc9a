// os/linux_library.h: what it finds is what dlsym finds.
#include "os/linux_library.h"
#include "os/module.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>

#include "base/units.h"

namespace acre {
namespace {

// Its own functions, not those that a sanitizer has put in their place.
void* in_c_library(const char* name) {
  static void* const library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  return dlsym(library, name);
}
void* c_library() { return in_c_library("getauxval"); }

TEST(Library, ItsFunctionsAreFoundByName) {
  for (const char* name : {"_dl_find_object", "atoi", "getenv", "qsort", "environ", "tolower", "dlopen", "abs"}) {
    EXPECT_EQ(os::find_in_library_of(c_library(), name), in_c_library(name)) << name;
  }
}

TEST(Library, OthersAreNot) {
  for (const char* name : {"", "atoi_", "_dl_find_object_", "main", "__tls_get_addr", "cos"}) {
    EXPECT_EQ(os::find_in_library_of(c_library(), name), nullptr) << name;
  }
}

TEST(Library, WithListsOfTheSystemVAbiAlone) {
  void* library = dlopen(LIBRARY_OF_LISTS, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  void* first = dlsym(library, "first_function");
  for (const char* name : {"first_function", "second_function"}) {
    EXPECT_EQ(os::find_in_library_of(first, name), dlsym(library, name)) << name;
  }
  EXPECT_EQ(os::find_in_library_of(first, "third_function"), nullptr);
  dlclose(library);
}

TEST(Library, WhatIsNoneHasNone) {
  constexpr size_t kPages = 3;
  void* pages = mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  mprotect(pages, kPageBytes, PROT_NONE);
  EXPECT_EQ(os::find_in_library_of(static_cast<char*>(pages) + (kPages - 1) * kPageBytes, "atoi"), nullptr);
  munmap(pages, kPages * kPageBytes);
}

TEST(Library, ACodesModuleHasItsFileAndWhatItExports) {
  os::Module module;
  ASSERT_TRUE(os::find_module(address_of(c_library()), &module));
  EXPECT_NE(std::string(module.path).find("libc.so"), std::string::npos);
  for (const char* name : {"atoi", "getenv", "qsort"}) {
    EXPECT_EQ(os::find_exported(module, name), in_c_library(name)) << name;
  }
  EXPECT_EQ(os::find_exported(module, "cos"), nullptr);

  ASSERT_TRUE(os::find_module(address_of(reinterpret_cast<void*>(&c_library)), &module));
  EXPECT_STREQ(module.path, "");
  EXPECT_FALSE(os::find_module(address_of(&module), &module));
}

}  // namespace
}  // namespace acre
