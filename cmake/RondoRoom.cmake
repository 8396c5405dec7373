include(GNUInstallDirs)

# rondo_room(name folder [libraries...]): an object library of the folder's sources, remembered for rondo_library, and its
# *_test.cpp, remembered for unit_tests.
set_property(GLOBAL PROPERTY RONDO_ROOMS "")
set_property(GLOBAL PROPERTY RONDO_UNIT_TESTS "")

function(rondo_room name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set_property(GLOBAL APPEND PROPERTY RONDO_UNIT_TESTS ${tests})
  if(NOT sources)
    return()
  endif()
  add_library(rondo_${name} OBJECT ${sources})
  target_include_directories(rondo_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  # Hidden, but for what include/rondo says (export.hpp).
  set_target_properties(rondo_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(rondo_${name} PRIVATE rondo_options fmt::fmt Threads::Threads ${ARGN})
  # What nearly every file includes is parsed once. Not where the flags differ (the kernels).
  if(name STREQUAL "base")
    target_precompile_headers(rondo_base PRIVATE <fmt/format.h> <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <deque>
                              <functional> <map> <memory> <mutex> <optional> <span> <sstream> <string> <string_view> <thread> <vector>)
  elseif(NOT name STREQUAL "tensor")
    target_precompile_headers(rondo_${name} REUSE_FROM rondo_base)
  endif()
  set_property(GLOBAL APPEND PROPERTY RONDO_ROOMS rondo_${name})
endfunction()

# rondo_library(name): the library of all rooms. `rondo` for users (include/ only), `rondo_internal` for tests and tools (src/ too),
# which is always static: a shared library hides what they look at.
function(rondo_library name)
  rondo_library_of_rooms(${name})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${name} PUBLIC cxx_std_20)
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION}
                                           SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  add_library(rondo::${name} ALIAS ${name})
  set(internal ${name})
  if(BUILD_SHARED_LIBS)
    # Code of other libraries that the compiler put among ours (templates) stays inside.
    set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
    target_link_options(${name} PRIVATE -Wl,--version-script=${exports})
    set_target_properties(${name} PROPERTIES LINK_DEPENDS ${exports})
    set(internal ${name}_rooms)
    rondo_library_of_rooms(${internal} STATIC EXCLUDE_FROM_ALL)
    target_include_directories(${internal} PUBLIC ${PROJECT_SOURCE_DIR}/include)
  endif()
  add_library(${name}_internal INTERFACE)
  target_include_directories(${name}_internal INTERFACE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name}_internal INTERFACE ${internal} rondo_options fmt::fmt)
endfunction()

function(rondo_library_of_rooms name)
  get_property(rooms GLOBAL PROPERTY RONDO_ROOMS)
  add_library(${name} ${ARGN})
  foreach(room ${rooms})
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${room}>)
  endforeach()
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:rondo_options> fmt::fmt PkgConfig::hwy PkgConfig::xxhash
                                        PkgConfig::libcrypto
                        PUBLIC Threads::Threads)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()
