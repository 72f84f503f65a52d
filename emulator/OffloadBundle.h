// SPDX-License-Identifier: Apache-2.0
// Files with code objects for several processors: generic targets (AMDGPUUsage "Generic Processor
// Code Object Versioning") and clang's offload bundles (Clang Offload Bundler).
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace rubia::emulator {

struct BundleEntry {
  std::string id;     // "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"
  std::string target; // "gfx90a:xnack-"; empty if it is not for amdhsa
  llvm::ArrayRef<uint8_t> bytes;
};

struct OffloadBundle {
  std::unique_ptr<llvm::MemoryBuffer> plain; // what the entries point into, if it was compressed
  std::vector<BundleEntry> entries;
};

/// Whether the bytes begin like an offload bundle, compressed or not.
bool isOffloadBundle(llvm::ArrayRef<uint8_t> bytes);

/// The entries of a bundle, which may be followed by other bytes, and which must outlive the
/// result. Errors: malformed, entries outside of `bytes`, a size that cannot be true.
llvm::Expected<OffloadBundle> readOffloadBundle(llvm::ArrayRef<uint8_t> bytes);

/// The code object for `arch` at the start of `bytes`, which other bytes may follow: an ELF file as
/// it is, or the entry of an offload bundle that fits best. Errors: as above, an ELF file whose
/// parts lie outside of `bytes`, none for `arch` (the message lists what there is).
llvm::Expected<std::vector<uint8_t>> selectCodeObject(llvm::ArrayRef<uint8_t> bytes,
                                                      llvm::StringRef arch);

} // namespace rubia::emulator
