// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/ClusterLaunches.h"
#include "runtime/base/Log.h"
#include "llvm/ADT/Twine.h"
#include <map>
#include <mutex>

namespace rubia::runtime {

namespace {
struct Turns { // of a device
  std::mutex mutex;
  void *last = nullptr; // an event behind the last launch
};
} // namespace

// Never freed: programs launch while their static destructors run.
static std::mutex &mutex = *new std::mutex;
static auto &turnsByDevice = *new std::map<int, Turns>;

static Turns &turnsOf(int device) {
  std::lock_guard<std::mutex> guard(mutex);
  return turnsByDevice[device];
}

void forgetClusterLaunches(int device) {
  Turns &turns = turnsOf(device);
  std::lock_guard<std::mutex> guard(turns.mutex);
  turns.last = nullptr;
}

int launchInTurn(const Hip &hip, void *stream, llvm::function_ref<int()> launch) {
  constexpr unsigned kDisableTiming = 2;
  int device = 0;
  if (int error = hip.call<hipGetDevice>(&device))
    return error;
  Turns &turns = turnsOf(device);
  std::lock_guard<std::mutex> guard(turns.mutex);
  if (turns.last) {
    if (int error = hip.call<hipStreamWaitEvent>(stream, turns.last, 0))
      return error;
  } else if (int error = hip.call<hipEventCreateWithFlags>(&turns.last, kDisableTiming)) {
    turns.last = nullptr;
    return error;
  }
  if (int error = launch())
    return error;
  // The launch has begun, whatever becomes of the event: the next one must not begin before its
  // end.
  if (int error = hip.call<hipEventRecord>(turns.last, stream)) {
    log(LogLevel::Warning, llvm::Twine("the event behind a launch with clusters: ") +
                               hip.hipGetErrorString(error) + "; waiting for its stream");
    return hip.call<hipStreamSynchronize>(stream);
  }
  return 0;
}

} // namespace rubia::runtime
