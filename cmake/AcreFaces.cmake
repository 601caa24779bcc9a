# Libraries with the names of other allocators' in their own folders, so that programs linked with those run on acre.
#
# Such a library holds the names that libacre.so has not, and is an *auxiliary filter* for it: the loader loads
# libacre.so and puts it before the library in the order in which symbols are looked up, and so before the C library.

# acre_face(NAME SOVERSION LINK…): the target acre_NAME becomes libNAME.so.SOVERSION in the folder NAME. LINK: further
# names for it.
function(acre_face name soversion)
  set(target acre_${name})
  set(folder ${PROJECT_BINARY_DIR}/faces/${name})
  set(destination ${CMAKE_INSTALL_LIBDIR}/acre/${name})
  file(RELATIVE_PATH up /p/${destination} /p/${CMAKE_INSTALL_LIBDIR})
  string(REGEX REPLACE "/$" "" up ${up})
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    OUTPUT_NAME ${name} SOVERSION ${soversion} LIBRARY_OUTPUT_DIRECTORY ${folder} INSTALL_RPATH "$ORIGIN/${up}")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2> ${acre_warnings})
  target_link_libraries(${target} PRIVATE acre)
  target_link_options(${target} PRIVATE
    LINKER:--auxiliary,$<TARGET_SONAME_FILE_NAME:acre>
    LINKER:--no-undefined LINKER:--as-needed LINKER:-z,relro LINKER:-z,now LINKER:-z,nodelete)
  install(TARGETS ${target} LIBRARY DESTINATION ${destination})
  file(MAKE_DIRECTORY ${folder})
  foreach(link IN LISTS ARGN)
    foreach(suffix IN ITEMS .so .so.${soversion})
      file(CREATE_LINK lib${name}.so.${soversion} ${folder}/lib${link}${suffix} SYMBOLIC)
      install(FILES ${folder}/lib${link}${suffix} DESTINATION ${destination})
    endforeach()
  endforeach()
endfunction()

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/faces/tcmalloc/*.cc)
add_library(acre_tcmalloc SHARED ${sources})
target_include_directories(acre_tcmalloc PRIVATE ${PROJECT_SOURCE_DIR}/include/acre/tcmalloc)
acre_face(tcmalloc 4 tcmalloc_minimal)
