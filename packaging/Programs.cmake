# SPDX-License-Identifier: Apache-2.0
# rubia_shipped(target): a program or library that is installed. It needs the C library of GLIBC_2.34 and nothing else: the
# C++ library and all others are within, where the system has their archives. To be called before other libraries are linked:
# archives that stand in front of shared libraries win.
add_library(rubia_older_glibc STATIC ${CMAKE_CURRENT_LIST_DIR}/OlderGlibc.cpp)
target_compile_options(rubia_older_glibc PRIVATE -Wall -Wextra -Werror)

set(RUBIA_ARCHIVES archive nettle bz2 lzma lz4 sodium z zstd mpfr gmp)
foreach(name IN LISTS RUBIA_ARCHIVES)
  find_library(RUBIA_STATIC_${name} lib${name}.a)
endforeach()

# LLVM makes and forgets many small things: with jemalloc's heap a kernel takes 4 % less time (docs/performance.md).
option(RUBIA_JEMALLOC "Give the worker jemalloc's heap, where the system has its archive" ON)
find_library(RUBIA_STATIC_jemalloc NAMES libjemalloc_pic.a libjemalloc.a)

function(rubia_shipped TARGET)
  target_link_libraries(${TARGET} PRIVATE rubia_older_glibc)
  foreach(name IN LISTS RUBIA_ARCHIVES)
    if(RUBIA_STATIC_${name})
      target_link_libraries(${TARGET} PRIVATE ${RUBIA_STATIC_${name}})
    endif()
  endforeach()
  target_link_options(${TARGET} PRIVATE -Wl,--as-needed $<$<NOT:$<BOOL:${RUBIA_SANITIZED}>>:-static-libstdc++>
    $<$<NOT:$<BOOL:${RUBIA_SANITIZED}>>:-static-libgcc>)
endfunction()
