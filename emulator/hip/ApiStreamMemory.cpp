// Streams that write a word of memory, or wait until one says what they want. HIP: "Stream Memory
// Operations".
#include "emulator/hip/Operation.h"
#include <thread>

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
static hipError_t submitOn(hipStream_t handle, void *pointer, std::function<void(Word &)> work) {
  if (hipError_t error = usable())
    return error;
  Stream *stream = streamOf(handle);
  if (!stream)
    return hipErrorInvalidHandle;
  auto allocation = Machine::instance().memory.find(pointer);
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (!allocation || address % sizeof(Word) || allocation->end() - address < sizeof(Word))
    return hipErrorInvalidValue;
  return submit(*stream, HostOperation{[=] { work(*static_cast<Word *>(pointer)); }});
}

template <typename Word>
static hipError_t waitFor(hipStream_t handle, void *pointer, Word value, unsigned how, Word mask) {
  if (how > hipStreamWaitValueNor)
    return result(hipErrorInvalidValue);
  return result(submitOn<Word>(handle, pointer, [=](Word &word) {
    while (!isMet(std::atomic_ref(word).load(), value, mask, Word(~Word(0)), how))
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }));
}

template <typename Word>
static hipError_t write(hipStream_t handle, void *pointer, Word value, unsigned flags) {
  if (flags)
    return result(hipErrorInvalidValue);
  return result(
      submitOn<Word>(handle, pointer, [=](Word &word) { std::atomic_ref(word).store(value); }));
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
