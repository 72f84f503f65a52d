// SPDX-License-Identifier: Apache-2.0
// What a fault of a device leaves behind.
#pragma once

#include "runtime/cuda/Driver.h"

namespace rubia::runtime::cuda {

/// Writes the file that the settings ask for after a fault of the context's device, and ends the
/// process if they do: at once, by SIGABRT. Does nothing if they ask for none.
void dumpFault(Context &context, Result fault);

/// The context ends, and its settings with it.
void forgetDumpSettings(Context &context);

} // namespace rubia::runtime::cuda
