// SPDX-License-Identifier: Apache-2.0
// Whether the results of a case are right: equal to what hardware gave, or, where the manual allows
// an error, within it.
#pragma once

#include "Case.h"
#include "reference/Reference.h"
#include "llvm/Support/Error.h"
#include <string>

namespace rubia::golden {

class Judge {
public:
  /// An error if the reference evaluator does not know the instruction.
  static llvm::Expected<Judge> create(const Case &test);

  /// What the reference evaluator says of one tuple.
  reference::ReferenceOutput reference(llvm::ArrayRef<uint64_t> sources) const;

  /// The results of one tuple against the expected ones. An approximate result may differ within
  /// its documented bound. With `anyNan` a NaN may be any NaN.
  bool isRight(llvm::ArrayRef<uint64_t> sources, llvm::ArrayRef<uint64_t> got,
               llvm::ArrayRef<uint64_t> expected, bool anyNan);
  /// The expected results, as far as the reference gives them: exact ones.
  std::vector<uint64_t> expected(llvm::ArrayRef<uint64_t> sources) const;

  /// The largest error of an approximate result that isRight() met and took, as a fraction of its
  /// bound.
  double worst() const { return worstFraction; }

private:
  Judge(const Case &test, reference::Reference reference)
      : test(&test), evaluate(std::move(reference)) {}
  const Case *test;
  reference::Reference evaluate;
  double worstFraction = 0;
};

} // namespace rubia::golden
