// SPDX-License-Identifier: Apache-2.0
// Where the buffers of a launch lie, and who executes it.
#pragma once

#include "tools/LaunchableKernels.h"
#include <memory>

namespace rubia::tools {

class LaunchDevice {
public:
  virtual ~LaunchDevice() = default;
  /// Memory that kernels see at this address, at least one byte; the caller gives it to free().
  virtual llvm::Expected<void *> allocate(size_t bytes) = 0;
  virtual void free(void *address) = 0;
  virtual llvm::Error write(void *to, llvm::ArrayRef<uint8_t> bytes) = 0;
  virtual llvm::Error read(llvm::MutableArrayRef<uint8_t> bytes, const void *from) = 0;
  /// Waits for what was launched. What went wrong, as the device says it; empty: nothing.
  virtual std::string synchronize() = 0;
};

/// A device of HIP: a GPU, or the emulator.
std::unique_ptr<LaunchDevice> hipDevice(const runtime::Hip &hip);

/// The interpreter of reference/ as a device, with the kernels of a file.
struct ReferenceKernels {
  std::unique_ptr<LaunchDevice> device;
  KernelFinder find;
};
llvm::Expected<ReferenceKernels> openReferenceKernels(const std::string &path);

} // namespace rubia::tools
