// SPDX-License-Identifier: Apache-2.0
// A launch under the check `order`.
#pragma once

#include "emulator/lib/run/Dispatch.h"

namespace rubia::emulator {

/// Runs all workgroups of `dispatch` on the calling thread.
llvm::Expected<Statistics> runInOrder(Dispatch &dispatch, const OrderCheck &check);

} // namespace rubia::emulator
