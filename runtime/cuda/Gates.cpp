// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/Gates.h"
#include "runtime/cuda/Driver.h"
#include <system_error>
#include <thread>

namespace rubia::runtime {
int hipStreamWaitValue64(void *stream, void *pointer, uint64_t value, unsigned how, uint64_t mask);
int hipLaunchHostFunc(void *stream, void (*function)(void *data), void *data);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

static constexpr size_t kPageBytes = 4096;

struct Gates::Visit {
  Context &context;
  std::shared_ptr<Life> life;
  uint64_t *word, number;
  const char *what;
  std::function<Result()> work;

  void run() const;
  void open() const;
};

Result Gates::place(Context &context, void *hipStream, Place *&out) {
  out = &places[hipStream];
  if (out->word)
    return kSuccess;
  if (!left.empty()) {
    *out = left.back();
    left.pop_back();
    return kSuccess;
  }
  if (pages.empty() || used == kPageBytes / sizeof(uint64_t)) {
    void *page = nullptr;
    if (Result result = context.check(hip().call<hipHostMalloc>(&page, kPageBytes, 0)))
      return result;
    ownedByRuntime(hip(), page);
    pages.push_back(page);
    used = 0;
  }
  out->word = static_cast<uint64_t *>(pages.back()) + used;
  *out->word = 0;
  if (Result result =
          context.check(hip().call<hipHostGetDevicePointer>(&out->device, out->word, 0))) {
    out->word = nullptr;
    return result;
  }
  ++used;
  return kSuccess;
}

void Gates::Visit::run() const {
  {
    std::lock_guard<std::mutex> lock(life->mutex);
    if (life->isEnding)
      return;
  }
  const Result result = work();
  Result none = kSuccess;
  if (result && !isExiting() && context.sticky.compare_exchange_strong(none, result))
    log(LogLevel::Error,
        llvm::Twine(what) + ": " + textOf(result) + "; later calls return the same error");
}

void Gates::Visit::open() const {
  std::lock_guard<std::mutex> lock(life->mutex);
  if (life->hasWords)
    std::atomic_ref(*word).store(number);
}

void Gates::work(Visit *pointer) {
  std::unique_ptr<Visit> visit(pointer);
  const std::shared_ptr<Life> life = visit->life;
  const CallFrame frame;
  visit->run();
  visit->open();
  visit.reset(); // may free what waits for the device: behind the gate
  --life->closed;
  --life->working;
}

// On a thread of HIP's, which may not wait.
void Gates::begin(void *visit) {
  ++static_cast<Visit *>(visit)->life->working;
  try {
    std::thread(work, static_cast<Visit *>(visit)).detach();
  } catch (const std::system_error &error) { // no thread is left for the process
    refuse(static_cast<Visit *>(visit), error.what());
  }
}

// The stream goes on without the work, so the context does not.
void Gates::refuse(Visit *pointer, const char *why) {
  pointer->work = [why = std::string(why)] { return fail(kOperatingSystem, why); };
  work(pointer);
}

// Waits of the stream that are not yet done are for lower numbers: they are met.
void Gates::forget(void *hipStream) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = places.find(hipStream);
  if (found == places.end())
    return;
  const Place &place = found->second;
  if (place.word && std::atomic_ref(*place.word).load() == place.count)
    left.push_back(place);
  places.erase(found);
}

Result Gates::add(Context &context, void *hipStream, const char *what,
                  std::function<Result()> work) {
  if (!hip().has<hipLaunchHostFunc>() || !hip().has<hipStreamWaitValue64>())
    return fail(kNotSupported, hip().path + " has no hipLaunchHostFunc or no hipStreamWaitValue64");
  std::lock_guard<std::mutex> lock(mutex);
  Place *place;
  if (Result result = this->place(context, hipStream, place))
    return result;
  auto visit = std::make_unique<Visit>(
      Visit{context, life, place->word, ++place->count, what, std::move(work)});
  ++life->closed;
  if (Result result = context.check(hip().call<hipLaunchHostFunc>(hipStream, begin, visit.get()))) {
    --life->closed;
    return result;
  }
  (void)visit.release(); // the function's
  return context.check(hip().call<hipStreamWaitValue64>(hipStream, place->device, place->count,
                                                        kHipStreamWaitValueGte, ~uint64_t(0)));
}

void Gates::awaitAll(const Context &context) {
  std::shared_ptr<Life> ending;
  {
    std::lock_guard<std::mutex> lock(mutex);
    ending = life;
  }
  auto waitWhile = [](auto condition) {
    while (!isExiting() && condition())
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  };
  waitWhile([&] { return ending->closed && !context.sticky && !context.hasLostDevice(); });
  {
    std::lock_guard<std::mutex> lock(ending->mutex);
    ending->isEnding = true;
  }
  waitWhile([&] { return ending->working > 0; });
}

void Gates::release(const Hip &hip, bool isLost) {
  std::lock_guard<std::mutex> lock(mutex);
  {
    std::lock_guard<std::mutex> lockOfLife(life->mutex);
    life->isEnding = true;
    life->hasWords = false;
  }
  if (!isLost)
    for (void *page : pages)
      (void)hip.call<hipHostFree>(page); // whatever it says: the context ends
  pages.clear();
  places.clear();
  left.clear();
  life = std::make_shared<Life>();
}

Result makeWorkStream(Context &context, void *&hipStream) {
  return context.check(makeOwnStream(hip(), hipStream));
}

} // namespace rubia::runtime::cuda
