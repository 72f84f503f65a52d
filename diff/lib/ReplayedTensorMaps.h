// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "diff/Replay.h"
#include "diff/TensorMaps.h"
#include "diff/lib/DriverApi.h"

namespace rubia::capsule {

/// Encodes the tensor maps of a launch, of memory where `relocation` has it. What is wrong; empty:
/// nothing.
std::string encodeTensorMaps(const Launch &launch, const DriverApi &api,
                             const Relocation &relocation, ReplacedTensorMaps &maps);

} // namespace rubia::capsule
