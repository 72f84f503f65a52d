# SPDX-License-Identifier: Apache-2.0
# Read by cpack, once for each generator.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  set(ENV{SOURCE_DATE_EPOCH} ${CPACK_RUBIA_COMMIT_TIME})
endif()
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
endif()
