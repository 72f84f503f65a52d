// SPDX-License-Identifier: Apache-2.0
#include "fatbin/Embedded.h"
#include "fatbin/Container.h"

using namespace llvm;

namespace rubia::fatbin {

std::vector<ArrayRef<uint8_t>> embeddedContainers(ArrayRef<uint8_t> bytes) {
  std::vector<ArrayRef<uint8_t>> found;
  for (size_t at = 0; at + kContainerHeaderBytes <= bytes.size();) {
    const ArrayRef<uint8_t> rest = bytes.drop_front(at);
    at += 2;
    if (!startsWithContainer(rest))
      continue;
    Expected<uint64_t> size = containerSize(rest);
    if (!size) {
      consumeError(size.takeError()); // the bytes of something else
      continue;
    }
    found.push_back(rest.take_front(*size));
    at += (*size & ~uint64_t(1)) - 2;
  }
  return found;
}

} // namespace rubia::fatbin
