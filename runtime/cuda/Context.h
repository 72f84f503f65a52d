// SPDX-License-Identifier: Apache-2.0
// Making and ending contexts.
#pragma once

#include "runtime/cuda/Driver.h"

namespace rubia::runtime::cuda {

Result createContext(Context **out, unsigned flags, int ordinal); // and pushes it
Result destroyContext(Context *context);
Result retainPrimary(Context **out, int ordinal);
Result releasePrimary(int ordinal);
Result resetPrimary(int ordinal);

} // namespace rubia::runtime::cuda
