// SPDX-License-Identifier: Apache-2.0
// A code object as an ELF file (AMDGPUUsage "ELF Code Object"). What can be known without loading
// it is checked here, once, for those who load it and for those who only describe it: all parts
// that the headers speak of lie in the file, and no byte belongs to two of them, so that whatever
// is read or mapped later is bounded by the size of the file.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Object/ELFObjectFile.h"
#include <memory>

namespace rubia::emulator {

using Elf = llvm::object::ELF64LE;

struct ElfFile {
  std::unique_ptr<llvm::MemoryBuffer> aligned; // a copy, if the bytes were not
  std::unique_ptr<llvm::object::ELFObjectFile<Elf>> object;
  std::string cpu;      // "gfx1100"; empty if LLVM does not know it
  unsigned version = 0; // of code objects: 4, 5 or 6
  bool linked = false;  // else what clang -c writes: sections and relocations

  const llvm::object::ELFFile<Elf> &file() const { return object->getELFFile(); }
};

/// The size of the ELF file that `bytes` begin with: the end of the last part that its headers
/// speak of. Errors: not an AMDGPU code object, parts beyond the end of `bytes`, overlapping parts.
llvm::Expected<uint64_t> sizeOfCodeObject(llvm::ArrayRef<uint8_t> bytes);

/// `bytes` must outlive the result. Errors: as above; another OS than HSA, another version, neither
/// linked nor relocatable.
llvm::Expected<ElfFile> openCodeObject(llvm::ArrayRef<uint8_t> bytes);

/// "malformed code object: <what>".
llvm::Error malformed(const llvm::Twine &what);

} // namespace rubia::emulator
