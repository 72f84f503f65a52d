// SPDX-License-Identifier: Apache-2.0
// Which copies of cp.async are finished by a wait: their loads are issued where the copy stands,
// their stores to shared memory where the thread waits for them, so that other work lies between.
//
// That is done where every way from the copy comes to a wait for it, without calls or exits before;
// and where few copies are held at a time, since each keeps registers. A ring of several stages
// comes to the copy itself again before its wait. There the earlier one is stored, which PTX allows
// at any time before the wait: a round of the loop lies between, and no registers are added.
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

  /// Whether the copy with this index in the body is finished later.
  bool isHeld(uint32_t copy) const { return held.contains(copy); }
  /// What the wait or the copy with this index finishes, if it is held at that time: in the order
  /// of the text. A copy finishes none but itself.
  llvm::ArrayRef<uint32_t> finishedBy(uint32_t place) const {
    auto found = finished.find(place);
    if (found == finished.end())
      return {};
    return found->second;
  }

private:
  llvm::DenseSet<uint32_t> held;
  std::map<uint32_t, std::vector<uint32_t>> finished; // by wait or copy
};

} // namespace rubia::lowering
