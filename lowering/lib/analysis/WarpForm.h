// SPDX-License-Identifier: Apache-2.0
// Which warp form a unit is compiled in (docs/architecture.md, "Warp forms").
#pragma once

#include "lowering/Lowering.h"
#include "lowering/lib/analysis/Target.h"

namespace rubia::lowering {

struct WarpFormDecision {
  abi::WarpForm form = abi::WarpForm::Wave32;
  std::string reason; // one sentence, for people: "line 12 of 'k' ..."
  /// Packed is sound only for CTAs of this many threads, rounded up to whole warps; 0: for all.
  /// Other CTAs need another code object, half-filled.
  uint32_t exactThreads = 0;
  /// Where packed is not sound: what the reason is about.
  const ptx::Function *function = nullptr;
  uint32_t place = 0;
  /// The checked form: packed code that notices at run time if the warps of a wave come to a
  /// barrier apart, and ends the kernel.
  bool isChecked = false;
  /// A unit can have it if it has barriers, and nothing but that may stand against the packed form.
  bool canBeChecked = false;
  /// Half-filled for that reason, with CTAs that are too large for it: launches may want it.
  bool mayBeChecked = false;
  /// There are no others: the half-filled form is for nobody.
  bool mustBeChecked = false;
};

/// Packed where that is proven to be sound, on a target with wave64.
WarpFormDecision decideWarpForm(const ptx::Module &module, const Unit &unit, const Target &target);

/// The checked form of a unit that can have it.
WarpFormDecision checkedForm(WarpFormDecision decision);

/// What stands in the metadata: "wave32", "half-filled", "packed".
llvm::StringRef nameOf(abi::WarpForm form);

} // namespace rubia::lowering
