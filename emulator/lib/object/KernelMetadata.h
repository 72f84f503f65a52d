// SPDX-License-Identifier: Apache-2.0
// The code object's metadata note (AMDGPUUsage "Code Object V5 Metadata").
#pragma once

#include "emulator/Emulator.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Object/ELF.h"

namespace rubia::emulator {

/// More than any launch can pass: HIP takes 4 KiB of arguments, CUDA 32,764 bytes.
constexpr uint32_t kMaxKernargBytes = 1 << 20;

struct KernelMetadata {
  std::vector<KernelArgument> arguments;
  uint32_t kernargSize = 0;
  uint32_t maxWorkgroupSize = 0;
  uint32_t sgprCount = 0, vgprCount = 0, agprCount = 0;
  bool dynamicStack = false;
  std::shared_ptr<const std::vector<std::string>> printfFormats; // of all kernels
  uint32_t ldsBytes = 0, scratchBytes = 0, waveSize = 0;         // the descriptor says these too

  /// Copies what the descriptor does not say.
  void apply(Kernel &kernel) const;
};

/// The metadata of all kernels by symbol name without ".kd". Errors: not what AMDGPUUsage
/// describes, which includes arguments that lie outside of the kernarg segment.
llvm::Expected<llvm::StringMap<KernelMetadata>>
readKernelMetadata(const llvm::object::ELFFile<llvm::object::ELF64LE> &file);

} // namespace rubia::emulator
