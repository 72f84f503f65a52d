// SPDX-License-Identifier: Apache-2.0
// One PTX instruction as text, in parts that can be exchanged, and the module around it.
// Everything that an instruction names is declared by its surroundings: names follow a convention
// (below), and the declarations are made from the names that occur in the text. So a changed
// instruction needs no bookkeeping.
//   %b32_3     a register of type .b32           %b32v4_1   a vector register
//   gv cv sv lv pv          variables in .global .const .shared .local .param
//   texture sampler surface opaque references in .global
//   fn (one .u32 argument, one .u32 result), procedure (none)     functions
//   L1         a label                           targets    a list of branch targets
#pragma once

#include "ptx-frontend/InstructionTable.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace rubia::test {

/// What .version and .target say.
struct Dialect {
  ptx::Version version;
  unsigned sm = 0;
  char variant = 0;                 // 'a', 'f' or 0
  bool independentTextures = false; // .target texmode_independent
  std::string target() const;       // "sm_90a"
  std::string name() const;         // "9.0 sm_90a", "9.0 sm_75,texmode_independent"
  std::string header() const;       // .version, .target, .address_size
  friend bool operator<(const Dialect &a, const Dialect &b) {
    return std::tuple(a.version.major, a.version.minor, a.sm, a.variant, a.independentTextures) <
           std::tuple(b.version.major, b.version.minor, b.sm, b.variant, b.independentTextures);
  }
};
/// Takes a dialect's name and the blank after it off `text`.
std::optional<Dialect> takeDialect(llvm::StringRef &text);

/// A .target that ptxas 13.0 takes, and the first .version that has it.
struct Target {
  unsigned sm;
  char variant;
  ptx::Version version;
};
llvm::ArrayRef<Target> knownTargets(); // ascending
/// The same target with at least its first version.
Dialect withKnownTarget(Dialect dialect);

struct Instance {
  const ptx::Form *form = nullptr;
  Dialect dialect;
  std::string guard; // "@%pred_1 " or nothing
  std::string opcode;
  std::vector<std::string> modifiers; // with their dots
  std::vector<std::string> operands;
  std::string separator = ", ", end = ";";

  std::string spelling() const;
  std::string text() const; // "add.s32 %b32_1, %b32_2, 5;"
};

/// A module of one kernel a text; text i is on line kFirstKernelLine + i.
inline constexpr unsigned kFirstKernelLine = 5;
std::string moduleWith(const Dialect &dialect, llvm::ArrayRef<std::string> texts);

} // namespace rubia::test
