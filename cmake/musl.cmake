# A toolchain: gcc with musl in glibc's place, from Debian's musl-tools.
#
# musl-gcc knows C alone. acre's C++ needs nothing of libstdc++ but the headers that do not care for the C library
# (<atomic>, <new>, …); the folder musl/ takes glibc out of these.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_CXX_COMPILER g++)

execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-multiarch
  OUTPUT_VARIABLE machine OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -dumpversion
  OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "-gnu$" "-musl" musl "${machine}")
set(specs /usr/lib/${musl}/musl-gcc.specs)
if(NOT EXISTS ${specs})
  message(FATAL_ERROR "${specs} is missing: apt-get install musl-tools")
endif()

# The kernel's headers, without glibc's beside them.
set(kernel ${CMAKE_BINARY_DIR}/kernel-headers)
file(MAKE_DIRECTORY ${kernel})
foreach(folder IN ITEMS linux asm-generic ${machine}/asm)
  cmake_path(GET folder FILENAME name)
  file(CREATE_LINK /usr/include/${folder} ${kernel}/${name} SYMBOLIC)
endforeach()

set(CMAKE_C_FLAGS_INIT "-isystem ${kernel}")
string(JOIN " " CMAKE_CXX_FLAGS_INIT -specs=${specs} -nostdinc++ -D_GLIBCXX_INCLUDE_NEXT_C_HEADERS -isystem ${CMAKE_CURRENT_LIST_DIR}/musl
  -isystem /usr/include/c++/${version} -isystem /usr/include/${machine}/c++/${version}
  -isystem ${kernel})

# The tests build C programs alone, and no library that needs a C++ library is built.
set(ACRE_MUSL_TOOLS ON)
