// SPDX-License-Identifier: Apache-2.0
// Products and sums without a rounding, of which PTX says that a compiler may fuse them. So several
// results of a kernel are right. The text is changed to compute another of these.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace rubia::capsule {

/// The sums of a kernel that may be fused with a product.
class FusiblePtx {
public:
  /// Keeps no reference to the text. An error: the PTX cannot be changed.
  static llvm::Expected<FusiblePtx> open(llvm::StringRef text, llvm::StringRef kernel);
  /// By sum, in the order of the text: bit 0 if its first operand may be a product, bit 1 if its
  /// second may.
  llvm::ArrayRef<uint8_t> sums() const { return products; }
  /// The text with other sums. `choices`: by sum, the operand (1 or 2) whose product is fused; 0:
  /// none. A product that the thread does not have at that place is not.
  llvm::Expected<std::string> fused(llvm::ArrayRef<uint8_t> choices) const;

private:
  std::string text, kernel;
  std::vector<uint8_t> products;
};

struct NearestFusion {
  std::vector<uint8_t> choices;
  uint64_t apart = 0; // of these
  unsigned runs = 0;

  unsigned fused() const;
};

/// The choices whose results are nearest to those of someone else. `apart`: runs a text and tells
/// how far its results are from those; 0: not at all. `plain`: that of the text as it is. There are
/// at most so many runs. Sums are looked at one by one, so that another choice may be nearer.
llvm::Expected<NearestFusion>
nearestFusion(const FusiblePtx &ptx, uint64_t plain, unsigned mostRuns,
              llvm::function_ref<llvm::Expected<uint64_t>(llvm::StringRef)> apart);

} // namespace rubia::capsule
