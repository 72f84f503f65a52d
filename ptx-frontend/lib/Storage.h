// What a Module owns: the arena of its nodes, and the index of its functions.
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Allocator.h"

namespace rubia::ptx {

struct Module::Storage {
  llvm::BumpPtrAllocator arena;
  llvm::DenseMap<llvm::StringRef, const Function *> functionsByName;

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

} // namespace rubia::ptx
