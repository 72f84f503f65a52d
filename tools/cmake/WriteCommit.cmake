# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=folder -DOUT=file -P WriteCommit.cmake: the commit that is built, as a header that changes with it alone.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=* OUTPUT_VARIABLE commit
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define RUBIA_COMMIT \"@commit@\"\n" @ONLY)
