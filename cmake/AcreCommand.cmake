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
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN figures EXCLUDE)

# Compiled, since who runs the command may not be allowed to keep what Python compiles.
find_program(ACRE_COMMAND_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(ACRE_COMMAND_PYTHON)
  install(CODE "set(home \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${acre_home}\")
    execute_process(COMMAND ${ACRE_COMMAND_PYTHON} -I -S -m compileall -q \${home}/cli \${home}/bench)")
endif()
