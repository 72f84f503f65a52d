// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/check/RaceShadow.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::emulator {

RaceShadow::Page &RaceShadow::pageOf(uint64_t address) {
  const uint64_t number = address / kPageBytes;
  if (number != lastPage) {
    std::unique_ptr<Page> &page = pages[number];
    if (!page)
      page = std::make_unique<Page>();
    lastPage = number;
    last = page.get();
  }
  return *last;
}

/// The cells of a dword's bytes, made when they are first needed.
RaceCell *RaceShadow::bytesOf(uint64_t dword, const RaceCell &whole) {
  std::unique_ptr<Bytes> &bytes = split[dword];
  if (!bytes) {
    bytes = std::make_unique<Bytes>();
    for (unsigned i = 0; i < 4; ++i) {
      RaceCell &cell = (*bytes)[i];
      cell = whole;
      cell.write.value = whole.write.value >> (8 * i) & 0xff;
      cell.moreReads = 0;
      for (const RaceAccess &access : SmallVector<RaceAccess, 4>(readsOf(whole)))
        addRead(cell, access);
    }
  }
  return bytes->data();
}

void RaceShadow::visit(uint64_t address, unsigned bytes,
                       function_ref<void(RaceCell &, uint64_t, unsigned)> visit) {
  const uint64_t end = address + bytes;
  for (uint64_t dword = address & ~uint64_t(3); dword < end; dword += 4) {
    RaceCell &whole = pageOf(dword)[dword % kPageBytes / 4];
    const bool isWhole = dword >= address && dword + 4 <= end;
    if (isWhole && (split.empty() || !split.contains(dword))) {
      visit(whole, dword, 4);
      continue;
    }
    RaceCell *cells = bytesOf(dword, whole);
    for (uint64_t at = std::max(dword, address); at < std::min(dword + 4, end); ++at)
      visit(cells[at - dword], at, 1);
  }
}

void RaceShadow::addRead(RaceCell &cell, const RaceAccess &access) {
  const bool isFree = cell.read.thread == 0 || isStrong(cell.read.strength);
  if (isFree || (cell.read.thread == access.thread && !isStrong(access.strength))) {
    cell.read = access;
    return;
  }
  if (isStrong(access.strength))
    return;
  if (cell.moreReads == 0) {
    if (freeReads.empty()) {
      cell.moreReads = uint32_t(reads.size());
      reads.emplace_back();
    } else {
      cell.moreReads = freeReads.back();
      freeReads.pop_back();
    }
  }
  auto &more = reads[cell.moreReads];
  auto *same = find_if(more, [&](const RaceAccess &one) { return one.thread == access.thread; });
  if (same != more.end())
    *same = access;
  else
    more.push_back(access);
}

void RaceShadow::clearReads(RaceCell &cell) {
  cell.read = RaceAccess();
  if (cell.moreReads == 0)
    return;
  reads[cell.moreReads].clear();
  freeReads.push_back(cell.moreReads);
  cell.moreReads = 0;
}

} // namespace rubia::emulator
