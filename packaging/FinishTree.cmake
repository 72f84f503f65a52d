# SPDX-License-Identifier: Apache-2.0
# Run by cpack when the tree is staged: what Debian's packages have besides, and the time of all files.
set(tree ${CPACK_TEMPORARY_DIRECTORY})
if(CPACK_GENERATOR STREQUAL "DEB")
  set(doc ${tree}/usr/share/doc/rubia)
  file(RENAME ${doc}/LICENSE ${doc}/LICENSE.keep)
  file(REMOVE ${doc}/LICENSE.keep) # Debian's own file: copyright
  configure_file(${CPACK_RUBIA_DEBIAN_FOLDER}/copyright ${doc}/copyright COPYONLY)
  string(TIMESTAMP RUBIA_DEBIAN_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH
  configure_file(${CPACK_RUBIA_DEBIAN_FOLDER}/changelog.in ${doc}/changelog.Debian @ONLY)
  configure_file(${CPACK_RUBIA_DEBIAN_FOLDER}/lintian-overrides ${tree}/usr/share/lintian/overrides/rubia COPYONLY)
  file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
  execute_process(COMMAND gzip -9n ${doc}/changelog ${doc}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
endif()
execute_process(COMMAND find ${tree} -type d -exec chmod 755 {} + COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND find ${tree} -exec touch -h -d @$ENV{SOURCE_DATE_EPOCH} {} + COMMAND_ERROR_IS_FATAL ANY)
