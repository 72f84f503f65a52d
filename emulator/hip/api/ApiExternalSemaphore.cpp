// SPDX-License-Identifier: Apache-2.0
// Semaphores of other libraries, by file descriptor. HIP: "External Resource Interoperability".
//
// Here a semaphore is the first 64-bit word of any file that can be mapped, such as a memfd of 8
// bytes: whoever maps the file, in any process, signals and awaits by atomic operations on it. Of a
// timeline semaphore the word is its value: a signal stores one, and a wait needs one that is not
// below its own. Of a binary semaphore it is 1 when it is signalled; a wait makes it 0. The library
// takes the descriptor over.
#include "emulator/hip/Graph.h"
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

namespace {

// What hipExternalSemaphoreHandleType has since HIP 6.
enum Kind { kBinary = hipExternalSemaphoreHandleTypeOpaqueFd, kTimeline = 9 };

/// Work that streams have yet to do keeps it.
class Semaphore {
public:
  Semaphore(uint64_t *word, bool isTimeline) : word(word), isTimeline(isTimeline) {}
  Semaphore(const Semaphore &) = delete;
  ~Semaphore() { munmap(word, sizeof(*word)); }

  void signal(uint64_t value) const { std::atomic_ref(*word).store(isTimeline ? value : 1); }
  bool take(uint64_t value) const {
    std::atomic_ref now(*word);
    uint64_t signalled = 1;
    return isTimeline ? now.load() >= value : now.compare_exchange_strong(signalled, 0);
  }

private:
  uint64_t *word;
  bool isTimeline;
};

std::mutex &mutex = *new std::mutex;
std::map<const void *, std::shared_ptr<Semaphore>> &semaphores =
    *new std::map<const void *, std::shared_ptr<Semaphore>>;

std::shared_ptr<Semaphore> find(const void *handle) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = semaphores.find(handle);
  return found == semaphores.end() ? nullptr : found->second;
}

struct Use {
  std::shared_ptr<Semaphore> semaphore;
  uint64_t value;
};

void signalAll(const std::vector<Use> &uses) {
  for (const Use &use : uses)
    use.semaphore->signal(use.value);
}

// After a fault nothing of the device comes to signal it.
void awaitAll(const std::vector<Use> &uses, const Device &device) {
  for (const Use &use : uses)
    while (!use.semaphore->take(use.value) && !device.stickyError.load())
      std::this_thread::sleep_for(std::chrono::microseconds(20));
}

template <typename Parameters>
hipError_t submitUses(const char *function, const hipExternalSemaphore_t *handles,
                      const Parameters *parameters, unsigned count, hipStream_t handle,
                      bool isWait) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return error;
  if (count && (!handles || !parameters))
    return hipErrorInvalidValue;
  std::vector<Use> uses;
  for (unsigned i = 0; i < count; ++i) {
    if (parameters[i].flags)
      return hipErrorInvalidValue;
    uses.push_back({find(handles[i]), parameters[i].params.fence.value});
    if (!uses.back().semaphore)
      return hipErrorInvalidHandle;
  }
  if (isCapturing(*stream))
    return refuseInCapture(function);
  const Device *device = &stream->device;
  auto work = [uses = std::move(uses), device, isWait] {
    isWait ? awaitAll(uses, *device) : signalAll(uses);
  };
  return submit(*stream, HostOperation{std::move(work)});
}

} // namespace

HIP_EXPORT hipError_t hipImportExternalSemaphore(hipExternalSemaphore_t *out,
                                                 const hipExternalSemaphoreHandleDesc *wanted) {
  if (hipError_t error = usable())
    return result(error);
  if (!out || !wanted || wanted->flags)
    return result(hipErrorInvalidValue);
  if (int(wanted->type) != kBinary && int(wanted->type) != kTimeline)
    return result(hipErrorNotSupported);
  const int descriptor = wanted->handle.fd;
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size < off_t(sizeof(uint64_t)))
    return result(hipErrorInvalidValue);
  void *word = mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (word == MAP_FAILED)
    return result(hipErrorInvalidValue);
  close(descriptor);
  auto made =
      std::make_shared<Semaphore>(static_cast<uint64_t *>(word), int(wanted->type) == kTimeline);
  std::lock_guard<std::mutex> lock(mutex);
  *out = made.get();
  semaphores[made.get()] = std::move(made);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipSignalExternalSemaphoresAsync(
    const hipExternalSemaphore_t *handles, const hipExternalSemaphoreSignalParams *parameters,
    unsigned count, hipStream_t stream) {
  return result(submitUses(__func__, handles, parameters, count, stream, false));
}

HIP_EXPORT hipError_t hipWaitExternalSemaphoresAsync(
    const hipExternalSemaphore_t *handles, const hipExternalSemaphoreWaitParams *parameters,
    unsigned count, hipStream_t stream) {
  return result(submitUses(__func__, handles, parameters, count, stream, true));
}

HIP_EXPORT hipError_t hipDestroyExternalSemaphore(hipExternalSemaphore_t handle) {
  std::lock_guard<std::mutex> lock(mutex);
  return result(semaphores.erase(handle) ? hipSuccess : hipErrorInvalidHandle);
}
