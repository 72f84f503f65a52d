// SPDX-License-Identifier: Apache-2.0
// Which registers live before an instruction: at a call, LLVM asks for each of 3,600 units whether
// the call's mask has it. What a mask has is remembered, as a function has few masks.
//
// The linker is told to call the function of here in the place of LLVM's (`--wrap`).
#pragma once

namespace rubia::codegen {

/// How many masks of calls this thread has looked up, and how many it knew.
struct CallMaskAnswers {
  unsigned remembered = 0, found = 0;
};
CallMaskAnswers callMaskAnswers();

} // namespace rubia::codegen
