// SPDX-License-Identifier: Apache-2.0
// Streams that write a word of memory, or wait until one says what they want. HIP: "Stream Memory
// Operations".
#include "emulator/hip/Graph.h"
#include <thread>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

static bool isMet(uint64_t word, uint64_t value, uint64_t mask, uint64_t all, unsigned how) {
  word &= mask;
  switch (how) {
  case hipStreamWaitValueGte:
    return word >= value;
  case hipStreamWaitValueEq:
    return word == value;
  case hipStreamWaitValueAnd:
    return word & value;
  default: // hipStreamWaitValueNor
    return ~(word | (value & mask)) & all;
  }
}

template <typename Word>
static hipError_t submitOn(const char *function, hipStream_t handle, void *pointer,
                           const std::function<void(Word &, const Device &)> &work) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return error;
  auto allocation = Machine::instance().memory.find(pointer);
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (!allocation || address % sizeof(Word) || allocation->end() - address < sizeof(Word))
    return hipErrorInvalidValue;
  if (isCapturing(*stream))
    return refuseInCapture(function);
  const Device *device = &stream->device;
  return submit(*stream, HostOperation{[=] { work(*static_cast<Word *>(pointer), *device); }});
}

template <typename Word>
static hipError_t waitFor(hipStream_t handle, void *pointer, Word value, unsigned how, Word mask) {
  if (how > hipStreamWaitValueNor)
    return result(hipErrorInvalidValue);
  auto work = [=](Word &word, const Device &device) {
    // After a fault no kernel of the device comes to write the word.
    while (!isMet(std::atomic_ref(word).load(), value, mask, Word(~Word(0)), how) &&
           !device.stickyError.load())
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  };
  return result(submitOn<Word>("hipStreamWaitValue", handle, pointer, work));
}

template <typename Word>
static hipError_t write(hipStream_t handle, void *pointer, Word value, unsigned flags) {
  if (flags)
    return result(hipErrorInvalidValue);
  auto work = [=](Word &word, const Device &) {
    std::atomic_ref(word).store(value);
    Machine::instance().memory.markWritten(reinterpret_cast<uint64_t>(&word), sizeof(word));
  };
  return result(submitOn<Word>("hipStreamWriteValue", handle, pointer, work));
}

HIP_EXPORT hipError_t hipStreamWaitValue32(hipStream_t stream, void *pointer, uint32_t value,
                                           unsigned how, uint32_t mask) {
  return waitFor(stream, pointer, value, how, mask);
}
HIP_EXPORT hipError_t hipStreamWaitValue64(hipStream_t stream, void *pointer, uint64_t value,
                                           unsigned how, uint64_t mask) {
  return waitFor(stream, pointer, value, how, mask);
}
HIP_EXPORT hipError_t hipStreamWriteValue32(hipStream_t stream, void *pointer, uint32_t value,
                                            unsigned flags) {
  return write(stream, pointer, value, flags);
}
HIP_EXPORT hipError_t hipStreamWriteValue64(hipStream_t stream, void *pointer, uint64_t value,
                                            unsigned flags) {
  return write(stream, pointer, value, flags);
}
