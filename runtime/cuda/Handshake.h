// SPDX-License-Identifier: Apache-2.0
// See Handshake.cpp.
#pragma once

#include "runtime/cuda/Types.h"

namespace rubia::runtime::cuda {

/// What the answer covers besides the process, the thread and the devices: addresses that cudart
/// sees.
struct HandshakeAddresses {
  const void *cudartInterface; // export table
  const void *integrityCheck;  // export table
  const void *function;        // its slot 1
};

Result answerHandshake(uint32_t version, uint64_t unixSeconds, uint64_t (&out)[2],
                       const HandshakeAddresses &addresses);

} // namespace rubia::runtime::cuda
