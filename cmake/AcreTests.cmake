# Helpers of tests/CMakeLists.txt.
#
# A test source says in its first ten lines what it needs, in comments
#     // acre-test: WORD WORD…
# with the words
#     not-linked, not-static, not-preload, not-hardened   leave that way of running it out
#     libs=dl,m            libraries to link
#     env=NAME=VALUE       environment of the test (may stand more than once)
#     conf=NAME:VALUE      options: stress and fuzz tests run with these once more (may stand more than once)
#     args=1,2,3           arguments
#     seeds=1,2,3          fuzz tests: one run a seed, the seed as the argument
#     timeout=60           seconds (otherwise 120, under a sanitizer 480)
#     serial               alone on the machine (timing, memory of the machine)

# acre_test_directives(SOURCE PREFIX): sets PREFIX_flags, PREFIX_libs, PREFIX_env, …
function(acre_test_directives source prefix)
  # A change of these comments has to reconfigure.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  set(flags "")
  set(libs "")
  set(env "")
  set(confs "")
  set(args "")
  set(seeds 1 2 3 4)
  set(timeout ${acre_time_limit})
  file(STRINGS ${source} lines LIMIT_COUNT 10 ENCODING UTF-8)
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "acre-test: *(.*)$")
      continue()
    endif()
    string(REGEX REPLACE " *\\*/ *$" "" words "${CMAKE_MATCH_1}")
    separate_arguments(words UNIX_COMMAND "${words}")
    foreach(word IN LISTS words)
      if(word MATCHES "^env=(.*)$")
        list(APPEND env "${CMAKE_MATCH_1}")
      elseif(word MATCHES "^conf=(.*)$")
        list(APPEND confs "${CMAKE_MATCH_1}")
      elseif(word MATCHES "^(libs|args|seeds)=(.*)$")
        string(REPLACE "," ";" ${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
      elseif(word MATCHES "^timeout=([0-9]+)$")
        set(timeout ${CMAKE_MATCH_1})
      elseif(word MATCHES "^(not-linked|not-static|not-preload|not-hardened|serial)$")
        list(APPEND flags ${word})
      else()
        message(FATAL_ERROR "${source}: unknown word '${word}' after 'acre-test:'; "
          "cmake/AcreTests.cmake lists the known ones")
      endif()
    endforeach()
  endforeach()
  foreach(name IN ITEMS flags libs env confs args seeds timeout)
    set(${prefix}_${name} "${${name}}" PARENT_SCOPE)
  endforeach()
endfunction()

# acre_test_properties(TEST PREFIX LABEL [ENV…]): what the directives under PREFIX ask for.
function(acre_test_properties test prefix label)
  set_tests_properties(${test} PROPERTIES
    LABELS ${label} SKIP_RETURN_CODE 77 TIMEOUT ${${prefix}_timeout}
    ENVIRONMENT "${acre_test_environment};${ARGN};${${prefix}_env}")
  if("serial" IN_LIST ${prefix}_flags)
    set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# acre_executable(TARGET WAY OBJECTS LIBS…): links it linked, static or preload.
function(acre_executable target way objects)
  add_executable(${target} $<TARGET_OBJECTS:${objects}>)
  target_link_libraries(${target} PRIVATE ${ARGN})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE ${acre_link_language})
  if(way STREQUAL "linked")
    target_link_libraries(${target} PRIVATE acre)
  elseif(way STREQUAL "static")
    target_link_libraries(${target} PRIVATE acre_static)
    # What debuggers know of acre is 7 MB in each of 200 programs, and half of the time to link them. Names stay.
    target_link_options(${target} PRIVATE -static LINKER:--strip-debug)
  endif()
endfunction()

# acre_compile_test(TARGET SOURCE): one compilation for every way to link it.
# -O0, so that no pair of malloc and free is optimised away. A test asks for what a compiler warns of. Before version 19
# clang declares no sized delete unless told.
function(acre_compile_test target source)
  add_library(${target} OBJECT ${source})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${target} PRIVATE -O0 -pthread -w
    $<$<COMPILE_LANGUAGE:C>:-std=gnu17> "$<$<COMPILE_LANGUAGE:CXX>:-std=c++20;-fsized-deallocation>")
endfunction()
