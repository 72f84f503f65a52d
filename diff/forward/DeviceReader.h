// SPDX-License-Identifier: Apache-2.0
// Memory of the device, read in pieces: one is copied while another one is looked at.
#pragma once

#include "diff/forward/Containers.h"
#include "diff/forward/Driver.h"

namespace rubia::forward {

class DeviceReader {
public:
  static constexpr size_t kPieceBytes = size_t(4) << 20;

  /// Calls `take(bytes, offset, size)` for each piece, in order. False: the driver refuses.
  template <class Take> bool read(DevicePointer from, uint64_t bytes, Take take) {
    if (bytes < kOverlappedBytes || !prepare())
      return readInTurn(bytes, take, [&](uint8_t *to, uint64_t offset, size_t size) {
        return !DRIVER(cuMemcpyDtoH_v2, void *, DevicePointer, size_t)(to, from + offset, size);
      });
    const auto sizeAt = [&](uint64_t at) {
      return bytes - at < kPieceBytes ? bytes - at : kPieceBytes;
    };
    unsigned buffer = 0;
    bool isGood = start(buffer, from, sizeAt(0));
    for (uint64_t done = 0; isGood && done < bytes; buffer ^= 1) {
      const size_t size = sizeAt(done);
      isGood = wait();
      const uint64_t next = done + size;
      if (isGood && next < bytes)
        isGood = start(buffer ^ 1, from + next, sizeAt(next));
      if (isGood)
        take(pinned + buffer * kPieceBytes, done, size);
      done = next;
    }
    return isGood;
  }
  /// Of memory of the host, which other threads may change at any time.
  template <class Take> bool readHost(DevicePointer from, uint64_t bytes, Take take) {
    return readInTurn(bytes, take, [&](uint8_t *to, uint64_t offset, size_t size) {
      memcpy(to, reinterpret_cast<const void *>(from + offset), size);
      return true;
    });
  }
  /// What belongs to the current context, which the program may destroy.
  void release();

private:
  /// Less is not worth memory that the device copies to by itself.
  static constexpr uint64_t kOverlappedBytes = uint64_t(16) << 20;

  template <class Take, class Copy> bool readInTurn(uint64_t bytes, Take take, Copy copy) {
    for (uint64_t done = 0; done < bytes;) {
      const size_t size = bytes - done < kPieceBytes ? bytes - done : kPieceBytes;
      staging.resize(size);
      if (!copy(staging.begin(), done, size))
        return false;
      take(staging.begin(), done, size);
      done += size;
    }
    return true;
  }
  bool prepare();
  bool start(unsigned buffer, DevicePointer from, size_t size);
  bool wait();

  Bytes staging;
  uint8_t *pinned = nullptr; // two pieces
  Handle stream = nullptr;
};

} // namespace rubia::forward
