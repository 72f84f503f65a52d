// SPDX-License-Identifier: Apache-2.0
#include "diff/forward/Allocations.h"

namespace rubia::forward {

const char *nameOf(MemoryKind kind) {
  switch (kind) {
  case MemoryKind::Device:
    return "device";
  case MemoryKind::Managed:
    return "managed";
  case MemoryKind::Host:
    return "host";
  case MemoryKind::Variable:
    return "variable";
  }
  return "";
}

// The index of the first allocation that starts behind `address`.
size_t Allocations::firstAfter(DevicePointer address) const {
  size_t low = 0, high = sorted.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (sorted[middle].address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void Allocations::add(const Allocation &allocation) {
  ++additions;
  if (!allocation.address || !allocation.bytes)
    return;
  size_t at = firstAfter(allocation.address);
  if (at && sorted[at - 1].address + sorted[at - 1].bytes > allocation.address)
    sorted.remove(--at);
  while (at < sorted.size() && sorted[at].address < allocation.address + allocation.bytes)
    sorted.remove(at);
  sorted.insert(at, allocation);
}

void Allocations::remove(DevicePointer address) {
  const size_t at = firstAfter(address);
  if (at && sorted[at - 1].address == address && sorted[at - 1].kind != MemoryKind::Variable)
    sorted.remove(at - 1);
}

void Allocations::removeVariablesOf(Handle owner) {
  for (size_t i = sorted.size(); i--;)
    if (sorted[i].kind == MemoryKind::Variable && sorted[i].owner == owner)
      sorted.remove(i);
}

const Allocation *Allocations::find(DevicePointer address) const {
  const size_t at = firstAfter(address);
  if (!at || address - sorted[at - 1].address >= sorted[at - 1].bytes)
    return nullptr;
  return &sorted.begin()[at - 1];
}

} // namespace rubia::forward
