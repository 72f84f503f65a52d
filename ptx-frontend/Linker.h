// SPDX-License-Identifier: Apache-2.0
// PTX texts of several translation units -> one text. What follows (parsing, units, the manifest,
// the cache) knows nothing of it.
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace rubia::ptx {

struct LinkInput {
  std::string name; // for diagnostics
  std::string text;
  bool isLibrary = false; // it counts only if it defines what others lack
};

/// Symbols that stand against each other: two definitions, or a definition that is not what was
/// declared. Anything else that fails is malformed text.
class LinkError : public llvm::ErrorInfo<LinkError> {
public:
  static char ID;
  /// How its text begins: what libcuda knows it by.
  static constexpr llvm::StringLiteral kPrefix = "cannot be linked: ";
  std::string message;
  explicit LinkError(std::string message) : message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
};

/// Links the units as nvlink does: of weak definitions the first is taken unless there is a strong
/// one, common variables are one of the largest size, names that are not visible are their unit's
/// own. What nobody defines stays external. Line information of inlined functions and .section are
/// left out.
llvm::Expected<std::string> link(llvm::ArrayRef<LinkInput> inputs);

/// External symbols of the module that a body or an initialiser names, in the order of their names,
/// without those that CUDA's driver defines. What a kernel cannot do without is found when it is
/// compiled; this is for who links.
std::vector<std::string> unresolved(const Module &module);

} // namespace rubia::ptx
