// SPDX-License-Identifier: Apache-2.0
#include "emulator/CodeObjectInfo.h"
#include "emulator/lib/object/ElfFile.h"
#include "emulator/lib/object/KernelMetadata.h"

using namespace llvm;

namespace rubia::emulator {

Expected<CodeObjectInfo> describeCodeObject(ArrayRef<uint8_t> bytes) {
  Expected<ElfFile> elf = openCodeObject(bytes);
  if (!elf)
    return elf.takeError();
  CodeObjectInfo info;
  info.version = elf->version;
  info.target = elf->cpu.empty() ? "unknown processor" : elf->cpu;
  Expected<StringMap<KernelMetadata>> kernels = readKernelMetadata(elf->file());
  if (!kernels)
    return kernels.takeError();
  for (const auto &entry : *kernels) {
    Kernel kernel;
    entry.second.apply(kernel);
    info.kernels.push_back({entry.first().str(), kernel.arguments, kernel.kernargSize,
                            kernel.explicitKernargSize, entry.second.ldsBytes,
                            entry.second.scratchBytes, kernel.sgprCount, kernel.vgprCount,
                            kernel.agprCount, kernel.maxWorkgroupSize, entry.second.waveSize});
  }
  llvm::sort(info.kernels, [](const auto &a, const auto &b) { return a.name < b.name; });
  return info;
}

} // namespace rubia::emulator
