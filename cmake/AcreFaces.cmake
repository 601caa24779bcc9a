# Libraries with the names of other allocators' in their own folders, so that programs linked with those run on acre.
#
# Such a library holds the names that libacre.so has not, and is an *auxiliary filter* for it: the loader loads
# libacre.so and puts it before the library in the order in which symbols are looked up, and so before the C library.
# Each has the SONAME that programs ask for: ldconfig goes by that, not by the name of a file or a link.

# acre_face(NAME SOVERSION FOLDER [NAMELINK_SKIP]): the target acre_NAME becomes libNAME.so.SOVERSION in the folder FOLDER.
function(acre_face name soversion face_folder)
  set(target acre_${name})
  set(folder ${PROJECT_BINARY_DIR}/faces/${face_folder})
  set(destination ${CMAKE_INSTALL_LIBDIR}/acre/${face_folder})
  file(RELATIVE_PATH up /p/${destination} /p/${CMAKE_INSTALL_LIBDIR})
  string(REGEX REPLACE "/$" "" up ${up})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    OUTPUT_NAME ${name} SOVERSION ${soversion} LIBRARY_OUTPUT_DIRECTORY ${folder} INSTALL_RPATH "$ORIGIN/${up}")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2> "$<$<COMPILE_LANGUAGE:CXX>:${acre_warnings}>")
  target_link_libraries(${target} PRIVATE acre)
  target_link_options(${target} PRIVATE
    LINKER:--auxiliary,$<TARGET_SONAME_FILE_NAME:acre>
    LINKER:--no-undefined LINKER:--as-needed LINKER:-z,relro LINKER:-z,now LINKER:-z,nodelete)
  install(TARGETS ${target} LIBRARY DESTINATION ${destination} ${ARGN})
endfunction()

# A face without names of its own: it needs what it is linked with, though it calls nothing there. A program cannot be
# linked with it, so its plain name is a link to LINK, which has the names.
function(acre_empty_face name soversion face_folder link)
  add_library(acre_${name} SHARED ${PROJECT_SOURCE_DIR}/faces/empty.c)
  acre_face(${name} ${soversion} ${face_folder} NAMELINK_SKIP)
  target_link_options(acre_${name} PRIVATE LINKER:--no-as-needed)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/links)
  file(CREATE_LINK ${link} ${PROJECT_BINARY_DIR}/links/lib${name}.so SYMBOLIC)
  install(FILES ${PROJECT_BINARY_DIR}/links/lib${name}.so DESTINATION ${CMAKE_INSTALL_LIBDIR}/acre/${face_folder})
endfunction()

acre_empty_face(jemalloc 2 jemalloc ../../libacre.so.1)

if(ACRE_MUSL_TOOLS)  # tcmalloc.h has std::string, and there is no C++ library
  return()
endif()

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/faces/tcmalloc/*.cc)
add_library(acre_tcmalloc SHARED ${sources})
target_include_directories(acre_tcmalloc PRIVATE ${PROJECT_SOURCE_DIR}/include/acre/tcmalloc)
acre_face(tcmalloc 4 tcmalloc)

acre_empty_face(tcmalloc_minimal 4 tcmalloc libtcmalloc.so.4)
target_link_libraries(acre_tcmalloc_minimal PRIVATE acre_tcmalloc)
set_property(TARGET acre_tcmalloc_minimal APPEND PROPERTY INSTALL_RPATH "$ORIGIN")
