// SPDX-License-Identifier: Apache-2.0
// The printf of kernels that were compiled for a buffer (-mprintf-kind=buffered): records that the
// host reads when the kernel has ended (LLVM's AMDGPUEmitPrintf.cpp; ROCm's device libraries,
// __printf_alloc).
#pragma once

#include "emulator/hip/DeviceMemory.h"

namespace rubia::emulator::hip {

class PrintfBuffer {
public:
  /// For a kernel with the formats of HIP's printf; an error for those of OpenCL's.
  static llvm::Expected<std::unique_ptr<PrintfBuffer>> make(const Kernel &kernel);
  uint64_t address() const { return memory.address(); }
  /// Prints all records, and says so if the buffer was too small for more.
  llvm::Error print();

private:
  PrintfBuffer(DeviceMemory memory, std::map<uint64_t, std::string> formats)
      : memory(std::move(memory)), formats(std::move(formats)) {}

  DeviceMemory memory;
  std::map<uint64_t, std::string> formats; // by the number that stands for them
};

} // namespace rubia::emulator::hip
