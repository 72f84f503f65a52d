// SPDX-License-Identifier: Apache-2.0
// Which copies of cp.async are finished by a wait: their loads are issued where the copy stands,
// their stores to shared memory where the thread waits for them, so that other work lies between.
//
// That is done where every way from the copy comes to a wait for it, without calls, exits or the
// copy itself before; and where few copies are held at a time, since each keeps registers.
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include <map>
#include <vector>

namespace rubia::lowering {

class HeldCopies {
public:
  explicit HeldCopies(const ptx::Function &function);

  /// Whether the copy with this index in the body is finished by waits.
  bool isHeld(uint32_t copy) const { return held.contains(copy); }
  /// What the wait with this index finishes, if it is held at that time: in the order of the text.
  llvm::ArrayRef<uint32_t> finishedBy(uint32_t wait) const {
    auto found = finished.find(wait);
    if (found == finished.end())
      return {};
    return found->second;
  }

private:
  llvm::DenseSet<uint32_t> held;
  std::map<uint32_t, std::vector<uint32_t>> finished; // by wait
};

} // namespace rubia::lowering
