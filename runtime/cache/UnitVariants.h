// SPDX-License-Identifier: Apache-2.0
// What a unit may be compiled for more than once: some of its code may be only for CTAs of one
// size or up to a size, only for memory of the device, only for CTAs whose shared memory fits into
// LDS, or only for clusters of one CTA. The metadata of its plain code object says which further
// forms launches may want.
#pragma once

#include "runtime/cache/CacheKey.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace rubia::runtime {

struct UnitVariant {
  bool safeAtomics = false;  // where the plain code's would be wrong
  bool halfFilled = false;   // for CTAs of sizes that the plain code is not for
  bool deviceShared = false; // shared memory lies in device memory: there is more than LDS has
  bool clusters = false;     // for clusters of several CTAs
  bool checked = false;      // for CTAs that are too large for the half-filled form
  static constexpr uint32_t kCount = 32;
  uint32_t index() const {
    return safeAtomics + 2 * halfFilled + 4 * deviceShared + 8 * clusters + 16 * checked;
  }
  settings::Code applyTo(settings::Code code) const;
};

/// Those that launches may want beside the plain one, whose code object this is, made with `code`.
llvm::Expected<std::vector<UnitVariant>> furtherVariants(llvm::ArrayRef<uint8_t> codeObject,
                                                         const settings::Code &code);

} // namespace rubia::runtime
