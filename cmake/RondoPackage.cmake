# cpack: one Debian package, with the shared library, its headers and the command. `cmake --workflow --preset package` makes it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the rondo authors")
set(CPACK_PACKAGE_VENDOR "the rondo authors")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "Processes or threads exchange typed tensors: over shared memory on one host, over TCP between hosts.
This package holds the C++ library, its headers and the command rondo, which starts the processes of a job.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
if(NOT BUILD_SHARED_LIBS)
  # Who links the static library needs what it was built with.
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libfmt-dev, libhwy-dev, libxxhash-dev, libssl-dev, pkg-config")
endif()
include(CPack)
