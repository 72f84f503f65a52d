// SPDX-License-Identifier: Apache-2.0
// Dotted instruction words against the forms of the table: once a word, then memoised in its Name.
#pragma once

#include "ptx-frontend/InstructionTable.h"
#include "ptx-frontend/Module.h"
#include "ptx-frontend/lib/Shape.h"
#include "llvm/Support/Allocator.h"
#include <string>

namespace rubia::ptx {

/// An operand place with its type worked out for one spelling.
struct ExpectedOperand {
  const OperandSlot *slot;
  Type type;
  uint8_t vectorWidth; // 1, or the number of elements where it is a vector: up to 128
};

struct MatchedSpelling : Spelling {
  const Form *row;
  llvm::ArrayRef<ExpectedOperand> expected; // without those that hang on a modifier it has not
  llvm::ArrayRef<ExpectedOperand> inside;   // in the brackets of the address that has such
  Version version;                          // what the row and the modifiers need
  Version earlierVersion;                   // the same for targets from the row's earlierSm on
  uint16_t sm;
  uint8_t requiredOperands; // expected.size() without the optional ones
  bool labels;              // has a label or label list operand
  bool call;
  mutable RightShapes rightShapes;
  mutable bool legal = false; // in its module: the verifier's finding, once a spelling
};

/// Matches `text` ("add.rn.f32") against the forms of its opcode; null if none matches.
MatchedSpelling *matchSpelling(llvm::StringRef text, llvm::BumpPtrAllocator &arena);

/// Adds the modifiers that a module of this version and target means although it does not write
/// them: `div.f32` of PTX 1.0 to 1.3 is div.approx.ftz.f32, and sm_1x flushes the denormals of
/// every .f32 instruction. PTX ISA: floating-point-instructions,
/// data-movement-and-conversion-instructions-cvt.
void addImpliedModifiers(MatchedSpelling &spelling, Version version, unsigned sm,
                         llvm::BumpPtrAllocator &arena);

/// Why matchSpelling gave null, e.g. "unknown instruction 'foo.bar' in kernel 'k'"; `where` is
/// " in kernel 'k'". Misspellings get a suggestion.
std::string explainMismatch(llvm::StringRef text, llvm::StringRef where);

} // namespace rubia::ptx
