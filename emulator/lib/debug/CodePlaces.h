// SPDX-License-Identifier: Apache-2.0
// Where lines and functions of the source are in decoded code, for breakpoints and steps.
//
// One pass over the line tables gives each operation its line, since a step asks for that at every
// instruction that a wave executes.
#pragma once

#include "emulator/lib/decode/InstructionStep.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace rubia::emulator {

class CodePlaces {
public:
  /// `lines`: of the same code object; null: it has none.
  CodePlaces(const SteppedProgram &code, const SourceLines *lines);

  struct Place {
    uint32_t file = 0; // of files()
    uint32_t line = 0;
    friend bool operator==(const Place &, const Place &) = default;
  };
  /// None: no line is known.
  std::optional<Place> placeOf(size_t operation) const;
  /// Whether a statement of the line begins at the operation: where steps may end. Where the code
  /// has no lines at all, every operation is one.
  bool isStatement(size_t operation) const { return places.empty() || statements[operation]; }
  llvm::ArrayRef<std::string> files() const { return names; }

  struct Line {
    unsigned number = 0; // the next line that has code
    std::vector<size_t> operations;
  };
  /// Where control enters a line of `file`, of which the last parts of its path may be given;
  /// empty: of any file. No operations: neither the line nor any behind it has code.
  Line find(llvm::StringRef file, unsigned line) const;
  /// The first operations of a function and of the places where it was inlined. Its name, what that
  /// stands for, or that without parameters.
  std::vector<size_t> findFunction(llvm::StringRef name) const;
  /// The operation at a pc.
  std::optional<size_t> findPc(uint64_t pc) const;
  /// The text of a file that the code object holds; empty: it does not.
  std::string embeddedText(llvm::StringRef file) const;

private:
  struct Function {
    std::string name;
    size_t operation;
  };

  const SteppedProgram &code;
  const SourceLines *lines;
  std::vector<std::string> names;
  std::vector<Place> places;    // by operation; line 0: none is known
  std::vector<bool> statements; // by operation
  std::vector<Function> functions;
};

/// Whether a user means this symbol by `wanted`.
bool isNamed(llvm::StringRef symbol, llvm::StringRef wanted);

} // namespace rubia::emulator
