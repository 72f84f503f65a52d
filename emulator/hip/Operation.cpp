// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/Operation.h"
#include "emulator/hip/AddressSpace.h"
#include "emulator/hip/Allocations.h"
#include "emulator/hip/CheckReports.h"
#include "emulator/hip/Events.h"
#include "emulator/hip/Graph.h"
#include "emulator/hip/ProcessSharing.h"
#include "settings/Settings.h"
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace rubia::settings::Id {
extern const Setting emulatorLaunches;
} // namespace rubia::settings::Id

namespace rubia::emulator::hip {
namespace {

constexpr unsigned kMemcpyDeviceToDeviceNoCU = 1024; // since HIP 6: not by a kernel

Memory &memory() { return Machine::instance().memory; }

// From the first byte of the first row to the last of the last.
size_t extentOf(size_t width, size_t height, size_t depth, size_t pitch, size_t slice) {
  return width + (height - 1) * pitch + (depth - 1) * slice;
}

// What is mapped side by side is one to a copy.
bool isMapped(const Allocation &allocation) {
  return !allocation.owned && placementOf(allocation.address).isMapped;
}

// Device memory that is named must be there, as a whole.
bool reaches(const void *pointer, size_t bytes) {
  auto allocation = memory().find(pointer);
  if (!allocation)
    return false;
  uint64_t within = allocation->end() - reinterpret_cast<uint64_t>(pointer);
  while (bytes > within && isMapped(*allocation)) {
    allocation = memory().find(reinterpret_cast<const char *>(allocation->end()));
    if (!allocation || !isMapped(*allocation))
      return false;
    within += allocation->size;
  }
  return bytes <= within;
}

// Memory that was the device's until it was freed is nobody's, and nobody may reach what is
// reserved and not mapped.
bool wasFreed(const void *pointer) {
  return isPageable(pointer) && (memory().findFreed(reinterpret_cast<uint64_t>(pointer)) ||
                                 AddressSpace::instance().isReserved(pointer));
}

void run(const CopyOperation &copy) {
  for (size_t z = 0; z < copy.depth; ++z)
    for (size_t y = 0; y < copy.height; ++y) {
      char *to = static_cast<char *>(copy.to) + z * copy.toSlice + y * copy.toPitch;
      const char *from =
          static_cast<const char *>(copy.from) + z * copy.fromSlice + y * copy.fromPitch;
      if (followsWrites())
        memory().copyWritten(reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from),
                             copy.width);
      memmove(to, from, copy.width);
    }
}

template <typename T> void fillRows(const FillOperation &fill) {
  for (size_t z = 0; z < fill.depth; ++z)
    for (size_t y = 0; y < fill.height; ++y)
      std::fill_n(
          reinterpret_cast<T *>(static_cast<char *>(fill.to) + z * fill.slice + y * fill.pitch),
          fill.count, T(fill.value));
}

void run(const FillOperation &fill) {
  for (size_t z = 0; followsWrites() && z < fill.depth; ++z)
    for (size_t y = 0; y < fill.height; ++y)
      memory().markWritten(reinterpret_cast<uint64_t>(fill.to) + z * fill.slice + y * fill.pitch,
                           fill.count * fill.elementBytes);
  switch (fill.elementBytes) {
  case 1:
    return fillRows<uint8_t>(fill);
  case 2:
    return fillRows<uint16_t>(fill);
  default:
    return fillRows<uint32_t>(fill);
  }
}

/// RUBIA_EMULATOR_LAUNCHES: a launch that is measured puts all memory back several times, which
/// would undo what other streams do meanwhile. So nothing else happens then.
std::unique_lock<std::mutex> aloneIfMeasured() {
  static const bool measured = !hostSettings().text(settings::Id::emulatorLaunches).empty();
  static std::mutex mutex;
  return measured ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
}

struct Executor {
  Device &device;
  void operator()(const EmptyOperation &) const {}
  void operator()(const KernelLaunch &launch) const {
    const auto alone = aloneIfMeasured();
    const std::shared_lock together(executing());
    execute(device, launch);
  }
  void operator()(const CopyOperation &copy) const {
    const auto alone = aloneIfMeasured();
    const std::shared_lock together(executing());
    run(copy);
  }
  void operator()(const FillOperation &fill) const {
    const auto alone = aloneIfMeasured();
    const std::shared_lock together(executing());
    run(fill);
  }
  void operator()(const HostOperation &host) const { host.work(); }
  void operator()(const RecordOperation &record) const { record.completion->finish(); }
  void operator()(const WaitOperation &wait) const {
    if (wait.completion)
      wait.completion->wait();
  }
  void operator()(const ChildOperation &child) const {
    for (const Operation &operation : child.operations)
      execute(device, operation);
  }
};

} // namespace

void resolveEvents(Operation &operation) {
  if (auto *wait = std::get_if<WaitOperation>(&operation)) {
    wait->completion = completionOf(*wait->event);
  } else if (auto *record = std::get_if<RecordOperation>(&operation)) {
    record->completion = std::make_shared<Completion>();
    setCompletion(*record->event, record->completion);
  } else if (auto *child = std::get_if<ChildOperation>(&operation)) {
    for (Operation &inside : child->operations)
      resolveEvents(inside);
  }
}

bool isPageable(const void *pointer) { return !memory().find(pointer); }

void execute(Device &device, const Operation &operation) {
  // Whoever waits for a callback or an event must not wait for ever.
  if (device.stickyError.load() && !std::holds_alternative<HostOperation>(operation) &&
      !std::holds_alternative<RecordOperation>(operation) &&
      !std::holds_alternative<ChildOperation>(operation))
    return;
  visitOperation(Executor{device}, operation);
}

hipError_t check(const CopyOperation &copy, hipMemcpyKind kind) {
  if (!copy.width || !copy.height || !copy.depth)
    return hipSuccess;
  if (!copy.to || !copy.from)
    return hipErrorInvalidValue;
  if (copy.height > 1 && (copy.toPitch < copy.width || copy.fromPitch < copy.width))
    return hipErrorInvalidPitchValue;
  if (unsigned(kind) == kMemcpyDeviceToDeviceNoCU)
    kind = hipMemcpyDeviceToDevice;
  if (kind < hipMemcpyHostToHost || kind > hipMemcpyDefault)
    return hipErrorInvalidMemcpyDirection;
  size_t toBytes = extentOf(copy.width, copy.height, copy.depth, copy.toPitch, copy.toSlice);
  size_t fromBytes = extentOf(copy.width, copy.height, copy.depth, copy.fromPitch, copy.fromSlice);
  bool deviceTo = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice ||
                  (kind == hipMemcpyDefault && !isPageable(copy.to));
  bool deviceFrom = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice ||
                    (kind == hipMemcpyDefault && !isPageable(copy.from));
  if (wasFreed(copy.to) || wasFreed(copy.from) || (deviceTo && !reaches(copy.to, toBytes)) ||
      (deviceFrom && !reaches(copy.from, fromBytes)))
    return hipErrorInvalidValue;
  return hipSuccess;
}

hipError_t check(const FillOperation &fill) {
  if (!fill.count || !fill.height || !fill.depth)
    return hipSuccess;
  unsigned size = fill.elementBytes;
  if ((size != 1 && size != 2 && size != 4) || fill.count > SIZE_MAX / size)
    return hipErrorInvalidValue;
  if (fill.height > 1 && fill.pitch < fill.count * size)
    return hipErrorInvalidPitchValue;
  if (reinterpret_cast<uint64_t>(fill.to) % size ||
      !reaches(fill.to,
               extentOf(fill.count * size, fill.height, fill.depth, fill.pitch, fill.slice)))
    return hipErrorInvalidValue;
  return hipSuccess;
}

// What an operation writes and reads of other processes.
static std::array<std::shared_ptr<const void>, 2> pagesOf(const Operation &operation) {
  if (const auto *copy = std::get_if<CopyOperation>(&operation))
    return {pagesOf(copy->to), pagesOf(copy->from)};
  if (const auto *fill = std::get_if<FillOperation>(&operation))
    return {pagesOf(fill->to)};
  return {};
}

hipError_t submit(Stream &stream, Operation operation, bool wait) {
  if (hipError_t error = captureConflict(stream, wait))
    return error;
  if (isCapturing(stream))
    return capture(stream, std::move(operation));
  Device *device = &stream.device;
  auto shared = std::make_shared<Operation>(std::move(operation));
  CompletionRef done = device->streams.enqueue(
      stream, [device, shared, pages = pagesOf(*shared)] { execute(*device, *shared); });
  if (!wait)
    return hipSuccess;
  done->wait();
  return hipError_t(device->stickyError.load());
}

// Calls that return when all is done, on the null stream, are none for a capture, whether or not
// the null stream waits for its streams.
static hipError_t waitConflict(const Stream &stream, bool wait) {
  return wait && &stream == stream.device.streams.null().get()
             ? waitsForCapture(hipErrorStreamCaptureImplicit)
             : hipSuccess;
}

hipError_t submitFill(Stream &stream, const FillOperation &fill, bool wait) {
  if (hipError_t error = waitConflict(stream, wait))
    return error;
  return submit(stream, fill, wait);
}

hipError_t submitCopy(Stream &stream, const CopyOperation &copy, bool wait) {
  if (hipError_t error = waitConflict(stream, wait))
    return error;
  const bool pageable = isPageable(copy.to) || isPageable(copy.from);
  return submit(stream, copy, wait || (pageable && !isCapturing(stream)));
}

hipError_t refuseInCapture(const char *function) {
  complain(llvm::Twine(function) + ": not supported while a stream is captured");
  return hipErrorNotSupported;
}

} // namespace rubia::emulator::hip
