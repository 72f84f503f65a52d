# SPDX-License-Identifier: Apache-2.0
# How a Rubia library, program or test is declared. Headers are included as "module/Header.h", from the top folder.

# The installed tree and the build tree have the same shape, so that programs find each other in both:
# bin/rubia, lib/rubia/libcuda.so.1, lib/rubia/librubia-emulator.so, lib/rubia/rubia-worker.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(RUBIA_LIBRARY_DIR ${PROJECT_BINARY_DIR}/lib/rubia)

# Sanitized libraries have symbols that only a sanitized program brings. ThreadSanitizer has to see the C++ library's locks, those of
# static variables among them: libraries do not have it within then.
set(RUBIA_SANITIZED FALSE)
if(CMAKE_BUILD_TYPE MATCHES "^(Asan|Tsan)$")
  set(RUBIA_SANITIZED TRUE)
endif()

# LLVM's static archives: programs bring their own libLLVM.so, and LLVM's private MC functions are only in the archives.
function(rubia_llvm_libraries OUT)
  llvm_map_components_to_libnames(libs ${ARGN})
  set(${OUT} ${libs} PARENT_SCOPE)
endfunction()

function(rubia_target_options TARGET)
  target_include_directories(${TARGET} PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(${TARGET} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${TARGET} PRIVATE ${LLVM_DEFINITIONS_LIST})
  target_compile_options(${TARGET} PRIVATE -Wall -Wextra -Werror)
  target_link_options(${TARGET} PRIVATE -fuse-ld=lld -Wl,--gc-sections)
  target_compile_options(${TARGET} PRIVATE -ffunction-sections -fdata-sections)
endfunction()
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})

# rubia_library(name SOURCES ... LINK ... LLVM components ...): a static library.
function(rubia_library TARGET)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;LLVM" ${ARGN})
  add_library(${TARGET} STATIC ${ARG_SOURCES})
  rubia_target_options(${TARGET})
  rubia_llvm_libraries(llvm ${ARG_LLVM})
  target_link_libraries(${TARGET} PUBLIC ${ARG_LINK} ${llvm})
endfunction()

# Heavy LLVM headers, parsed once per target that asks for them.
function(rubia_precompile TARGET)
  target_precompile_headers(${TARGET} PRIVATE ${ARGN})
  target_compile_options(${TARGET} PRIVATE -Xclang -fno-pch-timestamp)
endfunction()

# C++ to PTX: the same whether or not there is a CUDA toolkit, which clang would take the PTX version from.
set(RUBIA_CXX_TO_PTX ${CMAKE_CXX_COMPILER} -x c++ -std=c++20 --target=nvptx64-nvidia-cuda -march=sm_80 -O2
  --cuda-path=/nonexistent -Xclang -target-feature -Xclang +ptx88)
