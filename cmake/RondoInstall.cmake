# cmake --install: the library, its headers, what find_package and pkg-config read, the command, the texts.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/rondo)
install(TARGETS rondo EXPORT rondo)
install(DIRECTORY include/rondo TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp")
install(EXPORT rondo FILE rondoTargets.cmake NAMESPACE rondo:: DESTINATION ${package_folder})

configure_package_config_file(cmake/rondoConfig.cmake.in rondoConfig.cmake INSTALL_DESTINATION ${package_folder}
                              NO_SET_AND_CHECK_MACRO)
# Until 1.0 a minor version may change the interface.
write_basic_package_version_file(rondoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rondoConfig.cmake ${PROJECT_BINARY_DIR}/rondoConfigVersion.cmake
        DESTINATION ${package_folder})

# rondo.pc finds its prefix from where it lies, so that an installed tree may be moved.
file(RELATIVE_PATH RONDO_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" RONDO_PC_TO_PREFIX ${RONDO_PC_TO_PREFIX})
file(RELATIVE_PATH RONDO_PC_LIBDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH RONDO_PC_INCLUDEDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
# The static library needs what it was built with at every link; the shared one brings it along.
set(RONDO_PC_REQUIRES "")
if(NOT BUILD_SHARED_LIBS)
  set(RONDO_PC_REQUIRES "fmt libhwy libxxhash libcrypto")
endif()
configure_file(cmake/rondo.pc.in rondo.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rondo.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(RONDO_TOOLS)
  install(TARGETS rondo_command)
  include(RondoManual)
endif()
install(FILES README.md CHANGELOG.md TYPE DOC)
install(DIRECTORY docs/ TYPE DOC FILES_MATCHING PATTERN "*.md")
install(FILES LICENSE TYPE DOC RENAME copyright)
