# cmake --install: the command acre, with all that it reads, as a tree of its own in the folder of libraries:
#
#   bin/acre                      a link
#   lib/acre/acre, cli/ …         as in the sources; cli/installed.py says where the library is from there
#   share/man, share/…completion  made from the command's own parsers (cli/manual)

set(acre_home ${CMAKE_INSTALL_LIBDIR}/acre)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(acre_home_from_bin ${acre_home})
else()
  file(RELATIVE_PATH acre_home_from_bin /p/${CMAKE_INSTALL_BINDIR} /p/${acre_home})
endif()

install(PROGRAMS ${PROJECT_SOURCE_DIR}/acre DESTINATION ${acre_home})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/cli ${PROJECT_SOURCE_DIR}/share ${PROJECT_SOURCE_DIR}/bench
  DESTINATION ${acre_home} USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE PATTERN manual EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/packages.txt DESTINATION ${acre_home})
configure_file(${CMAKE_CURRENT_LIST_DIR}/installed.py.in ${PROJECT_BINARY_DIR}/command/installed.py @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/command/installed.py DESTINATION ${acre_home}/cli)
file(CREATE_LINK ${acre_home_from_bin}/acre ${PROJECT_BINARY_DIR}/command/acre SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/command/acre DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN "*.jsonl" EXCLUDE)

find_program(ACRE_COMMAND_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT ACRE_COMMAND_PYTHON)
  return()
endif()

# Compiled, since who runs the command may not be allowed to keep what Python compiles.
# Tracebacks name files as they are without DESTDIR.
install(CODE "set(home \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${acre_home}\")
  if(NOT \"\$ENV{DESTDIR}\" STREQUAL \"\")
    set(strip -s \$ENV{DESTDIR})
  endif()
  execute_process(COMMAND ${ACRE_COMMAND_PYTHON} -I -S -m compileall -q \${strip} \${home}/cli \${home}/bench)")

# --- manual pages and completions -------------------------------------------------------------------------------------
set(acre_manual ${PROJECT_BINARY_DIR}/manual)
set(acre_manual_files acre.1 acre.conf.5 acre.3 acre.bash _acre acre.fish)
list(TRANSFORM acre_manual_files PREPEND ${acre_manual}/ OUTPUT_VARIABLE acre_manual_outputs)
file(MAKE_DIRECTORY ${acre_manual})
file(GLOB acre_manual_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.py ${PROJECT_SOURCE_DIR}/cli/manual/*.py
  ${PROJECT_SOURCE_DIR}/include/acre/*.h)
add_custom_command(OUTPUT ${acre_manual_outputs}
  COMMAND ${ACRE_COMMAND_PYTHON} -I -S -B ${PROJECT_SOURCE_DIR}/cli/manual/make.py ${PROJECT_BINARY_DIR}/command
    ${acre_manual}
  DEPENDS ${acre_manual_sources} ${PROJECT_BINARY_DIR}/command/installed.py ${PROJECT_SOURCE_DIR}/docs/options.md
    ${PROJECT_SOURCE_DIR}/docs/reference.md ${PROJECT_SOURCE_DIR}/bench/lab/arguments.py
  COMMENT "Manual pages and completions" VERBATIM)
add_custom_target(acre_manual ALL DEPENDS ${acre_manual_outputs})
foreach(section IN ITEMS 1 3 5)
  set(pages ${acre_manual_outputs})
  list(FILTER pages INCLUDE REGEX "\\.${section}$")
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(FILES ${acre_manual}/acre.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME acre)
install(FILES ${acre_manual}/_acre DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${acre_manual}/acre.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
