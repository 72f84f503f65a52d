// SPDX-License-Identifier: Apache-2.0
// A launch with observers.
#pragma once

#include "emulator/lib/run/Dispatch.h"

namespace rubia::emulator {

class Observer;

/// Runs all workgroups of `dispatch` on the calling thread, instruction by instruction. Waves, also
/// of several workgroups, take turns of random lengths, the same for the same seed.
llvm::Expected<Statistics> runObserved(Dispatch &dispatch, llvm::ArrayRef<Observer *> observers,
                                       uint64_t seed = 1);

} // namespace rubia::emulator
