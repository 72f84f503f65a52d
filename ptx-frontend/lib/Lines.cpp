// SPDX-License-Identifier: Apache-2.0
#include "ptx-frontend/Lines.h"
#include "ptx-frontend/lib/Storage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace llvm;

namespace rubia::ptx {

static std::vector<uint32_t> startsOf(StringRef text) {
  std::vector<uint32_t> starts = {0};
  for (size_t at = text.find('\n'); at != StringRef::npos; at = text.find('\n', at + 1))
    starts.push_back(uint32_t(at + 1));
  return starts;
}

std::pair<uint32_t, uint32_t> lineAndColumn(const Module &module, uint32_t place) {
  if (!module.text)
    return {0, 0};
  Module::Storage &storage = *module.storage;
  std::call_once(storage.linesFound, [&] { storage.lineStarts = startsOf(*module.text); });
  place = uint32_t(std::min<size_t>(place, module.text->size()));
  auto next = upper_bound(storage.lineStarts, place);
  return {uint32_t(next - storage.lineStarts.begin()), place - next[-1] + 1};
}

} // namespace rubia::ptx
