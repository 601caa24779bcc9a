# cmake --install: headers, both libraries, pkg-config and CMake packages. All of it may be moved to
# another prefix afterwards.

include(CMakePackageConfigHelpers)

install(TARGETS acre acre_static EXPORT acre
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET acre_hardened)
  install(TARGETS acre_hardened EXPORT acre LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/acre DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(acre_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/acre)
install(EXPORT acre NAMESPACE acre:: FILE acreTargets.cmake DESTINATION ${acre_package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/acreConfig.cmake.in
  ${PROJECT_BINARY_DIR}/acreConfig.cmake INSTALL_DESTINATION ${acre_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/acreConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/acreConfig.cmake ${PROJECT_BINARY_DIR}/acreConfigVersion.cmake
  DESTINATION ${acre_package_dir})

if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(acre_pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(acre_pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
  set(acre_pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH acre_pc_up /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
  string(REGEX REPLACE "/$" "" acre_pc_up "${acre_pc_up}")
  set(acre_pc_prefix "\${pcfiledir}/${acre_pc_up}")
  set(acre_pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(acre_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
if(ACRE_PREFIX_ONLY)
  set(acre_pc_libs_private "")
else()
  set(acre_pc_libs_private "-Wl,--undefined=malloc")
endif()
if(NOT ACRE_ATOMICS_NEED_NO_LIBRARY)
  string(STRIP "${acre_pc_libs_private} -latomic" acre_pc_libs_private)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/acre.pc.in ${PROJECT_BINARY_DIR}/acre.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/acre.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
