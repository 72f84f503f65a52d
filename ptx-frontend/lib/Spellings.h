// Dotted instruction words against the forms of the table: once a word, then memoised in its Name.
#pragma once

#include "ptx-frontend/InstructionTable.h"
#include "ptx-frontend/Module.h"
#include "ptx-frontend/lib/Shape.h"
#include "llvm/Support/Allocator.h"
#include <string>

namespace rubia::ptx {

// An operand place with its type worked out for one spelling.
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
  uint16_t sm;
  uint8_t requiredOperands; // expected.size() without the optional ones
  bool labels;              // has a label or label list operand
  bool call;
  mutable RightShapes rightShapes;
  mutable bool legal = false; // in its module: the verifier's finding, once a spelling
};

// Matches `text` ("add.rn.f32") against the forms of its opcode; null if none matches.
const MatchedSpelling *matchSpelling(llvm::StringRef text, llvm::BumpPtrAllocator &arena);

// Why matchSpelling gave null, e.g. "unsupported instruction 'foo.bar' in kernel 'k'"; `where` is
// " in kernel 'k'". Misspellings get a suggestion. `unsupported` tells PTX that is legal, as far as
// one can see, but has no row.
std::string explainMismatch(llvm::StringRef text, llvm::StringRef where, bool &unsupported);

} // namespace rubia::ptx
