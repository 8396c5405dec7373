# Warnings, sanitizers and the compiler cache, for everything in this tree.
add_library(rondo_options INTERFACE)
target_compile_options(rondo_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
                                               -Woverloaded-virtual -Wcast-align -Wunused)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies in `"literal" + string` at -O3 (its bug 105651).
  target_compile_options(rondo_options INTERFACE -Wno-restrict)
endif()
option(RONDO_WERROR "Warnings are errors" OFF)
if(RONDO_WERROR)
  target_compile_options(rondo_options INTERFACE -Werror)
endif()
if(RONDO_SANITIZE)
  target_compile_options(rondo_options INTERFACE -fsanitize=${RONDO_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  target_link_options(rondo_options INTERFACE -fsanitize=${RONDO_SANITIZE})
endif()
if(RONDO_FUZZERS)
  # Coverage feedback in everything; the fuzzers themselves link -fsanitize=fuzzer.
  target_compile_options(rondo_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
find_program(RONDO_CCACHE ccache)
if(RONDO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the tree, so that clones share what they compile; and what precompiled headers ask for.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${RONDO_CCACHE})
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()
