// SPDX-License-Identifier: Apache-2.0
// Copies and fills that the runtime needs for itself. HIP's null stream waits for every blocking
// stream of the program, and one of these may wait for the very thread that copies. So they are
// done on a stream that waits for none. It has the lowest priority: see runtime/cuda/Gates.h.
#pragma once

#include "runtime/device/Hip.h"
#include <cstdint>
#include <mutex>

namespace rubia::runtime {

/// A stream of HIP's that is neither ordered against the program's nor shares a queue with them.
int makeOwnStream(const Hip &hip, void *&stream);

/// One for each context, made at the first use. Calls return when all is done, with HIP's errors.
/// HIP's current device must be the context's.
class OwnStream {
public:
  int copy(const Hip &hip, void *to, const void *from, size_t bytes, HipMemcpyKind kind);
  int fill(const Hip &hip, void *to, uint8_t value, size_t bytes);

  int release(const Hip &hip);
  /// It died with the device.
  void forget();

private:
  int open(const Hip &hip);

  std::mutex mutex; // guards what follows
  void *stream = nullptr;
};

} // namespace rubia::runtime
