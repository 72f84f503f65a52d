# SPDX-License-Identifier: Apache-2.0
# cpack -G "DEB;TGZ": a package for Debian 12 and later, and a tarball that runs from any folder.
set(CPACK_PACKAGE_NAME rubia)
set(rubia_variant "")
if(NOT RUBIA_CUDART_HANDSHAKE)
  # Another package in the place of the usual one.
  set(rubia_variant "-without-handshake")
  set(CPACK_DEBIAN_PACKAGE_NAME rubia-without-handshake)
  set(CPACK_DEBIAN_PACKAGE_PROVIDES rubia)
  set(CPACK_DEBIAN_PACKAGE_CONFLICTS rubia)
  set(CPACK_DEBIAN_PACKAGE_REPLACES rubia)
endif()
set(CPACK_PACKAGE_VENDOR Rubia)
set(CPACK_PACKAGE_CONTACT "Rubia maintainers <maintainers@users.noreply.example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "run CUDA programs on AMD GPUs without their source")
set(CPACK_PACKAGE_FILE_NAME rubia${rubia_variant}-${PROJECT_VERSION}-linux-x86_64)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_VERBATIM_VARIABLES TRUE)
set(CPACK_STRIP_FILES TRUE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Rubia takes the PTX out of a CUDA program, compiles each kernel for an AMD GPU,
keeps it in a cache, and launches it through HIP. An emulator of AMD GPUs is
included: it runs the same code on the CPU.")
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.34)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libcurl4, libamdhip64-5, libamd-comgr2")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/postrm)

# The packages' bytes depend on the commit alone: all times are its time.
execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} log -1 --format=%ct OUTPUT_VARIABLE RUBIA_COMMIT_TIME OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET)
if(NOT RUBIA_COMMIT_TIME)
  set(RUBIA_COMMIT_TIME 0)
endif()
set(CPACK_RUBIA_COMMIT_TIME ${RUBIA_COMMIT_TIME})
set(CPACK_RUBIA_DEBIAN_FOLDER ${CMAKE_CURRENT_SOURCE_DIR}/debian)
set(CPACK_RUBIA_VERSION ${PROJECT_VERSION})
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_SOURCE_DIR}/PackageOptions.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/FinishTree.cmake)
include(CPack)
