// SPDX-License-Identifier: Apache-2.0
// What a code object says about itself, without loading or decoding it: also for processors that
// the emulator does not know.
#pragma once

#include "emulator/Emulator.h"

namespace rubia::emulator {

struct KernelInfo {
  std::string name;
  std::vector<KernelArgument> arguments; // in the order of the source, hidden ones last
  uint32_t kernargSize = 0;              // in bytes, with hidden arguments
  uint32_t explicitKernargSize = 0;
  uint32_t ldsBytes = 0, scratchBytes = 0; // fixed
  uint32_t sgprCount = 0, vgprCount = 0, agprCount = 0;
  uint32_t maxWorkgroupSize = kMaxWorkgroupSize;
  uint32_t waveSize = 0;
};

struct CodeObjectInfo {
  std::string target;   // "gfx1100"
  unsigned version = 0; // 4, 5 or 6
  std::vector<KernelInfo> kernels;
};

/// Errors: not an AMDGPU code object of version 4 to 6, parts that lie outside of the file,
/// malformed metadata.
llvm::Expected<CodeObjectInfo> describeCodeObject(llvm::ArrayRef<uint8_t> elf);

/// Whether the bytes begin like an AMDGPU ELF file.
bool isCodeObject(llvm::ArrayRef<uint8_t> bytes);

} // namespace rubia::emulator
