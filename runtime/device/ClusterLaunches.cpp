// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/ClusterLaunches.h"
#include <map>
#include <mutex>

namespace rubia::runtime {

// Never freed: programs launch while their static destructors run.
static std::mutex &mutex = *new std::mutex;
static auto &lastLaunches = *new std::map<int, void *>; // by device: an event behind the last one

void forgetClusterLaunches(int device) {
  std::lock_guard<std::mutex> guard(mutex);
  lastLaunches.erase(device);
}

int launchInTurn(const Hip &hip, void *stream, llvm::function_ref<int()> launch) {
  constexpr unsigned kDisableTiming = 2;
  int device = 0;
  if (int error = hip.hipGetDevice(&device))
    return error;
  std::lock_guard<std::mutex> guard(mutex);
  void *&last = lastLaunches[device];
  if (last) {
    if (int error = hip.hipStreamWaitEvent(stream, last, 0))
      return error;
  } else if (int error = hip.hipEventCreateWithFlags(&last, kDisableTiming)) {
    last = nullptr;
    return error;
  }
  if (int error = launch())
    return error;
  return hip.hipEventRecord(last, stream);
}

} // namespace rubia::runtime
