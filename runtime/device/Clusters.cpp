// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/Clusters.h"
#include "lowering/Abi.h"

namespace rubia::runtime {

std::string whyNoClusters(const Manifest::Kernel &kernel, const LaunchShape &shape, uint64_t most) {
  const std::array<uint32_t, 3> cluster = clusterOf(kernel, shape);
  const uint64_t ctas = ctasOf(cluster);
  if (ctas == 1)
    return "";
  if (ctas > most)
    return "at most " + std::to_string(most) + " are possible" +
           (most < abi::kMaxClusterCtas ? " (see cudaFuncAttributeNonPortableClusterSizeAllowed)"
                                        : "");
  if (kernel.maxClusterRank && ctas > kernel.maxClusterRank)
    return "the kernel allows " + std::to_string(kernel.maxClusterRank);
  uint64_t all = 1;
  for (unsigned i = 0; i < 3; ++i) {
    if (shape.grid[i] % cluster[i])
      return "the grid is no multiple of them";
    all *= shape.grid[i]; // no overflow: `all` is below 2^31
    if (all > INT32_MAX)
      return "a grid of so many CTAs has no clusters";
  }
  return "";
}

} // namespace rubia::runtime
