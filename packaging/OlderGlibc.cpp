// SPDX-License-Identifier: Apache-2.0
// What static libraries of the build system take from a newer C library than the one that programs
// are promised to run with (GLIBC_2.34). Each function stands in front of the C library's, within
// one program or library alone. It uses what every GLIBC_2.34 has.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#define RUBIA_PRIVATE __attribute__((visibility("hidden")))

// GLIBC_2.35: libgcc's unwinder asks which file's unwind table covers `pc`. It reads the range and
// the table, nothing else.
#ifdef DLFO_STRUCT_HAS_EH_DBASE
extern "C" RUBIA_PRIVATE int _dl_find_object(void *pc, dl_find_object *result) noexcept {
  struct Search {
    uintptr_t pc;
    dl_find_object *result;
  } search{reinterpret_cast<uintptr_t>(pc), result};
  auto visit = [](dl_phdr_info *info, size_t, void *data) {
    auto &[wanted, found] = *static_cast<Search *>(data);
    uintptr_t begin = UINTPTR_MAX, end = 0, table = 0;
    bool covers = false;
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr) &header = info->dlpi_phdr[i];
      const uintptr_t at = info->dlpi_addr + header.p_vaddr;
      if (header.p_type == PT_GNU_EH_FRAME)
        table = at;
      if (header.p_type != PT_LOAD)
        continue;
      begin = at < begin ? at : begin;
      end = at + header.p_memsz > end ? at + header.p_memsz : end;
      covers |= wanted - at < header.p_memsz;
    }
    if (!covers || !table)
      return 0;
    *found = {};
    found->dlfo_map_start = reinterpret_cast<void *>(begin);
    found->dlfo_map_end = reinterpret_cast<void *>(end);
    found->dlfo_eh_frame = reinterpret_cast<void *>(table);
    return 1;
  };
  return dl_iterate_phdr(visit, &search) == 1 ? 0 : -1;
}
#endif

// GLIBC_2.36: LLVM's names of temporary files.
extern "C" RUBIA_PRIVATE uint32_t arc4random() noexcept {
  uint32_t value = 0;
  for (;;) {
    if (getrandom(&value, sizeof(value), 0) == sizeof(value))
      return value;
    if (errno != EINTR)
      abort(); // a number that is not random could be somebody's
  }
}
