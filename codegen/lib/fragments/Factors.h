// SPDX-License-Identifier: Apache-2.0
// The factors of products in the unit's layout: read so where ldmatrix reads them, or converted.
#pragma once

#include "codegen/lib/fragments/Context.h"
#include "llvm/IR/Instructions.h"
#include <map>
#include <optional>
#include <string>

namespace rubia::codegen::fragments {

/// The ldmatrix that a register comes from, perhaps a round of a loop before, and which of its
/// registers it is.
std::pair<llvm::CallInst *, unsigned> loadBefore(llvm::Value *value);

class Factors {
public:
  explicit Factors(const Context &context) : context(context) {}

  /// What was converted in one block is no other's.
  void beginBlock() { converted.clear(); }
  /// `which`: "a" or "b".
  Native input(llvm::IRBuilder<> &b, llvm::StringRef which, const Registers &registers);

private:
  /// base + uniform + constant; the same lanes' bases may be moved once for many addresses.
  struct Address {
    llvm::Value *base;
    llvm::SmallVector<llvm::Value *, 2> uniform;
    uint32_t constant;
  };

  std::optional<Native> loadInLayout(llvm::StringRef which, const Registers &registers);
  std::optional<Native> loadedBefore(llvm::StringRef which, const Registers &registers);
  Address addressOf(llvm::Value *value) const;
  bool takePointerApart(Address &address, llvm::PtrToIntInst *number) const;
  Native rowsOf(llvm::Value *base, llvm::CallInst *load, const std::string &which, uint32_t order);

  const Context &context;
  std::map<std::pair<bool, Registers>, Native> converted; ///< in one block; A is true
  std::map<std::tuple<llvm::CallInst *, bool, uint32_t>, Native> loads;
  std::map<std::pair<bool, Registers>, Native> loadPhis; ///< of fragments that were read before
  std::map<std::tuple<llvm::Value *, std::string, uint32_t>, Native> movedRows;
};

} // namespace rubia::codegen::fragments
