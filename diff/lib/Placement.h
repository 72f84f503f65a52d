// SPDX-License-Identifier: Apache-2.0
// Memory of the device at the addresses that allocations had when they were recorded. Words in it
// that are addresses, or are computed with, mean then what they meant.
#pragma once

#include "diff/Capsule.h"
#include "diff/lib/DriverApi.h"

namespace rubia::capsule {

class Placement {
public:
  explicit Placement(const DriverApi &api) : api(api) {}
  Placement(const Placement &) = delete;
  Placement &operator=(const Placement &) = delete;
  ~Placement() { release(); }

  /// Maps memory under all of these that it can be had for: a driver has virtual memory, and nobody
  /// has the addresses.
  void reserve(llvm::ArrayRef<const Region *> regions);
  bool holds(const Region &region) const;
  void release();

private:
  struct Span {
    uint64_t begin = 0, end = 0;
    uint64_t memory = 0;
  };
  bool map(Span &span);
  const DriverApi &api;
  std::vector<Span> spans; // mapped, sorted, apart
};

} // namespace rubia::capsule
