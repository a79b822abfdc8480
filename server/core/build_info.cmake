# Run by every build (cmake -P): writes OUT from IN with the commit of SOURCE; touches it only if that changed.
set(COMMIT unknown)
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} --no-optional-locks -C ${SOURCE} describe --always --dirty --abbrev=40 --exclude=*
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(COMMIT ${described})
  endif()
endif()
configure_file(${IN} ${OUT} @ONLY)
