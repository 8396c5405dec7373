# cmake -DRONDO=... -DHELP2MAN=... -DVERSION=... -DCOMMAND=run -DPAGE=.../rondo-run.1 -P manual_page.cmake: the page of a subcommand
# (no COMMAND: of `rondo`) from what its --help says.
execute_process(COMMAND ${RONDO} ${COMMAND} --help OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
# "rondo run - start a program ..." is the page's name, and help2man looks for the usage behind "Usage:".
if(NOT text MATCHES "^rondo[a-z ]* - ([^\n]*)\n\nUsage:\n  ([^\n]*(\n  [^\n]*)*)\n\n(.*)$")
  message(FATAL_ERROR "rondo ${COMMAND} --help does not begin with a name, what it is, and its usage")
endif()
set(summary "${CMAKE_MATCH_1}")
set(rest "${CMAKE_MATCH_4}")
string(REPLACE "\n  " "\n   or: " usage "${CMAKE_MATCH_2}")
# Entries of a list and examples do not run into each other when blank lines stand between them.
string(REGEX REPLACE "\n  ([a-z_]+  +[A-Za-z])" "\n\n  \\1" rest "${rest}")
string(REGEX REPLACE "\n  (rondo [a-z]+ [^\n]*)" "\n\n  \\1" rest "${rest}")
get_filename_component(folder ${PAGE} DIRECTORY)
get_filename_component(name ${PAGE} NAME_WE)
file(WRITE ${folder}/${name}.txt "Usage: ${usage}\n\n${rest}")
# help2man asks a program of the page's name for its help: `cat` of that text, under this name.
find_program(CAT cat REQUIRED)
file(CREATE_LINK ${CAT} ${folder}/${name} SYMBOLIC)
execute_process(COMMAND ${HELP2MAN} --no-info --section 1 --name ${summary} --version-string ${VERSION} --source "rondo ${VERSION}"
                        --help-option ${folder}/${name}.txt --output ${PAGE} ${folder}/${name}
                COMMAND_ERROR_IS_FATAL ANY)
