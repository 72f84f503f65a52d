// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/AtomicLocks.h"
#include "lowering/Abi.h"
#include "runtime/base/Log.h"
#include "llvm/ADT/Twine.h"
#include <map>
#include <mutex>

using namespace llvm;

namespace rubia::runtime {

static Error hipFailure(const Hip &hip, int error) {
  return createStringError("locks of 128-bit atomics: %s", hip.hipGetErrorString(error));
}

static std::mutex &mutex = *new std::mutex;
static auto &locks = *new std::map<int, std::weak_ptr<AtomicLocks>>; // by device

void AtomicLocks::forgetDevice(int device) {
  std::lock_guard<std::mutex> guard(mutex);
  if (std::shared_ptr<AtomicLocks> existing = locks[device].lock())
    existing->memory = nullptr;
  locks.erase(device);
}

Expected<std::shared_ptr<AtomicLocks>> AtomicLocks::ofCurrentDevice(const Hip &hip,
                                                                    OwnStream &stream) {
  int device = 0;
  if (int error = hip.call<hipGetDevice>(&device))
    return hipFailure(hip, error);
  std::lock_guard<std::mutex> guard(mutex);
  if (std::shared_ptr<AtomicLocks> existing = locks[device].lock())
    return existing;
  constexpr size_t kBytes = abi::kAtomicLocks * sizeof(uint32_t);
  void *memory = nullptr;
  if (int error = hip.call<hipMalloc>(&memory, kBytes))
    return hipFailure(hip, error);
  ownedByRuntime(hip, memory);
  std::shared_ptr<AtomicLocks> made(new AtomicLocks(hip, memory));
  if (int error = stream.fill(hip, memory, 0, kBytes))
    return hipFailure(hip, error);
  locks[device] = made;
  return made;
}

AtomicLocks::~AtomicLocks() {
  if (!memory)
    return;
  if (int error = hip.call<hipFree>(memory))
    log(LogLevel::Warning, Twine("hipFree: ") + hip.hipGetErrorString(error));
}

} // namespace rubia::runtime
