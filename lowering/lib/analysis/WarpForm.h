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
  /// Half-filled only since the warps of a wave may come to a barrier apart. Packed code can notice
  /// that at run time and end the kernel: the checked form, for CTAs that half-filled code is not
  /// for.
  bool mayBeChecked = false;
  bool isChecked = false; // packed in that way
};

/// What Auto gives. On a target with wave64: packed where that is proven to be sound.
WarpFormDecision decideWarpForm(const ptx::Module &module, const Unit &unit, const Target &target);

/// The checked form of a unit that may have it.
WarpFormDecision checkedForm(WarpFormDecision halfFilled);

/// What stands in the metadata: "wave32", "half-filled", "packed".
llvm::StringRef nameOf(abi::WarpForm form);

} // namespace rubia::lowering
