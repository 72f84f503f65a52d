// SPDX-License-Identifier: Apache-2.0
#include "Recording.h"
#include "tests/golden/PackedFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

using namespace llvm;

namespace rubia::random_kernels {

Columns columnsOf(const Kernel &kernel, ArrayRef<uint8_t> results) {
  auto digest = [](ArrayRef<uint8_t> bytes) { return uint32_t(xxh3_64bits(bytes)); };
  Columns columns = {
      digest(results.take_front(kernel.cellsOffset())),
      digest(results.slice(kernel.cellsOffset(), kernel.outputOffset() - kernel.cellsOffset()))};
  const unsigned stride = kernel.outputWords * 8;
  for (unsigned word = 0; word < kernel.outputWords; ++word) {
    std::vector<uint8_t> column;
    for (unsigned thread = 0; thread < kernel.threads(); ++thread) {
      ArrayRef<uint8_t> bytes =
          results.slice(kernel.outputOffset() + thread * stride + 8 * word, 8);
      column.insert(column.end(), bytes.begin(), bytes.end());
    }
    columns.push_back(digest(column));
  }
  return columns;
}

std::string columnName(size_t column) {
  return column == 0 ? "own memory" : column == 1 ? "cells" : "word " + utostr(column - 2);
}

// Of each kernel: its digest, the number of columns, whether both levels ran and gave the same, and
// the columns.
namespace {
enum Flag : uint8_t { kRan = 1, kRanUnoptimised = 2, kEqual = 4 };
} // namespace

Error write(const Recording &recording, StringRef path) {
  golden::PackedFile file;
  file.header = {{"device", recording.device},
                 {"date", recording.date},
                 {"first", recording.first},
                 {"kernels", recording.kernels.size()}};
  auto put = [&](const void *data, size_t size) {
    file.blob.append(static_cast<const char *>(data), size);
  };
  for (const Recorded &kernel : recording.kernels) {
    bool equal = kernel.isEqual();
    uint8_t count = uint8_t(std::max(kernel.optimised.size(), kernel.unoptimised.size()));
    uint8_t flags =
        uint8_t((kernel.optimised.empty() ? 0 : kRan) |
                (kernel.unoptimised.empty() ? 0 : kRanUnoptimised) | (equal ? kEqual : 0));
    put(&kernel.digest, sizeof(kernel.digest));
    put(&count, 1);
    put(&flags, 1);
    put(kernel.optimised.data(), kernel.optimised.size() * 4);
    if (!equal)
      put(kernel.unoptimised.data(), kernel.unoptimised.size() * 4);
  }
  return golden::write(file, path);
}

Expected<Recording> readRecording(StringRef path) {
  auto file = golden::readPacked(path);
  if (!file)
    return file.takeError();
  Recording recording{file->header["device"], file->header["date"], file->header["first"], {}};
  StringRef rest = file->blob;
  bool truncated = false;
  auto take = [&](void *data, size_t size) {
    if (size > rest.size()) {
      truncated = true;
      return;
    }
    memcpy(data, rest.data(), size);
    rest = rest.drop_front(size);
  };
  for (size_t i = 0, count = file->header["kernels"]; i < count && !truncated; ++i) {
    Recorded &kernel = recording.kernels.emplace_back();
    uint8_t columns = 0, flags = 0;
    take(&kernel.digest, sizeof(kernel.digest));
    take(&columns, 1);
    take(&flags, 1);
    kernel.optimised.resize(flags & kRan ? columns : 0);
    take(kernel.optimised.data(), kernel.optimised.size() * 4);
    if (flags & kEqual) {
      kernel.unoptimised = kernel.optimised;
      continue;
    }
    kernel.unoptimised.resize(flags & kRanUnoptimised ? columns : 0);
    take(kernel.unoptimised.data(), kernel.unoptimised.size() * 4);
  }
  if (truncated)
    return createStringError(path + " is truncated");
  return recording;
}

} // namespace rubia::random_kernels
