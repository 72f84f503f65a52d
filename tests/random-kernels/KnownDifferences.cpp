// SPDX-License-Identifier: Apache-2.0
#include "KnownDifferences.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

using namespace llvm;

namespace rubia::random_kernels {

Expected<KnownDifferences> KnownDifferences::read(const std::string &path) {
  KnownDifferences known;
  if (path.empty())
    return known;
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(buffer.getError(), "cannot read " + path);
  for (StringRef line : split((*buffer)->getBuffer().rtrim('\n'), '\n')) {
    if (line.starts_with("#") || line.empty())
      continue;
    SmallVector<StringRef> columns;
    line.split(columns, '\t');
    if (columns.size() != 3)
      return createStringError(path + ": not three columns: " + line);
    known.rows.push_back({("^(" + columns[0] + ")$").str(), ("^(" + columns[1] + ")$").str()});
  }
  return known;
}

bool KnownDifferences::has(uint64_t seed, StringRef processor) const {
  return any_of(rows, [&](const auto &row) {
    return Regex(row.first).match(utostr(seed)) && Regex(row.second).match(processor);
  });
}

} // namespace rubia::random_kernels
