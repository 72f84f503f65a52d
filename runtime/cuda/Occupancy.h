// SPDX-License-Identifier: Apache-2.0
// How many CTAs of a kernel fit on a multiprocessor.
#pragma once

#include "runtime/cuda/Module.h"

namespace rubia::runtime::cuda {

/// Refuses a cooperative launch whose CTAs do not fit on the device at once.
Result checkCooperative(Context &context, Module &module, Function &function,
                        const LaunchShape &shape);

} // namespace rubia::runtime::cuda
