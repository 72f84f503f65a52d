// SPDX-License-Identifier: Apache-2.0
// dladdr gives a shared library's path as it was loaded, and for a program argv[0], which says
// nothing when the program was found in PATH: there /proc/self/exe is asked.
#include "runtime/base/Installation.h"
#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>

namespace rubia::runtime {

static std::string find() {
  Dl_info info{};
  link_map *map = nullptr;
  void *here = reinterpret_cast<void *>(&find);
  bool found = dladdr1(here, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) && map;
  const char *file = found && map->l_name && *map->l_name ? map->l_name : "/proc/self/exe";
  char real[PATH_MAX];
  std::string path = realpath(file, real) ? real : file;
  return path.substr(0, path.rfind('/'));
}

std::string installationFolder() {
  // Found once: a relative path means something only until the program changes its folder.
  static const std::string *folder = new std::string(find());
  return *folder;
}

} // namespace rubia::runtime
