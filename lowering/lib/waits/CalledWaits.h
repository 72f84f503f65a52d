// SPDX-License-Identifier: Apache-2.0
// Waits that several functions take part in: one waits in a loop, and another one, or the kernel
// that calls it, answers. What threads wait for is looked for in one function (OwnWarpWaits.h). So
// functions that access memory as others may at the same time take the place of their calls in a
// kernel, if it then has a loop that waits. Functions that call themselves do not, nor do those
// that are called through an address.
#pragma once

#include "lowering/Lowering.h"
#include <optional>

namespace rubia::lowering {

class CalledWaits {
public:
  explicit CalledWaits(const Unit &unit);
  ~CalledWaits();

  /// The given unit, or one with other kernels, which this owns.
  const Unit &unit() const { return changed ? *changed : given; }

private:
  struct Storage;

  const Unit &given;
  std::unique_ptr<Storage> storage;
  std::optional<Unit> changed;
};

} // namespace rubia::lowering
