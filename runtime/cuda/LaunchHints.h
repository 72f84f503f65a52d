// SPDX-License-Identifier: Apache-2.0
// Values of the attributes of launches, streams and nodes that change nothing here. What an H200's
// driver refuses is refused too (driver 580.159.04, `tests/driver-sequences/Values.cpp`).
#pragma once

#include "runtime/cuda/Types.h"
#include <cstring>

namespace rubia::runtime::cuda {

struct AccessPolicyWindow { // CUaccessPolicyWindow
  void *base;
  size_t bytes;
  float hitRatio;
  int hit, miss;
};

inline constexpr size_t kMaxAccessPolicyWindow = size_t(1) << 27;
inline constexpr int kAccessPersisting = 2;
inline constexpr uint8_t kMemSyncDomains = 4;

/// `value` has the bytes of the attribute's member of the union.
inline bool isValidHint(int id, const char *value) {
  int number;
  memcpy(&number, value, sizeof(number));
  switch (id) {
  case kLaunchAccessPolicyWindow: {
    AccessPolicyWindow window;
    memcpy(&window, value, sizeof(window));
    return window.bytes <= kMaxAccessPolicyWindow && window.hitRatio >= 0 && window.hitRatio <= 1 &&
           window.miss != kAccessPersisting;
  }
  case kLaunchMemSyncDomainMap:
    return uint8_t(value[0]) < kMemSyncDomains && uint8_t(value[1]) < kMemSyncDomains;
  case kLaunchMemSyncDomain:
  case kLaunchNvlinkUtilCentricScheduling:
    return number == 0 || number == 1;
  case kLaunchPreferredSharedMemoryCarveout:
    return number >= 0 && number <= 100;
  }
  return true;
}

} // namespace rubia::runtime::cuda
