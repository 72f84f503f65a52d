// SPDX-License-Identifier: Apache-2.0
// PTX texts of several translation units -> one text. What follows (parsing, units, the manifest,
// the cache) knows nothing of it.
#pragma once

#include "ptx-frontend/Diagnostics.h"
#include "ptx-frontend/Module.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rubia::ptx {

struct LinkInput {
  std::string name; // for diagnostics
  std::string text;
  bool isLibrary = false; // it counts only if it defines what others lack
};

struct LinkOptions {
  bool takesFirst = false; // of several strong definitions, as nvJitLink does: no LinkError
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

/// Where lines of a linked text come from: from `line` on, up to the next origin, they are the
/// lines from `unitLine` on of an input.
struct LinkOrigin {
  unsigned line, input, unitLine;
};

struct Linked {
  std::string text;
  std::vector<std::string> inputs; // names
  std::vector<LinkOrigin> origins; // sorted by lines
  /// What is wrong with an input alone: others may have what it lacks.
  struct InputDiagnostic {
    unsigned input;
    Diagnostic diagnostic;
    std::string text; // formatted
  };
  std::vector<InputDiagnostic> diagnostics;
  /// With LinkOptions::takesFirst: definitions that others came before.
  std::vector<std::string> ignored;

  /// The diagnostic of the linked text with the line that it has in an input, and the number of
  /// that; none of lines that the linker wrote.
  std::optional<std::pair<unsigned, Diagnostic>> origin(const Diagnostic &diagnostic) const;
};

/// The pragma of a linked text. Each unit was checked against its own `.version` and `.target`; the
/// text has one of each, by which its instructions are not checked.
inline constexpr llvm::StringLiteral kLinkedPragma = "rubia linked";

/// Links the units as nvlink does: of weak definitions the first is taken unless there is a strong
/// one, common variables are one of the largest size, names that are not visible are their unit's
/// own. What nobody defines stays external. Line information of inlined functions and .section are
/// left out.
llvm::Expected<Linked> linkUnits(llvm::ArrayRef<LinkInput> inputs, LinkOptions options = {});
/// The text alone.
llvm::Expected<std::string> link(llvm::ArrayRef<LinkInput> inputs);

/// External symbols of the module that a body or an initialiser names, in the order of their names,
/// without those that CUDA's driver defines. What a kernel cannot do without is found when it is
/// compiled; this is for who links.
std::vector<std::string> unresolved(const Module &module);

} // namespace rubia::ptx
