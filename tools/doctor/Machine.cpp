// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/Machine.h"
#include "targets/Target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <grp.h>
#include <nlohmann/json.hpp>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::tools {

namespace {
// A small file of the kernel's or a package's; empty where it cannot be read.
std::string textOf(const Twine &path) {
  auto file = MemoryBuffer::getFileAsStream(path);
  return file ? (*file)->getBuffer().take_front(1 << 16).trim().str() : "";
}

std::string groupName(gid_t group) {
  const struct group *entry = getgrgid(group);
  return entry ? entry->gr_name : std::to_string(group);
}

std::vector<std::string> foldersIn(const std::string &path) {
  std::vector<std::string> names;
  std::error_code error;
  for (sys::fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    names.push_back(sys::path::filename(at->path()).str());
  llvm::sort(names);
  return names;
}

Machine::Kfd lookAtKfd(const std::string &root) {
  Machine::Kfd kfd;
  const std::string path = root + "/dev/kfd";
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return kfd;
  kfd.exists = true;
  kfd.usable = access(path.c_str(), R_OK | W_OK) == 0;
  kfd.group = groupName(status.st_gid);
  return kfd;
}

std::vector<std::string> ownGroups() {
  const int count = getgroups(0, nullptr);
  std::vector<gid_t> ids(size_t(std::max(count, 0)));
  if (count > 0)
    (void)!getgroups(count, ids.data());
  ids.push_back(getegid());
  std::vector<std::string> names;
  for (gid_t id : ids)
    names.push_back(groupName(id));
  llvm::sort(names);
  names.erase(llvm::unique(names), names.end());
  return names;
}

// "gfx_target_version 110000" among the properties of a node.
unsigned versionOf(StringRef properties) {
  SmallVector<StringRef> lines;
  properties.split(lines, '\n');
  unsigned version = 0;
  for (StringRef line : lines)
    if (line.consume_front("gfx_target_version ") && line.trim().getAsInteger(10, version))
      version = 0;
  return version;
}

std::vector<Machine::Card> lookForCards(const std::string &root) {
  std::vector<Machine::Card> cards;
  const std::string nodes = root + "/sys/class/kfd/kfd/topology/nodes";
  for (const std::string &name : foldersIn(nodes)) {
    Machine::Card card;
    card.target = targetOfVersion(versionOf(textOf(nodes + "/" + name + "/properties")));
    if (card.target.empty() || StringRef(name).getAsInteger(10, card.node))
      continue;
    card.name = textOf(nodes + "/" + name + "/name");
    card.supported = targets::find(card.target) != nullptr;
    cards.push_back(std::move(card));
  }
  llvm::sort(cards, [](const auto &a, const auto &b) { return a.node < b.node; });
  return cards;
}

std::vector<Machine::Rocm> lookForRocm(const std::string &root, StringRef rocmPath) {
  std::vector<std::string> places;
  if (!rocmPath.empty())
    places.push_back(rocmPath.str());
  for (const std::string &name : foldersIn(root + "/opt"))
    if (name == "rocm" || StringRef(name).starts_with("rocm-"))
      places.push_back(root + "/opt/" + name);
  std::vector<Machine::Rocm> found;
  std::vector<std::string> real;
  for (const std::string &place : places) {
    const std::string version = textOf(place + "/.info/version");
    SmallString<256> path;
    if (version.empty() || sys::fs::real_path(place, path) || llvm::is_contained(real, path.str()))
      continue;
    real.push_back(path.str().str());
    found.push_back({place, version});
  }
  return found;
}

std::vector<std::string> adviceFor(const Machine &machine) {
  std::vector<std::string> advice;
  if (!machine.kfd.exists)
    advice.push_back("There is no /dev/kfd: the kernel has no driver for AMD GPUs, or a container "
                     "lacks it. Programs run on the emulator.");
  else if (!machine.kfd.usable)
    advice.push_back("/dev/kfd is there and may not be opened: `sudo usermod -aG " +
                     machine.kfd.group + " " + machine.user + "`, then log in again.");
  if (machine.kfd.exists && machine.rocm.empty())
    advice.push_back("No ROCm was found in ROCM_PATH and /opt: install its HIP runtime "
                     "(libamdhip64).");
  for (const Machine::Card &card : machine.cards)
    if (!card.supported)
      advice.push_back(card.target + " is no target of Rubia's: `rubia help targets` lists them.");
  return advice;
}
} // namespace

// Decimal: major * 10000 + minor * 100 + stepping, of which gfx's last two digits are hexadecimal.
std::string targetOfVersion(unsigned version) {
  if (!version)
    return "";
  return "gfx" + std::to_string(version / 10000) +
         utohexstr(version / 100 % 100, /*LowerCase=*/true) +
         utohexstr(version % 100, /*LowerCase=*/true);
}

Machine Machine::look(const std::string &root, StringRef rocmPath) {
  Machine machine;
  machine.kfd = lookAtKfd(root);
  const passwd *user = getpwuid(geteuid());
  machine.user = user ? user->pw_name : std::to_string(geteuid());
  machine.groups = ownGroups();
  machine.cards = lookForCards(root);
  machine.rocm = lookForRocm(root, rocmPath);
  machine.advice = adviceFor(machine);
  return machine;
}

nlohmann::ordered_json Machine::json() const {
  using nlohmann::ordered_json;
  ordered_json all{{"kfd", {{"exists", kfd.exists}, {"usable", kfd.usable}, {"group", kfd.group}}},
                   {"user", user},
                   {"groups", groups},
                   {"cards", ordered_json::array()},
                   {"rocm", ordered_json::array()},
                   {"advice", advice}};
  for (const Card &card : cards)
    all["cards"].push_back({{"node", card.node},
                            {"name", card.name},
                            {"target", card.target},
                            {"supported", card.supported}});
  for (const Rocm &found : rocm)
    all["rocm"].push_back({{"path", found.path}, {"version", found.version}});
  return all;
}

} // namespace rubia::tools
