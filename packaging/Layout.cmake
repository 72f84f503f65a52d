# SPDX-License-Identifier: Apache-2.0
# rubia_laid_out(target): a program with LLVM within, which is laid out anew as a compilation runs through it, if RUBIA_BOLT is ON:
# 13 % less time for a kernel (docs/performance.md). It needs llvm-bolt and a minute or two for each program. The profile is that of
# rubia-commands; names of functions are the same in the worker.
option(RUBIA_BOLT "Lay out the programs that compile by llvm-bolt (release packages)" OFF)
set(RUBIA_LAYOUT ${CMAKE_CURRENT_LIST_DIR}/lay_out.py)
set(RUBIA_LAYOUT_PROFILE ${PROJECT_BINARY_DIR}/layout.fdata)
if(RUBIA_BOLT)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  find_program(RUBIA_LLVM_BOLT NAMES llvm-bolt-22 llvm-bolt HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
  find_program(RUBIA_MERGE_FDATA NAMES merge-fdata-22 merge-fdata HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
endif()

function(rubia_laid_out TARGET)
  if(NOT RUBIA_BOLT)
    return()
  endif()
  target_link_options(${TARGET} PRIVATE -Wl,--emit-relocs)
  set(train "")
  if("${TARGET}" STREQUAL "rubia-commands")
    set(train COMMAND ${Python3_EXECUTABLE} -B ${RUBIA_LAYOUT} train --bolt ${RUBIA_LLVM_BOLT} --merge ${RUBIA_MERGE_FDATA}
      --rubia $<TARGET_FILE:rubia-commands> -o ${RUBIA_LAYOUT_PROFILE})
  else()
    add_dependencies(${TARGET} rubia-commands)
  endif()
  add_custom_command(TARGET ${TARGET} POST_BUILD ${train}
    COMMAND ${Python3_EXECUTABLE} -B ${RUBIA_LAYOUT} apply --bolt ${RUBIA_LLVM_BOLT} --profile ${RUBIA_LAYOUT_PROFILE} $<TARGET_FILE:${TARGET}>
    COMMENT "Laying out ${TARGET}" VERBATIM)
endfunction()
