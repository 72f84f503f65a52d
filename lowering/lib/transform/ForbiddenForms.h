// SPDX-License-Identifier: Apache-2.0
// PTX has no undefined behaviour. This finds the forms of LLVM IR that would bring some in.
#pragma once

#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace rubia::lowering {

/// One line for each instruction, function or use that lowering must not produce:
///   nsw, nuw, exact, disjoint, nneg, samesign, inbounds and fast-math flags; fptosi and fptoui
///   (undefined out of range); a divisor that is not frozen and replaced where it would be
///   undefined; a shift amount that is not bounded; a function without null_pointer_is_valid, or
///   with mustprogress or willreturn.
std::vector<std::string> forbiddenForms(const llvm::Module &module);

} // namespace rubia::lowering
