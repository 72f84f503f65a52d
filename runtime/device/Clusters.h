// SPDX-License-Identifier: Apache-2.0
// Which clusters of CTAs a kernel may be launched in.
#pragma once

#include "runtime/device/LoadedModule.h"
#include <string>

namespace rubia::runtime {

/// Why the grid cannot be launched in clusters, whatever the device has room for: "" if it can.
/// `most`: CTAs of a cluster.
std::string whyNoClusters(const Manifest::Kernel &kernel, const LaunchShape &shape, uint64_t most);

} // namespace rubia::runtime
