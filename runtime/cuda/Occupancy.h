// SPDX-License-Identifier: Apache-2.0
// How many CTAs of a kernel fit on a multiprocessor.
#pragma once

#include "runtime/cuda/Module.h"

namespace rubia::runtime::cuda {

/// Refuses a cooperative launch whose CTAs do not fit on the device at once.
Result checkCooperative(Context &context, Module &module, Function &function,
                        const LaunchShape &shape);

/// Refuses clusters that are none, whatever the device has room for. `most`: CTAs of a cluster.
Result checkCluster(const Device &device, Function &function, const LaunchShape &shape,
                    uint64_t most);
/// With the cluster that the program has set for the function, if the launch gives none.
LaunchShape withCluster(const Device &device, Function &function, LaunchShape shape);
/// The most CTAs of a cluster that launches of the function may have.
uint32_t mostClusterCtas(const Device &device, Function &function);

} // namespace rubia::runtime::cuda
