// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/OwnStream.h"
#include <utility>

namespace rubia::runtime {
int hipMemsetD8Async(void *to, unsigned char value, size_t count, void *stream);
int hipStreamCreateWithPriority(void **stream, unsigned flags, int priority);
} // namespace rubia::runtime

namespace rubia::runtime {

int makeOwnStream(const Hip &hip, void *&stream) {
  constexpr int kNonBlocking = 1, kLowest = 1;
  return hip.call<hipStreamCreateWithPriority>(&stream, kNonBlocking, kLowest);
}

int OwnStream::open(const Hip &hip) { return stream ? kHipSuccess : makeOwnStream(hip, stream); }

int OwnStream::copy(const Hip &hip, void *to, const void *from, size_t bytes, HipMemcpyKind kind) {
  std::lock_guard<std::mutex> lock(mutex);
  if (int error = open(hip))
    return error;
  if (int error = hip.call<hipMemcpyAsync>(to, from, bytes, kind, stream))
    return error;
  return hip.call<hipStreamSynchronize>(stream);
}

int OwnStream::fill(const Hip &hip, void *to, uint8_t value, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (int error = open(hip))
    return error;
  if (int error = hip.call<hipMemsetD8Async>(to, value, bytes, stream))
    return error;
  return hip.call<hipStreamSynchronize>(stream);
}

int OwnStream::release(const Hip &hip) {
  std::lock_guard<std::mutex> lock(mutex);
  void *old = std::exchange(stream, nullptr);
  return old ? hip.call<hipStreamDestroy>(old) : kHipSuccess;
}

void OwnStream::forget() {
  std::lock_guard<std::mutex> lock(mutex);
  stream = nullptr;
}

} // namespace rubia::runtime
