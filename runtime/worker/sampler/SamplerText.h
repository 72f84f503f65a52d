// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace rubia::runtime {

/// PTX whose kernels call the sampler as those of nvcc do: each has one kind of
/// instruction, of which it reads one or all four results, with and without .ftz. A kernel that
/// mixes kinds may need functions that none of these has.
std::string samplerText();

} // namespace rubia::runtime
