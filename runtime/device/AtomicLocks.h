// SPDX-License-Identifier: Apache-2.0
// The locks of atomics of 128 bits (abi::kAtomicLocksSlot): all modules of a device share them,
// since two modules may have such an atomic on the same address.
#pragma once

#include "runtime/device/OwnStream.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <memory>

namespace rubia::runtime {

class AtomicLocks {
public:
  /// Those of HIP's current device: made for the first module that asks, and freed with the last.
  static llvm::Expected<std::shared_ptr<AtomicLocks>> ofCurrentDevice(const Hip &hip,
                                                                      OwnStream &stream);
  /// The device was reset: its memory is gone, and modules that are loaded now get other locks.
  static void forgetDevice(int device);
  ~AtomicLocks();

  void *address() const { return memory; }

private:
  AtomicLocks(const Hip &hip, void *memory) : hip(hip), memory(memory) {}
  const Hip &hip;
  std::atomic<void *> memory; // null: forgotten
};

} // namespace rubia::runtime
