# Manual pages of the command and its subcommands, made from their --help where help2man is there.
find_program(RONDO_HELP2MAN help2man)
if(NOT RONDO_HELP2MAN OR CMAKE_CROSSCOMPILING)
  return()
endif()
set(script ${CMAKE_CURRENT_LIST_DIR}/manual_page.cmake)
set(manual_pages "")
foreach(command "" run bench info op)
  string(REGEX REPLACE "(.+)" "-\\1" suffix "${command}")
  set(page ${PROJECT_BINARY_DIR}/man/rondo${suffix}.1)
  add_custom_command(OUTPUT ${page}
                     COMMAND ${CMAKE_COMMAND} -DRONDO=$<TARGET_FILE:rondo_command> -DHELP2MAN=${RONDO_HELP2MAN} -DVERSION=${PROJECT_VERSION}
                             -DCOMMAND=${command} -DPAGE=${page} -P ${script}
                     DEPENDS rondo_command ${script} VERBATIM)
  list(APPEND manual_pages ${page})
endforeach()
add_custom_target(rondo_manual ALL DEPENDS ${manual_pages})
install(FILES ${manual_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
