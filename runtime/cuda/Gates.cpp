// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/Gates.h"
#include "runtime/cuda/Driver.h"
#include <thread>

namespace rubia::runtime::cuda {

static constexpr size_t kPageBytes = 4096;

struct Gates::Visit {
  Gates *gates;
  uint64_t *word, number;
  std::function<void()> work;
};

Result Gates::place(Context &context, void *hipStream, Place *&out) {
  out = &places[hipStream];
  if (out->word)
    return kSuccess;
  if (pages.empty() || used == kPageBytes / sizeof(uint64_t)) {
    void *page = nullptr;
    if (Result result = context.check(hip().hipHostMalloc(&page, kPageBytes, 0)))
      return result;
    ownedByRuntime(hip(), page);
    pages.push_back(page);
    used = 0;
  }
  out->word = static_cast<uint64_t *>(pages.back()) + used;
  *out->word = 0;
  if (Result result = context.check(hip().hipHostGetDevicePointer(&out->device, out->word, 0))) {
    out->word = nullptr;
    return result;
  }
  ++used;
  return kSuccess;
}

void Gates::work(Visit *pointer) {
  std::unique_ptr<Visit> visit(pointer);
  visit->work();
  std::atomic_ref(*visit->word).store(visit->number);
  visit->work = {}; // may free what waits for the device: behind the gate
  --visit->gates->closed;
  --visit->gates->working;
}

// On a thread of HIP's, which may not wait.
void Gates::begin(void *visit) {
  ++static_cast<Visit *>(visit)->gates->working;
  std::thread(work, static_cast<Visit *>(visit)).detach();
}

Result Gates::add(Context &context, void *hipStream, std::function<void()> work) {
  if (!hip().hipLaunchHostFunc || !hip().hipStreamWaitValue64)
    return fail(kNotSupported, hip().path + " has no hipLaunchHostFunc or no hipStreamWaitValue64");
  std::lock_guard<std::mutex> lock(mutex);
  Place *place;
  if (Result result = this->place(context, hipStream, place))
    return result;
  auto visit = std::make_unique<Visit>(Visit{this, place->word, ++place->count, std::move(work)});
  ++closed;
  if (Result result = context.check(hip().hipLaunchHostFunc(hipStream, begin, visit.get()))) {
    --closed;
    return result;
  }
  (void)visit.release(); // the function's
  return context.check(hip().hipStreamWaitValue64(hipStream, place->device, place->count,
                                                  kHipStreamWaitValueGte, ~uint64_t(0)));
}

void Gates::awaitAll(const Context &context) {
  auto mustWait = [&] {
    return working || (closed && !context.sticky && !context.hasLostDevice());
  };
  while (!isExiting() && mustWait())
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void Gates::release(const Hip &hip, bool isLost) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isLost)
    for (void *page : pages)
      (void)hip.hipHostFree(page); // whatever it says: the context ends
  pages.clear();
  places.clear();
  closed = 0;
}

Result makeWorkStream(Context &context, void *&hipStream) {
  constexpr int kNonBlocking = 1, kLowest = 1;
  return context.check(hip().hipStreamCreateWithPriority(&hipStream, kNonBlocking, kLowest));
}

} // namespace rubia::runtime::cuda
