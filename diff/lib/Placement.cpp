// SPDX-License-Identifier: Apache-2.0
#include "diff/lib/Placement.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace rubia::capsule {

static constexpr DriverMemory kOnFirstDevice = {/*pinned*/ 1, 0, {/*device*/ 1, 0}, nullptr, {}};

bool Placement::map(Span &span) {
  const uint64_t bytes = span.end - span.begin;
  uint64_t got = 0;
  if (api.cuMemAddressReserve(&got, bytes, 0, span.begin, 0))
    return false;
  bool isMapped = false;
  if (got == span.begin && !api.cuMemCreate(&span.memory, bytes, &kOnFirstDevice, 0)) {
    isMapped = !api.cuMemMap(span.begin, bytes, 0, span.memory, 0);
    const DriverAccess access = {kOnFirstDevice.location, /*read and write*/ 3};
    if (isMapped && api.cuMemSetAccess(span.begin, bytes, &access, 1)) {
      api.cuMemUnmap(span.begin, bytes);
      isMapped = false;
    }
    if (!isMapped)
      api.cuMemRelease(span.memory);
  }
  if (!isMapped)
    api.cuMemAddressFree(got, bytes);
  return isMapped;
}

void Placement::reserve(ArrayRef<const Region *> regions) {
  size_t granule = 0;
  if (!api.hasVirtualMemory ||
      api.cuMemGetAllocationGranularity(&granule, &kOnFirstDevice, /*minimum*/ 0) || !granule)
    return;
  std::vector<Span> wanted;
  for (const Region *region : regions)
    wanted.push_back(
        {alignDown(region->address, granule), alignTo(region->address + region->bytes, granule)});
  sort(wanted, [](const Span &a, const Span &b) { return a.begin < b.begin; });
  for (size_t i = 0; i < wanted.size();) {
    Span span = wanted[i];
    for (++i; i < wanted.size() && wanted[i].begin < span.end; ++i)
      span.end = std::max(span.end, wanted[i].end);
    if (span.begin && map(span))
      spans.push_back(span);
  }
}

bool Placement::holds(const Region &region) const {
  const auto next =
      partition_point(spans, [&](const Span &span) { return span.begin <= region.address; });
  return next != spans.begin() && region.address + region.bytes <= std::prev(next)->end;
}

void Placement::release() {
  for (const Span &span : spans) {
    const uint64_t bytes = span.end - span.begin;
    // What cannot be given back is not there the next time, and those regions lie elsewhere then.
    api.cuMemUnmap(span.begin, bytes);
    api.cuMemRelease(span.memory);
    api.cuMemAddressFree(span.begin, bytes);
  }
  spans.clear();
}

} // namespace rubia::capsule
