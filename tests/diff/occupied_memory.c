// SPDX-License-Identifier: Apache-2.0
// To be preloaded: takes the 2 MiB around each address in RUBIA_TEST_OCCUPIED (hexadecimal, with
// commas between), so that the memory of a launch is replayed elsewhere.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

__attribute__((constructor)) static void occupy(void) {
  const uintptr_t size = (uintptr_t)2 << 20;
  char *text = getenv("RUBIA_TEST_OCCUPIED");
  while (text && *text) {
    const uintptr_t address = strtoull(text, &text, 16);
    mmap((void *)(address & ~(size - 1)), size, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    text += *text == ',';
  }
}
