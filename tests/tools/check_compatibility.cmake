# SPDX-License-Identifier: Apache-2.0
foreach(option table frameworks)
  string(REPLACE "table" "compatibility" page ${option})
  execute_process(COMMAND ${PYTHON} -B ${ROOT}/tools/test-apps --${option} ${OUT}/${page}.md COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${OUT}/${page}.md ${ROOT}/docs/${page}.md RESULT_VARIABLE differ)
  if(differ)
    message(FATAL_ERROR "docs/${page}.md is not what the results say: tools/test-apps --${option} docs/${page}.md")
  endif()
endforeach()
