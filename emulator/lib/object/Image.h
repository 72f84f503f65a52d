// SPDX-License-Identifier: Apache-2.0
// The memory of a code object: its segments mapped, or, where it is what clang -c writes, its
// sections laid out and linked; relocations applied; what its symbols stand for.
#pragma once

#include "emulator/Emulator.h"
#include "emulator/lib/machine/Program.h"
#include "emulator/lib/object/ElfFile.h"
#include "llvm/ADT/StringMap.h"

namespace rubia::emulator {

/// Frees its memory when destroyed.
struct Image {
  Memory *memory = nullptr;
  uint8_t *bytes = nullptr; // virtual address 0 first
  uint64_t size = 0;
  llvm::StringMap<Symbol> symbols;
  std::vector<CodeRange> code;      // executable parts of what the file holds
  std::vector<CodeRange> functions; // in address order, each range once, within `code`

  Image() = default;
  Image(const Image &) = delete;
  Image &operator=(const Image &) = delete;
  ~Image();

  /// Whether a part is within the image; `what` is for the message.
  llvm::Error contains(uint64_t offset, uint64_t size, const llvm::Twine &what) const;
  /// Has the code at `address` decoded, as an open range if no symbol says how far it goes. Nothing
  /// happens where there is no code.
  void addEntry(uint64_t address);
};

/// Fills an empty image. Errors: a malformed file, undefined symbols, relocations that are not
/// supported or do not fit.
llvm::Error loadImage(const ElfFile &elf, Memory &memory, Image &image);

} // namespace rubia::emulator
