// SPDX-License-Identifier: Apache-2.0
// The memory that a program has, by address: what a launch can reach lies in it.
#pragma once

#include "diff/forward/Containers.h"
#include "diff/forward/Driver.h"

namespace rubia::forward {

enum class MemoryKind : uint8_t { Device, Managed, Host, Variable };
const char *nameOf(MemoryKind kind);

struct Allocation {
  DevicePointer address;
  uint64_t bytes;
  MemoryKind kind;
  const char *name; // of a variable, else null
  Handle owner;     // of a variable: the module or library
};

class Allocations {
public:
  /// Takes the place of all that it overlaps: what was there has been freed unseen.
  void add(const Allocation &allocation);
  void remove(DevicePointer address);
  void removeVariablesOf(Handle owner);
  /// That which has the byte at `address`.
  const Allocation *find(DevicePointer address) const;
  const Array<Allocation> &all() const { return sorted; }
  /// How many have been added: as long as it stays, words that were no pointers are none.
  uint64_t added() const { return additions; }

private:
  size_t firstAfter(DevicePointer address) const;
  Array<Allocation> sorted; // by address
  uint64_t additions = 0;
};

} // namespace rubia::forward
