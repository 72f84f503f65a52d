#include "emulator/CodeObjectInfo.h"
#include "emulator/lib/KernelMetadata.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;
using namespace llvm::object;

namespace rubia::emulator {

bool isCodeObject(ArrayRef<uint8_t> bytes) {
  return bytes.size() > sizeof(ELF::Elf64_Ehdr) &&
         toStringRef(bytes).starts_with("\x7f"
                                        "ELF") &&
         bytes[ELF::EI_CLASS] == ELF::ELFCLASS64 && (bytes[18] | bytes[19] << 8) == ELF::EM_AMDGPU;
}

Expected<CodeObjectInfo> describeCodeObject(ArrayRef<uint8_t> elf) {
  if (!isCodeObject(elf))
    return createStringError("not an AMDGPU code object");
  Expected<ELFObjectFile<ELF64LE>> object =
      ELFObjectFile<ELF64LE>::create(MemoryBufferRef(toStringRef(elf), ""));
  if (!object)
    return object.takeError();
  CodeObjectInfo info;
  const unsigned abi = object->getELFFile().getHeader().e_ident[ELF::EI_ABIVERSION];
  if (abi < ELF::ELFABIVERSION_AMDGPU_HSA_V4 || abi > ELF::ELFABIVERSION_AMDGPU_HSA_V6)
    return createStringError("code object version is not 4, 5 or 6 (ELF ABI version " + Twine(abi) +
                             ")");
  info.version = abi - ELF::ELFABIVERSION_AMDGPU_HSA_V4 + 4;
  info.target = object->tryGetCPUName().value_or("unknown processor").str();
  Expected<StringMap<KernelMetadata>> kernels = readKernelMetadata(object->getELFFile());
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
