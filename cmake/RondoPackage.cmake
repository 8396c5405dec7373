# cpack: one Debian package, with the shared library, its headers and the command. `cmake --workflow --preset package` makes it.
set(CPACK_GENERATOR DEB)
if(NOT CPACK_PACKAGE_CONTACT)
  # Debian asks for an address. Who gives packages away sets his own: -DCPACK_PACKAGE_CONTACT="Name <address>".
  set(CPACK_PACKAGE_CONTACT "rondo authors <authors@rondo.invalid>")
endif()
set(CPACK_PACKAGE_VENDOR "rondo authors")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "Processes or threads exchange typed tensors: over shared memory on one host,
over TCP between hosts. This package holds the C++ library, its headers and the
command rondo, which starts the processes of a job.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
if(NOT BUILD_SHARED_LIBS)
  # Who links the static library needs what it was built with.
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libfmt-dev, libhwy-dev, libxxhash-dev, libssl-dev, pkg-config")
endif()
# The cache of libraries is renewed as Debian does it; CPack's own scripts do it once more, which costs nothing.
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# What only a Debian package has: compressed pages, its changelog, and what its checker need not say.
string(TIMESTAMP RONDO_PACKAGE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(cmake/debian/changelog.in debian/changelog @ONLY)
configure_file(cmake/debian/texts.cmake.in debian/texts.cmake @ONLY)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_BINARY_DIR}/debian/texts.cmake)
include(CPack)
