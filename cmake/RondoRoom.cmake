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

# rondo_library(name): the library of all rooms. `rondo` for users (include/ only), `rondo_internal` for tests (src/ too).
function(rondo_library name)
  get_property(rooms GLOBAL PROPERTY RONDO_ROOMS)
  add_library(${name})
  foreach(room ${rooms})
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${room}>)
  endforeach()
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(${name} PRIVATE rondo_options fmt::fmt PkgConfig::hwy PkgConfig::xxhash PkgConfig::libcrypto
                        PUBLIC Threads::Threads)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  add_library(rondo::${name} ALIAS ${name})
  add_library(${name}_internal INTERFACE)
  target_include_directories(${name}_internal INTERFACE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name}_internal INTERFACE ${name} rondo_options fmt::fmt)
endfunction()
