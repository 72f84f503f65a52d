// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rubia::runtime {

/// Has the sampler's functions taken that were compiled when Rubia was built
/// (codegen/ReadyFunctions.h), if they were. To be called at the start of a program that compiles.
void useReadySampler();

} // namespace rubia::runtime
