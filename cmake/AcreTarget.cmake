# How the sources of acre are compiled and linked: one place for every flag.

# Warnings that gcc 12 and clang 19 share. clang counts sign conversions into -Wconversion and gcc
# does not; with them pointer arithmetic would drown in casts.
set(acre_warnings
  -Wall -Wextra -Wundef -Wshadow -Wconversion -Wno-sign-conversion -Wcast-qual -Wformat=2
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wpointer-arith
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  $<$<BOOL:${ACRE_WERROR}>:-Werror>)

# A compiler that knows what malloc does may turn the body of calloc into a call of calloc, or drop
# a store to a block on its way to free.
set(acre_no_builtins "")
foreach(function IN ITEMS malloc calloc realloc reallocarray free free_sized free_aligned_sized
    aligned_alloc posix_memalign memalign valloc pvalloc)
  list(APPEND acre_no_builtins -fno-builtin-${function})
endforeach()

set(acre_sanitize "")
if(ACRE_SANITIZE)
  set(acre_sanitize -fsanitize=${ACRE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
endif()

# On RISC-V compilers before gcc 14 call libatomic for atomics of one and two bytes.
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("#include <atomic>
  std::atomic<unsigned char> byte; std::atomic<unsigned short> both;
  int main() { return byte.exchange(1) + both.fetch_add(1); }" ACRE_ATOMICS_NEED_NO_LIBRARY)

# acre_target(TARGET [PREFIX_ONLY bool] [STATIC_ARCHIVE bool] [TESTING bool])
# Every macro is always 0 or 1, since -Wundef makes an error of a forgotten one.
function(acre_target target)
  cmake_parse_arguments(arg "" "PREFIX_ONLY;STATIC_ARCHIVE;TESTING" "" ${ARGN})
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${target} PRIVATE
    ACRE_PREFIX_ONLY=$<BOOL:${arg_PREFIX_ONLY}>
    ACRE_STATIC_ARCHIVE=$<BOOL:${arg_STATIC_ARCHIVE}>
    ACRE_TESTING=$<BOOL:${arg_TESTING}>
    ACRE_DEBUG=$<BOOL:${ACRE_DEBUG}>)
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE
    $<$<CONFIG:Release>:-O2>
    -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-tree-slp-vectorize
    ${acre_no_builtins}
    # One load to the thread's heap, in a dlopened library too (the TLS block is a few words).
    -ftls-model=initial-exec
    -fno-plt
    # For the walks of heap profiles, which begin in acre. On RISC-V it is not the default.
    -fasynchronous-unwind-tables
    $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>
    ${acre_sanitize}
    ${acre_warnings})
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # <atomic> is 40000 lines: up to two thirds of the time of a source. Not with ccache, which keeps nothing of
    # what uses a precompiled header. tests/layout/check.py sees to it that a source includes what it uses of these.
    target_precompile_headers(${target} PRIVATE <atomic> <cstddef> <cstdint> <new>)
  endif()
  # A unity build compiles a folder as one: so names in unnamed namespaces are unique in a folder.
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder})
  endforeach()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i.86")
    # endbr64 at every entry costs an instruction a call, and Debian 12 does not turn IBT on.
    target_compile_options(${target} PRIVATE -fcf-protection=none)
  endif()
  if(CMAKE_CXX_FLAGS MATCHES "-fstack-protector|_FORTIFY_SOURCE")
    # Packagers' flags. Few functions here have a buffer, but with the guards what a small program uses of the library
    # no longer fits the pages that it has for that: 40 KiB more are resident in each process.
    target_compile_options(${target} PRIVATE -fno-stack-protector -U_FORTIFY_SOURCE)
  endif()
  if(NOT ACRE_ATOMICS_NEED_NO_LIBRARY)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "SHARED_LIBRARY")  # which needs libc and nothing else
      target_link_libraries(${target} PRIVATE -l:libatomic.a)
      target_link_options(${target} PRIVATE LINKER:--exclude-libs,libatomic.a)
    else()
      target_link_libraries(${target} INTERFACE atomic)
    endif()
  endif()
  if(acre_sanitize)
    target_link_options(${target} INTERFACE ${acre_sanitize})
    target_compile_options(${target} INTERFACE ${acre_sanitize})
  endif()
endfunction()

# GNU ld and lld take it; without it the library is the same, and more of it resident.
set(acre_seldom LINKER:-T,${PROJECT_SOURCE_DIR}/cmake/seldom.ld)
include(CheckLinkerFlag)
check_linker_flag(C ${acre_seldom} ACRE_LINKER_TAKES_SCRIPT)

# A shared library of C++ sources that needs libc and nothing else. (gcc 12 has no -nostdlib++.)
function(acre_link_without_cxx target)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  set(CMAKE_CXX_IMPLICIT_LINK_LIBRARIES "" PARENT_SCOPE)
  target_link_options(${target} PRIVATE
    LINKER:--no-undefined LINKER:-O1 LINKER:--as-needed
    LINKER:-Bsymbolic-functions LINKER:--dynamic-list=${PROJECT_SOURCE_DIR}/cmake/replaceable.list
    LINKER:-z,relro LINKER:-z,now
    # A block, a thread's destructor or an atexit handler of acre may outlive dlclose.
    LINKER:-z,nodelete)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/replaceable.list)
  if(ACRE_LINKER_TAKES_SCRIPT)
    target_link_options(${target} PRIVATE ${acre_seldom})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/seldom.ld)
  endif()
endfunction()
