// SPDX-License-Identifier: Apache-2.0
// The loader would give the stand-in for the name. So the folders are gone through here: those of
// RUBIA_CUDA_LIBRARIES, the path that the program named itself, those of LD_LIBRARY_PATH, those
// that the program and its libraries name in DT_RPATH and DT_RUNPATH, those that Python packages
// have beside the libraries that are loaded, and the toolkit's.
#include "standins/lib/RealLibrary.h"
#include "settings/Settings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include <cstddef>
#include <dlfcn.h>
#include <link.h>
#include <vector>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting cudaLibraries;
} // namespace rubia::settings::Id

namespace rubia::standins {

static void addFolders(std::vector<std::string> &folders, StringRef list) {
  SmallVector<StringRef> parts;
  list.split(parts, ':', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    folders.push_back(part.str());
}

// .../site-packages/torch/lib/libtorch.so -> .../site-packages/nvidia/*/lib
static int addPackages(dl_phdr_info *info, size_t, void *data) {
  auto &folders = *static_cast<std::vector<std::string> *>(data);
  const StringRef path = info->dlpi_name ? info->dlpi_name : "";
  for (StringRef root : {"/site-packages/", "/dist-packages/"}) {
    const size_t at = path.find(root);
    if (at == StringRef::npos)
      continue;
    std::error_code code;
    const std::string nvidia = (path.take_front(at + root.size()) + "nvidia").str();
    for (sys::fs::directory_iterator i(nvidia, code), end; !code && i != end; i.increment(code))
      if (std::string folder = i->path() + "/lib"; !is_contained(folders, folder))
        folders.push_back(folder);
  }
  return 0;
}

static int addName(dl_phdr_info *info, size_t, void *data) {
  static_cast<std::vector<std::string> *>(data)->push_back(info->dlpi_name ? info->dlpi_name : "");
  return 0;
}

static constexpr StringLiteral kSystemFolders[] = {
    "/lib",     "/lib64",     "/lib/x86_64-linux-gnu",
    "/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu"};

// Where the loader looks for what an object needs; the system's own folders come last of all.
static void addSearchPaths(std::vector<std::string> &folders, void *object) {
  Dl_serinfo size;
  if (dlinfo(object, RTLD_DI_SERINFOSIZE, &size))
    return;
  std::vector<std::max_align_t> memory(size.dls_size / sizeof(std::max_align_t) + 1);
  auto *paths = reinterpret_cast<Dl_serinfo *>(memory.data());
  if (dlinfo(object, RTLD_DI_SERINFOSIZE, paths) || dlinfo(object, RTLD_DI_SERINFO, paths))
    return;
  for (unsigned i = 0; i < paths->dls_cnt; ++i) {
    const StringRef folder = paths->dls_serpath[i].dls_name;
    if (!is_contained(kSystemFolders, folder) && !is_contained(folders, folder))
      folders.push_back(folder.str());
  }
}

static void addSearchPathsOfAll(std::vector<std::string> &folders) {
  std::vector<std::string> names;
  dl_iterate_phdr(addName, &names); // which holds locks that opening needs
  for (const std::string &name : names)
    if (void *object = dlopen(name.empty() ? nullptr : name.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
      addSearchPaths(folders, object);
      dlclose(object);
    }
}

// What the program itself opened by its path (Preload.cpp).
static std::string askedPath(StringRef name) {
  auto *ask =
      reinterpret_cast<const char *(*)(const char *)>(dlsym(RTLD_DEFAULT, "rubiaAskedPath"));
  const char *path = ask ? ask(name.str().c_str()) : nullptr;
  return path ? path : "";
}

static std::vector<std::string> folders(StringRef name) {
  std::vector<std::string> all;
  addFolders(all, settings::Settings().text(settings::Id::cudaLibraries));
  if (const std::string asked = askedPath(name); !asked.empty())
    all.push_back(StringRef(asked).rsplit('/').first.str());
  addFolders(all, settings::systemVariable("LD_LIBRARY_PATH").value_or(""));
  addSearchPathsOfAll(all);
  dl_iterate_phdr(addPackages, &all);
  for (const char *folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/opt/cuda/lib64",
                             "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"})
    all.push_back(folder);
  return all;
}

// Where this library lies.
static std::string ownFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&ownFolder), &info) || !info.dli_fname)
    return "";
  return StringRef(info.dli_fname).rsplit('/').first.str();
}

// Of another installation, whose stand-in would look for the real one and find this.
static bool isOfStandIns(const std::string &path) {
  SmallString<256> real;
  return !sys::fs::real_path(path, real) &&
         real.str().rsplit('/').first.ends_with("/rubia/standins/lib");
}

Error RealLibrary::open() {
  std::lock_guard<std::mutex> lock(mutex);
  if (handle)
    return Error::success();
  const std::string own = ownFolder();
  std::string problems;
  for (const std::string &folder : folders(name)) {
    const std::string path = folder + "/" + name.str();
    if (sys::fs::equivalent(folder, own) || !sys::fs::exists(path) || isOfStandIns(path))
      continue;
    // Not dlopen(), which gives the stand-in for it (Preload.cpp).
    handle = dlmopen(LM_ID_BASE, path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle)
      return Error::success();
    problems += std::string("; ") + dlerror();
  }
  return createStringError(inconvertibleErrorCode(),
                           "Rubia needs NVIDIA's " + name +
                               " for this and does not find it: install it (" + packages +
                               "), or name its folder in RUBIA_CUDA_LIBRARIES" + problems);
}

void *RealLibrary::symbol(const char *symbolName) const { return dlsym(handle, symbolName); }

} // namespace rubia::standins
