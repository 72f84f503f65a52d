// SPDX-License-Identifier: Apache-2.0
// What a kernel's inexact instructions may make of its results: the PTX is changed so that each
// moves its result, within the bound that the PTX ISA gives it. How far the results of the kernel
// move then is how far another processor's may be from ours. Loops, branches and conversions take
// part as they are, since the kernel itself runs.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace rubia::capsule {

/// The variable of a perturbed module. A result moves by (scale * h + bias) of its bound; h, from
/// -1 to 1, follows from the seed and the bits of the result, so that equal operands have equal
/// results. All zeros: nothing moves.
struct Noise {
  uint32_t seed = 0;
  float scale = 0, bias = 0;

  /// Of run `index`: first all results as high as they may be, then as low, then each as it comes.
  static Noise ofRun(unsigned index);
};
inline constexpr const char *kNoiseVariable = "rubia_noise";

struct PerturbedPtx {
  std::string text;
  size_t sites = 0;  // instructions that move their results
  std::string still; // the first inexact one that does not: "line 12: atom.global.add.u32"
  bool isOfOrder =
      false; // some depend on the order of threads: atomics, loads of what others write
};

/// Who moves results of textures between texels: the text, by what a table says of each texture, or
/// the interpreter, which moves those of wgmma as well.
enum class FilterMover : uint8_t { Text, Interpreter };

/// `isFiltered`: textures are read between texels.
llvm::Expected<PerturbedPtx> perturb(llvm::StringRef ptx, llvm::StringRef kernel,
                                     bool isFiltered = false,
                                     FilterMover mover = FilterMover::Text);

/// The variable of that table (diff/lib/TextureSites.h). Entries: the handle of a texture, or
/// nameKey() of one that has a name in the module; the handle of one with the magnitudes of its
/// texels (8 bytes each); the bound, as a multiple of what that one gives, and what is added to it
/// (f32 each). What is not in the table does not move.
inline constexpr const char *kFiltersVariable = "rubia_filters";
struct FilterEntry {
  uint64_t key = 0, magnitudes = 0;
  float relative = 0, absolute = 0;
};
static_assert(sizeof(FilterEntry) == 24);
uint64_t nameKey(llvm::StringRef texture);

} // namespace rubia::capsule
