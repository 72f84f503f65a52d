// SPDX-License-Identifier: Apache-2.0
#include "diff/forward/DeviceReader.h"

namespace rubia::forward {

bool DeviceReader::prepare() {
  constexpr unsigned kNonBlocking = 1;
  void *memory = nullptr;
  if (pinned)
    return true;
  if (DRIVER(cuMemHostAlloc, void **, size_t, unsigned)(&memory, 2 * kPieceBytes, 0))
    return false;
  pinned = static_cast<uint8_t *>(memory);
  if (!DRIVER(cuStreamCreate, Handle *, unsigned)(&stream, kNonBlocking))
    return true;
  stream = nullptr;
  release();
  return false;
}

void DeviceReader::release() {
  if (stream)
    (void)DRIVER(cuStreamDestroy_v2, Handle)(stream);
  if (pinned)
    (void)DRIVER(cuMemFreeHost, void *)(pinned);
  stream = nullptr;
  pinned = nullptr;
}

bool DeviceReader::start(unsigned buffer, DevicePointer from, size_t size) {
  return !DRIVER(cuMemcpyDtoHAsync_v2, void *, DevicePointer, size_t,
                 Handle)(pinned + buffer * kPieceBytes, from, size, stream);
}

bool DeviceReader::wait() { return !DRIVER(cuStreamSynchronize, Handle)(stream); }

} // namespace rubia::forward
