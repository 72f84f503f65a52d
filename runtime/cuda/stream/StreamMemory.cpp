// SPDX-License-Identifier: Apache-2.0
// Words of memory that streams write and wait for, alone and in batches. All are one operation,
// which is executed, captured, or a node of a graph.
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/graph/Capture.h"
#include "runtime/cuda/memory/PeerAccess.h"
#include <thread>

using namespace llvm;

namespace rubia::runtime {
int hipStreamWaitValue32(void *stream, void *pointer, uint32_t value, unsigned how, uint32_t mask);
int hipStreamWaitValue64(void *stream, void *pointer, uint64_t value, unsigned how, uint64_t mask);
int hipStreamWriteValue32(void *stream, void *pointer, uint32_t value, unsigned flags);
int hipStreamWriteValue64(void *stream, void *pointer, uint64_t value, unsigned flags);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

static bool isWait(int type) { return type == kWaitWord32 || type == kWaitWord64; }
static bool isWrite(int type) { return type == kWriteWord32 || type == kWriteWord64; }
static unsigned bytesOf(int type) { return type == kWaitWord64 || type == kWriteWord64 ? 8 : 4; }

static Result checkWord(Context &context, const MemoryOperation &operation) {
  const auto &word = operation.word;
  const unsigned bytes = bytesOf(operation.type);
  if (!word.address || reinterpret_cast<uintptr_t>(word.address) % bytes)
    return kInvalidValue;
  std::optional<Allocation> found = lookUp(context, word.address);
  // Managed memory and that of pools is not allowed, as on NVIDIA's driver.
  if (!found || found->kind == AllocationKind::Managed || found->kind == AllocationKind::Pool ||
      found->size - (static_cast<char *>(word.address) - found->base) < bytes)
    return kInvalidValue;
  return checkAccess(context, word.address);
}

static Result checkOperation(Context &context, const MemoryOperation &operation) {
  if (isWait(operation.type)) {
    if (operation.word.flags & kWaitFlush)
      return fail(kNotSupported, "a wait that flushes the writes of other devices");
    return operation.word.flags > kWaitNor ? kInvalidValue : checkWord(context, operation);
  }
  if (isWrite(operation.type))
    return operation.word.flags ? kInvalidValue : checkWord(context, operation);
  if (operation.type == kMemoryBarrier)
    return operation.barrier.flags > 1 ? kInvalidValue : kSuccess;
  if (operation.type == kFlushRemoteWrites)
    return fail(kNotSupported, "flushing the writes of other devices");
  return kInvalidValue;
}

Result makeBatch(Context &context, const MemoryOperation *operations, unsigned count,
                 unsigned flags, BatchOperation &batch) {
  constexpr unsigned kMaxOperations = 256;
  if ((count && !operations) || count > kMaxOperations || flags)
    return kInvalidValue;
  for (const MemoryOperation &operation : ArrayRef(operations, count))
    if (Result result = checkOperation(context, operation))
      return result;
  batch.operations.assign(operations, operations + count);
  return kSuccess;
}

// ---------- Execution

// CUDA compares as counters are compared that wrap around. HIP has no such comparison.
static bool isReached(uint64_t word, uint64_t value, unsigned bytes) {
  return bytes == 4 ? int32_t(uint32_t(word) - uint32_t(value)) >= 0 : int64_t(word - value) >= 0;
}

// On a thread that works at a gate.
static Result awaitReached(Context &context, void *address, uint64_t value, unsigned bytes) {
  void *stream = nullptr;
  if (Result result = enter(context))
    return result;
  if (Result result = makeWorkStream(context, stream))
    return result;
  auto pause = std::chrono::microseconds(20);
  uint64_t word = 0;
  auto read = [&] {
    const Result begun =
        context.check(hip().call<hipMemcpyAsync>(&word, address, bytes, kHipMemcpyDefault, stream));
    return begun ? begun : context.check(hip().call<hipStreamSynchronize>(stream));
  };
  Result result = kSuccess;
  while (!isExiting() && !(result = context.sticky) && !(result = read()) &&
         !isReached(word, value, bytes)) {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(1000));
  }
  if (!isExiting())
    (void)hip().call<hipStreamDestroy>(stream);
  return result;
}

static Result execute(Context &context, const MemoryOperation &operation, void *hipStream) {
  const auto &word = operation.word;
  // CUDA's numbers of the other conditions are HIP's.
  static_assert(kWaitEqual == unsigned(kHipStreamWaitValueEq) &&
                kWaitAnd == unsigned(kHipStreamWaitValueAnd) &&
                kWaitNor == unsigned(kHipStreamWaitValueNor));
  switch (operation.type) {
  case kWaitWord32:
  case kWaitWord64:
    if (word.flags == kWaitReached)
      return context.gates.add(
          context, hipStream, "a word that a stream waits for",
          [&context, address = word.address, value = word.value, bytes = bytesOf(operation.type)] {
            return awaitReached(context, address, value, bytes);
          });
    return context.check(operation.type == kWaitWord32
                             ? hip().call<hipStreamWaitValue32>(hipStream, word.address,
                                                                uint32_t(word.value), word.flags,
                                                                ~uint32_t(0))
                             : hip().call<hipStreamWaitValue64>(hipStream, word.address, word.value,
                                                                word.flags, ~uint64_t(0)));
  case kWriteWord32:
    return context.check(
        hip().call<hipStreamWriteValue32>(hipStream, word.address, uint32_t(word.value), 0));
  case kWriteWord64:
    return context.check(hip().call<hipStreamWriteValue64>(hipStream, word.address, word.value, 0));
  case kMemoryBarrier: // each operation comes behind those before it
  case kFlushRemoteWrites:
    break;
  }
  return kSuccess;
}

Result executeBatch(Context &context, const BatchOperation &batch, void *hipStream) {
  if (!hip().has<hipStreamWaitValue32>() || !hip().has<hipStreamWaitValue64>() ||
      !hip().has<hipStreamWriteValue32>() || !hip().has<hipStreamWriteValue64>())
    return fail(kNotSupported,
                hip().path + " has no hipStreamWaitValue32 or no hipStreamWriteValue32");
  for (const MemoryOperation &operation : batch.operations)
    if (Result result = execute(context, operation, hipStream))
      return result;
  return kSuccess;
}

static Result submitBatch(const TracedCall &entry, Stream *stream,
                          const MemoryOperation *operations, unsigned count, unsigned flags) {
  return callOn(entry, stream, [&](Context &context) {
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      BatchOperation batch;
      if (Result result = makeBatch(context, operations, count, flags, batch))
        return result;
      return count ? submit(context, std::move(batch), stream, hipStream) : kSuccess;
    });
  });
}

static Result submitWord(const TracedCall &entry, Stream *stream, MemoryOperationType type,
                         void *address, uint64_t value, unsigned flags) {
  MemoryOperation operation{};
  operation.word = {type, address, value, flags, nullptr};
  return submitBatch(entry, stream, &operation, 1, 0);
}

static Result refuseFirst(const TracedCall &entry, Stream *stream) {
  return callOn(entry, stream, [&](Context &context) {
    return onStream(context, stream, [&](Context &, void *hipStream) -> Result {
      return isCaptured(hipStream)
                 ? refuseCapture(hipStream)
                 : fail(kNotSupported, Twine(entry.name) + ": the first version is switched off");
    });
  });
}

static Stream *mine(Stream *stream) { return stream ? stream : kPerThreadStream; }

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuStreamWriteValue32_v2(Stream *stream, void *address, uint32_t value, unsigned flags) {
  return submitWord(RUBIA_CALL(stream, address, value, flags), stream, kWriteWord32, address, value,
                    flags);
}
Result cuStreamWriteValue64_v2(Stream *stream, void *address, uint64_t value, unsigned flags) {
  return submitWord(RUBIA_CALL(stream, address, value, flags), stream, kWriteWord64, address, value,
                    flags);
}
Result cuStreamWaitValue32_v2(Stream *stream, void *address, uint32_t value, unsigned flags) {
  return submitWord(RUBIA_CALL(stream, address, value, flags), stream, kWaitWord32, address, value,
                    flags);
}
Result cuStreamWaitValue64_v2(Stream *stream, void *address, uint64_t value, unsigned flags) {
  return submitWord(RUBIA_CALL(stream, address, value, flags), stream, kWaitWord64, address, value,
                    flags);
}
Result cuStreamBatchMemOp_v2(Stream *stream, unsigned count, MemoryOperation *operations,
                             unsigned flags) {
  return submitBatch(RUBIA_CALL(stream, count, operations, flags), stream, operations, count,
                     flags);
}

Result cuStreamWriteValue32_v2_ptsz(Stream *stream, void *address, uint32_t value, unsigned flags) {
  return cuStreamWriteValue32_v2(mine(stream), address, value, flags);
}
Result cuStreamWriteValue64_v2_ptsz(Stream *stream, void *address, uint64_t value, unsigned flags) {
  return cuStreamWriteValue64_v2(mine(stream), address, value, flags);
}
Result cuStreamWaitValue32_v2_ptsz(Stream *stream, void *address, uint32_t value, unsigned flags) {
  return cuStreamWaitValue32_v2(mine(stream), address, value, flags);
}
Result cuStreamWaitValue64_v2_ptsz(Stream *stream, void *address, uint64_t value, unsigned flags) {
  return cuStreamWaitValue64_v2(mine(stream), address, value, flags);
}
Result cuStreamBatchMemOp_v2_ptsz(Stream *stream, unsigned count, MemoryOperation *operations,
                                  unsigned flags) {
  return cuStreamBatchMemOp_v2(mine(stream), count, operations, flags);
}

// NVIDIA's driver has the first versions switched off: their attributes are 0.
#define FIRST_VERSION(Name, Handle, ...)                                                           \
  Result Name(Stream *stream, __VA_ARGS__) { return refuseFirst(#Name, Handle); }
FIRST_VERSION(cuStreamWriteValue32, stream, void *, uint32_t, unsigned)
FIRST_VERSION(cuStreamWriteValue64, stream, void *, uint64_t, unsigned)
FIRST_VERSION(cuStreamWaitValue32, stream, void *, uint32_t, unsigned)
FIRST_VERSION(cuStreamWaitValue64, stream, void *, uint64_t, unsigned)
FIRST_VERSION(cuStreamBatchMemOp, stream, unsigned, MemoryOperation *, unsigned)
FIRST_VERSION(cuStreamWriteValue32_ptsz, mine(stream), void *, uint32_t, unsigned)
FIRST_VERSION(cuStreamWriteValue64_ptsz, mine(stream), void *, uint64_t, unsigned)
FIRST_VERSION(cuStreamWaitValue32_ptsz, mine(stream), void *, uint32_t, unsigned)
FIRST_VERSION(cuStreamWaitValue64_ptsz, mine(stream), void *, uint64_t, unsigned)
FIRST_VERSION(cuStreamBatchMemOp_ptsz, mine(stream), unsigned, MemoryOperation *, unsigned)
#undef FIRST_VERSION

} // extern "C"
