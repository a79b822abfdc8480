cmake_minimum_required(VERSION 3.25)
# Fails unless expunge-verify is built from certificate, base and the reference solver alone.
#   -DBINARY=file -DCLOSURE=file with one link dependency a line -DREADELF=program -DLDD=program
file(STRINGS ${CLOSURE} closure)
execute_process(COMMAND ${READELF} -d ${BINARY} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${LDD} ${BINARY} OUTPUT_VARIABLE loaded COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${READELF} -sW ${BINARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*\\[[^]\n]*\\]" needed "${dynamic}")

# What must be there; without it, this check would look at the wrong thing.
foreach(name IN ITEMS expunge_certificate expunge_certificate_log expunge_certificate_bundle expunge_solver expunge_base
        OpenSSL::Crypto)
  if(NOT name IN_LIST closure)
    message(FATAL_ERROR "${name} is not among the link dependencies: ${closure}")
  endif()
endforeach()
if(NOT needed MATCHES "libcrypto" OR NOT loaded MATCHES "libcrypto")
  message(FATAL_ERROR "libcrypto is not among the libraries of ${BINARY}:\n${dynamic}\n${loaded}")
endif()

# Of the solver, what solves from nothing, and nothing of what the service solves with.
if(NOT symbols MATCHES "SolveFromNothing")
  message(FATAL_ERROR "the reference solver is not among the symbols of ${BINARY}")
endif()
foreach(class IN ITEMS ExactMemory ActiveSet StateProof MarginSystem MemoryCore)
  if(symbols MATCHES "solver[0-9]+${class}")
    message(FATAL_ERROR "expunge-verify has ${class}, which the service solves with")
  endif()
endforeach()

# Of our own targets, only these; of foreign ones, none that serves or stores.
foreach(name IN LISTS closure)
  if(name MATCHES "^expunge" AND NOT name MATCHES "^expunge_(verify|certificate|certificate_log|certificate_bundle|solver|exact_arithmetic|base)$")
    message(FATAL_ERROR "expunge-verify links ${name}")
  endif()
endforeach()
string(TOLOWER "${closure};${needed};${loaded}" everything)
foreach(word IN ITEMS grpc protobuf rocksdb upb libz libssl cares re2 spdlog curl)
  if(everything MATCHES "${word}")
    message(FATAL_ERROR "expunge-verify depends on ${word}:\n${everything}")
  endif()
endforeach()
foreach(line IN LISTS needed)
  if(NOT line MATCHES "\\[(libcrypto|libflint|libflint-arb|libmpfr|libgmp|libabsl_[a-z0-9_]+|libstdc\\+\\+|libgcc_s|libm|libc|libasan|libubsan|libtsan|ld-linux[a-z0-9_-]*)\\.so")
    message(FATAL_ERROR "expunge-verify needs a library that is not on the list: ${line}")
  endif()
endforeach()
message(STATUS "expunge-verify: ${needed}")
