# SPDX-License-Identifier: Apache-2.0
# Everything that Rubia takes from the system. tools/install-dependencies installs it on Debian 12.

find_program(RUBIA_CCACHE ccache)
if(RUBIA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${RUBIA_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${RUBIA_CCACHE})
endif()

# Debian's place, else any that CMake knows: LLVM_DIR, CMAKE_PREFIX_PATH.
find_package(LLVM 22.1 CONFIG QUIET PATHS /usr/lib/llvm-22 NO_DEFAULT_PATH)
if(NOT LLVM_FOUND)
  find_package(LLVM 22.1 REQUIRED CONFIG)
endif()
find_package(Threads REQUIRED)
find_path(RUBIA_HIP_INCLUDE_DIR hip/hip_runtime_api.h REQUIRED)
find_path(RUBIA_TOML_INCLUDE_DIR toml++/toml.h REQUIRED)
if(CMAKE_CROSSCOMPILING) # LLVM's package names a library by its path on the system that it is for
  get_target_property(libraries LLVMSupport INTERFACE_LINK_LIBRARIES)
  list(TRANSFORM libraries REPLACE "^/" "${CMAKE_SYSROOT}/")
  set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
endif()
if(RUBIA_EMULATOR_ONLY)
  return()
endif()

find_package(LLD CONFIG QUIET PATHS ${LLVM_INSTALL_PREFIX} NO_DEFAULT_PATH) # the same LLVM's
if(NOT LLD_FOUND)
  find_package(LLD REQUIRED CONFIG)
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(GMP REQUIRED IMPORTED_TARGET gmpxx)
pkg_check_modules(LIBARCHIVE REQUIRED IMPORTED_TARGET libarchive)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(CURL REQUIRED libcurl) # its headers: the library is opened at run time
pkg_check_modules(MPFR REQUIRED IMPORTED_TARGET mpfr)
find_package(nlohmann_json REQUIRED CONFIG)
find_package(CLI11 REQUIRED CONFIG)
find_path(RUBIA_COMGR_INCLUDE_DIR NAMES amd_comgr/amd_comgr.h amd_comgr.h REQUIRED)
find_program(RUBIA_NVCC nvcc PATHS /usr/local/cuda/bin)
find_program(RUBIA_PTXAS ptxas PATHS /usr/local/cuda/bin)
