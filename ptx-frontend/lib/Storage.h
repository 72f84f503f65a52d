// SPDX-License-Identifier: Apache-2.0
// What a Module owns: the arena of its nodes, the index of its functions, and where lines
// begin.
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Allocator.h"
#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace rubia::ptx {

struct Module::Storage {
  llvm::BumpPtrAllocator arena;
  llvm::DenseMap<llvm::StringRef, const Function *> functionsByName;
  std::once_flag linesFound;
  std::vector<uint32_t> lineStarts; // of the text, offsets (Lines.h)

  template <typename T> llvm::ArrayRef<T> copy(llvm::ArrayRef<T> values) {
    if (values.empty())
      return {};
    T *memory = arena.Allocate<T>(values.size());
    std::uninitialized_copy(values.begin(), values.end(), memory);
    return {memory, values.size()};
  }
  llvm::StringRef copy(llvm::StringRef text) {
    char *memory = arena.Allocate<char>(text.size());
    std::copy(text.begin(), text.end(), memory);
    return {memory, text.size()};
  }
};

/// Builds the operands of one instruction after the other where they stay, in blocks of the arena:
/// most instructions are written once and never copied.
class OperandList {
public:
  explicit OperandList(llvm::BumpPtrAllocator &arena) : arena(arena) {}

  void begin() { last = first; } // drops what was not finished
  size_t size() const { return size_t(last - first); }
  /// References to the others become invalid.
  Operand &add() {
    if (last == end)
      grow();
    return *new (last++) Operand();
  }
  llvm::ArrayRef<Operand> finish() {
    llvm::ArrayRef<Operand> list(first, last);
    first = last;
    return list;
  }

private:
  llvm::BumpPtrAllocator &arena;
  Operand *first = nullptr, *last = nullptr, *end = nullptr;
  size_t blockSize = 128;

  void grow() {
    size_t used = size();
    blockSize = std::max(std::min<size_t>(2 * blockSize, 4096), 2 * used);
    Operand *block = arena.Allocate<Operand>(blockSize);
    std::uninitialized_copy(first, last, block);
    first = block;
    last = block + used;
    end = block + blockSize;
  }
};

} // namespace rubia::ptx
