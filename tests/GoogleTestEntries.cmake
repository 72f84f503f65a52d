# SPDX-License-Identifier: Apache-2.0
# Which entries ctest has for a GoogleTest program: asked of the program when ctest starts. Starting a process costs more
# than most cases take, so that an entry is a suite, and its output names the cases that failed. An entry is a case
# where cases change their process, wait, or take so long that they should run on several cores.
function(rubia_google_test PROGRAM BY_CASE)
  if(NOT EXISTS ${PROGRAM})
    add_test(${PROGRAM}_NOT_BUILT ${PROGRAM}_NOT_BUILT)
    return()
  endif()
  execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE list TIMEOUT 60 COMMAND_ERROR_IS_FATAL ANY)
  # Behind '#' are values of parameters, which may hold anything.
  string(REGEX REPLACE " *#[^\n]*" "" list "${list}")
  string(REPLACE "\n" ";" list "${list}")
  foreach(line IN LISTS list)
    if(line MATCHES "^(.+)[.]$")
      set(suite ${CMAKE_MATCH_1})
      set(filters "${suite}.*")
    elseif(line MATCHES "^  (.+)$" AND suite)
      set(filters "${suite}.${CMAKE_MATCH_1}")
    else()
      continue()
    endif()
    if(BY_CASE AND filters MATCHES "[.][*]$" OR NOT BY_CASE AND NOT filters MATCHES "[.][*]$")
      continue()
    endif()
    string(REGEX REPLACE "[.][*]$" "" name "${filters}")
    add_test("${name}" ${PROGRAM} "--gtest_filter=${filters}" --gtest_brief=1)
    set_tests_properties("${name}" PROPERTIES ${ARGN} SKIP_RETURN_CODE 77) # GoogleTestMain.cpp
  endforeach()
endfunction()
