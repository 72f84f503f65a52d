// SPDX-License-Identifier: Apache-2.0
// What the hidden arguments of a kernel point to, for as long as it runs: the means by which HIP's
// device library prints, allocates and joins the workgroups of a grid, or of several.
#pragma once

#include "emulator/hip/HostCalls.h"
#include "emulator/hip/Modules.h"
#include "emulator/hip/PrintfBuffer.h"

namespace rubia::emulator::hip {

class HiddenArguments {
public:
  /// Only what the kernel takes is made.
  static llvm::Expected<HiddenArguments> make(Device &device, const KernelLaunch &launch);
  HiddenPointers pointers() const;
  /// After the kernel: prints what it has left in its buffer.
  llvm::Error finish();

private:
  std::unique_ptr<HostCalls> hostCalls;
  std::unique_ptr<PrintfBuffer> printf;
  DeviceMemory gridSync;
  uint64_t heap = 0;
};

} // namespace rubia::emulator::hip
