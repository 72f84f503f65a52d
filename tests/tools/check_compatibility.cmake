# SPDX-License-Identifier: Apache-2.0
execute_process(COMMAND ${PYTHON} -B ${ROOT}/tools/test-apps --table ${OUT}/compatibility.md COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${OUT}/compatibility.md ${ROOT}/docs/compatibility.md RESULT_VARIABLE differ)
if(differ)
  message(FATAL_ERROR "docs/compatibility.md is not what the results say: tools/test-apps --table docs/compatibility.md")
endif()
