// SPDX-License-Identifier: Apache-2.0
// Questions to LLVM's dominator tree, in time that depends on the answer and not on the function.
//
// Structurizing changes the tree for each region, and then asks it. LLVM numbers the whole tree
// before it answers many questions, and for each variable it goes through all that a definition
// dominates to find where phis belong. Both take the square of a function's length, if it has many
// branches: half of the time of 32,000 instructions.
//
// LLVM's archive has these functions as weak ones that are called through their symbols. The linker
// takes those of here instead (ExistingPhis.h does the same). The answers are the same, in the same
// order.
#pragma once

namespace rubia::codegen {

/// Does nothing itself: who calls it has the functions of here in his program.
void askDominatorsDirectly();

/// Whether this process has asked the functions of here: where phis belong, and whether a block
/// dominates another one. Not if LLVM has others.
bool wasAskedForFrontiers();
bool wasAskedForDominance();

} // namespace rubia::codegen
