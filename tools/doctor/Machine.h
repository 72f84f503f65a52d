// SPDX-License-Identifier: Apache-2.0
// What the machine has for AMD's GPUs: the kernel's driver, who may use it, cards, ROCm.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace rubia::tools {

struct Machine {
  struct Kfd { // /dev/kfd, by which programs reach GPUs
    bool exists = false, usable = false;
    std::string group; // its owner's, by name or number
  } kfd;
  struct Card {
    unsigned node = 0;  // of the driver's topology
    std::string name;   // as the driver calls it
    std::string target; // "gfx1100"
    bool supported = false;
  };
  struct Rocm {
    std::string path, version;
  };
  std::string user;
  std::vector<std::string> groups; // that this process is in
  std::vector<Card> cards;
  std::vector<Rocm> rocm;          // each folder once
  std::vector<std::string> advice; // what to do, a sentence each

  /// Reads what lies below `root`, which ends without a slash: "" is this machine. `rocmPath` is
  /// ROCM_PATH.
  static Machine look(const std::string &root, llvm::StringRef rocmPath);
  nlohmann::ordered_json json() const;
};

/// 90010 -> "gfx90a", 110000 -> "gfx1100": how the driver writes a processor; empty: of a CPU.
std::string targetOfVersion(unsigned version);

} // namespace rubia::tools
