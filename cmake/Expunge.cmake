# Helpers for every target of the project.
#
#   expunge_library(NAME x [EXACT] SRCS ... [DEPS ...])    library expunge_x, alias expunge::x
#   expunge_binary(NAME x SRCS ... [DEPS ...])             program x, in build/<preset>/bin
#   expunge_test(NAME x SRCS ... [DEPS ...] LABELS ...)    GoogleTest program, each of its cases a ctest test
#   expunge_program_test(NAME X SCRIPT x.py TIMEOUT seconds LABELS ...)   a Python test of the built programs
#
# EXACT marks code whose results must be the same bits from every compiler: no contraction, never fast-math.

set(EXPUNGE_WARNINGS -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-unused-parameter)
# GCC 12 reports these falsely inside the headers of the standard library and nlohmann-json, where it inlines deeply
# (-O3); Clang and AddressSanitizer find the real ones.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND EXPUNGE_WARNINGS -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict)
endif()
# Boost.Asio has fences, which ThreadSanitizer does not know; its queues have mutexes, too.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND EXPUNGE_SANITIZE MATCHES "thread")
  list(APPEND EXPUNGE_WARNINGS -Wno-tsan)
endif()
if(EXPUNGE_WERROR)
  list(APPEND EXPUNGE_WARNINGS -Werror)
endif()
set(EXPUNGE_EXACT_FLAGS -ffp-contract=off -fno-fast-math)

function(_expunge_configure target)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE ${EXPUNGE_WARNINGS})
endfunction()

function(expunge_library)
  cmake_parse_arguments(ARG "EXACT" "NAME" "SRCS;DEPS" ${ARGN})
  add_library(expunge_${ARG_NAME} STATIC ${ARG_SRCS})
  add_library(expunge::${ARG_NAME} ALIAS expunge_${ARG_NAME})
  _expunge_configure(expunge_${ARG_NAME})
  target_link_libraries(expunge_${ARG_NAME} PUBLIC ${ARG_DEPS})
  if(ARG_EXACT)
    target_compile_options(expunge_${ARG_NAME} PRIVATE ${EXPUNGE_EXACT_FLAGS})
  endif()
endfunction()

function(expunge_binary)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SRCS})
  _expunge_configure(${ARG_NAME})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS})
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

function(expunge_test)
  if(NOT EXPUNGE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS;LABELS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SRCS})
  _expunge_configure(${ARG_NAME})
  target_compile_options(${ARG_NAME} PRIVATE ${EXPUNGE_EXACT_FLAGS})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
  # The discovery takes several labels apart and keeps the first: the file sets all of them.
  list(GET ARG_LABELS 0 first_label)
  gtest_discover_tests(${ARG_NAME} PROPERTIES LABELS ${first_label} DISCOVERY_TIMEOUT 60)
  set(labels ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}_labels.cmake)
  file(WRITE ${labels} "foreach(test IN LISTS ${ARG_NAME}_TESTS)
  set_tests_properties(\"\${test}\" PROPERTIES LABELS \"${ARG_LABELS}\")
endforeach()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels})
endfunction()

function(expunge_program_test)
  if(NOT EXPUNGE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "NAME;SCRIPT;TIMEOUT" "LABELS" ${ARGN})
  find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
  add_test(NAME ${ARG_NAME} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SCRIPT})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "EXPUNGE_BIN=${PROJECT_BINARY_DIR}/bin" SKIP_RETURN_CODE 77)
endfunction()
