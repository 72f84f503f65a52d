// SPDX-License-Identifier: Apache-2.0
// Whether two registers can be joined: the coalescer asks for a class of registers that has parts
// of both classes, at each copy. LLVM compares all indices of parts of one with all of the other,
// and AMDGPU has hundreds: 4 % of the time of a product of matrices. The answers are remembered.
//
// The linker is told to call the function of here in the place of LLVM's (`--wrap`).
#pragma once

namespace rubia::codegen {

/// How many answers of this thread were remembered, and how many were LLVM's.
struct SuperClassAnswers {
  unsigned remembered = 0, found = 0;
};
SuperClassAnswers superClassAnswers();

} // namespace rubia::codegen
