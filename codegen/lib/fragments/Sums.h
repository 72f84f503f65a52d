// SPDX-License-Identifier: Apache-2.0
// The sums of products, kept in the unit's layout: from one product to the next, through phis, and
// where they are scaled in between. What still needs them in PTX's gets them at the end.
#pragma once

#include "codegen/lib/fragments/Context.h"
#include "llvm/IR/Instructions.h"
#include <map>
#include <optional>
#include <vector>

namespace rubia::codegen::fragments {

/// A value in the unit's layout, and the values in PTX's that it stands for.
struct Definition {
  Native native;
  Registers registers; ///< extracts of calls of mma, or phis
  llvm::BasicBlock *block = nullptr;
};

/// A product of one warp each.
using Product = llvm::SmallVector<llvm::CallInst *, 2>;

class Sums {
public:
  explicit Sums(const Context &context) : context(context) {}

  /// A product that adds to `sums` and gives `results`.
  void add(const Product &product, const Registers &sums, const Registers &results);
  /// Gives each product its sums, once all products are known.
  void connect();
  /// Erases what was computed in PTX's layout. Nothing may use the sums but what stays.
  void moveBack();

private:
  /// An operation that is done in the unit's layout, its bits, and what these were.
  struct Computed {
    llvm::BinaryOperator *operation;
    llvm::Instruction *bits, *before;
  };

  void define(Definition definition);
  const Definition *definitionOf(const Registers &registers) const;
  Native sumsAt(Registers registers, llvm::BasicBlock::iterator place);
  std::optional<Native> nativeSums(const Registers &registers);
  Native movedSums(const Registers &registers, llvm::BasicBlock::iterator place);
  std::optional<Native> computedOf(const Registers &registers);
  Native operandsAt(const Registers &values, llvm::Instruction *place);
  void takeOver(const Registers &registers, llvm::ArrayRef<llvm::BinaryOperator *> operations,
                Definition definition);
  std::optional<Native> phiOf(const Registers &registers);
  void moveBack(const Definition &definition);

  const Context &context;
  llvm::SmallVector<std::pair<Product, Registers>, 0> products;
  std::vector<Definition> definitions;
  std::map<Registers, Native> movedOperands;
  llvm::SmallVector<Computed> computed;
  llvm::DenseMap<llvm::Value *, llvm::Value *> renamed; ///< what their bits were to what they are
  llvm::DenseMap<llvm::Value *, std::pair<size_t, unsigned>> definedBy;
  bool isComputing = false;
};

} // namespace rubia::codegen::fragments
