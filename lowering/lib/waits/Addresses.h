// SPDX-License-Identifier: Apache-2.0
// What the addresses of a function's accesses are made of. It is asked for each wait of a function,
// and found once.
#pragma once

#include "lowering/lib/analysis/Definitions.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <map>

namespace rubia::lowering {

class Addresses {
public:
  Addresses(const ptx::Function &function, const Definitions &definitions)
      : function(function), definitions(definitions) {}

  /// The instructions that write by an address which is made of a variable or register that an
  /// access's address is made of too.
  llvm::BitVector writersTo(uint32_t access) const;

  /// Whether an access is by a pointer that is made of the same one as another's, whatever the
  /// index.
  bool isSamePointer(uint32_t access, uint32_t other) const;

  /// Whether the address of a write is another one than that of an access by a constant, which all
  /// threads of the warp compute of the same.
  bool isElsewhere(uint32_t write, uint32_t access) const;

private:
  using Set = llvm::SmallPtrSet<const void *, 8>; // variables and registers

  void findWriters() const;
  const Set &pointersOf(uint32_t access) const;
  bool isMadeOfItsSources(uint32_t writer) const;
  // By one writer: then a register is no place of its own.
  bool isMadeOfOthers(llvm::ArrayRef<uint32_t> writers, unsigned depth) const;
  void findRoots(const ptx::Operand &operand, Set &roots, unsigned depth = 0) const;
  void findPointers(const ptx::Operand &operand, Set &pointers, bool onlyVariables = false,
                    unsigned depth = 0) const;
  void findPointersOfSources(const ptx::Instruction &writer, Set &pointers, bool onlyVariables,
                             unsigned depth) const;

  const ptx::Function &function;
  const Definitions &definitions;
  // What has been asked for.
  mutable llvm::DenseMap<const void *, llvm::SmallVector<uint32_t>> writers; // by root
  mutable bool hasWriters = false;
  mutable std::map<uint32_t, Set> pointers; // by access
};

} // namespace rubia::lowering
