// SPDX-License-Identifier: Apache-2.0
// How many CTAs of a kernel fit on a multiprocessor.
#pragma once

#include "runtime/cuda/Operation.h"

namespace rubia::runtime::cuda {

/// Refuses a cooperative launch whose CTAs do not fit on the device at once.
Result checkCooperative(Context &context, Module &module, Function &function,
                        const LaunchShape &shape);

/// Refuses clusters that are none, whatever the device has room for. `most`: CTAs of a cluster.
Result checkCluster(const Manifest::Kernel &kernel, const LaunchShape &shape, uint64_t most);
/// Gives the launch the cluster that the program has set for the function, if one is. Refuses
/// launches that give another.
Result takeCluster(const Device &device, Function &function, LaunchShape &shape);
/// Of a node whose graph is instantiated: it keeps the cluster that is set for its function then.
Result keepCluster(Context &context, Operation &operation);
/// The most CTAs of a cluster that launches of the function may have.
uint32_t mostClusterCtas(const Device &device, Function &function);

} // namespace rubia::runtime::cuda
