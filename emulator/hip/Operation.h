// SPDX-License-Identifier: Apache-2.0
// What streams execute and what the nodes of graphs are: one thing with its arguments copied.
#pragma once

#include "emulator/hip/Modules.h"
#include <variant>

namespace rubia::emulator::hip {

struct EventState;
using EventRef = std::shared_ptr<EventState>;

/// `depth` slices of `height` rows of `width` bytes.
struct CopyOperation {
  void *to;
  const void *from;
  size_t width, height = 1, depth = 1;
  size_t toPitch = 0, fromPitch = 0; // bytes from row to row
  size_t toSlice = 0, fromSlice = 0; // bytes from slice to slice
};

/// `depth` slices of `height` rows of `count` elements of 1, 2 or 4 bytes.
struct FillOperation {
  void *to;
  uint32_t value;
  unsigned elementBytes;
  size_t count, height = 1, pitch = 0, depth = 1, slice = 0;
};

struct HostOperation {
  std::function<void()> work;
  hipHostNodeParams parameters = {}; // of a host node
};

struct EmptyOperation {};

/// Events in graphs: a launch of the graph records them, or waits for what was recorded before it.
/// What exactly that is, `resolveEvents` writes down at the launch.
struct RecordOperation {
  EventRef event;
  CompletionRef completion = nullptr;
};
struct WaitOperation {
  EventRef event;
  CompletionRef completion = nullptr; // null: the event was never recorded
};

/// A graph in a graph: its nodes in an order that honours their dependencies.
struct Operation;
struct ChildOperation {
  std::vector<Operation> operations;
};

using AnyOperation = std::variant<EmptyOperation, KernelLaunch, CopyOperation, FillOperation,
                                  HostOperation, RecordOperation, WaitOperation, ChildOperation>;
struct Operation : AnyOperation {
  using variant::variant;
};
template <typename Visitor>
void visitOperation(const Visitor &visitor, const Operation &operation) {
  std::visit(visitor, static_cast<const AnyOperation &>(operation));
}

/// Executes an operation on the calling thread. Does nothing on a device with a sticky error, but
/// for host functions, which HIP calls in any case.
void execute(Device &device, const Operation &operation);

/// A launch of a graph begins: its events are recorded and waited for as they stand now.
void resolveEvents(Operation &operation);

/// Whether an address is in no memory that the device knows of.
bool isPageable(const void *pointer);

/// A 3D copy between pitched memory and arrays.
hipError_t copyOf(const hipMemcpy3DParms &parameters, CopyOperation &copy);
hipError_t copyOf(const HIP_MEMCPY3D *parameters, CopyOperation &copy, hipMemcpyKind &kind);
/// The other way round.
hipMemcpy3DParms parametersOf(const CopyOperation &copy, hipMemcpyKind kind);

/// hipMemsetParams since HIP 7, and what HIP's driver API calls HIP_MEMSET_NODE_PARAMS before.
struct FillParameters {
  hipDeviceptr_t to;
  size_t pitch;
  unsigned value, elementBytes;
  size_t width, height;
};
/// hipMemsetParams as the program's version of HIP has them.
FillOperation fillOf(const hipMemsetParams *parameters);
void giveParameters(const FillOperation &fill, hipMemsetParams *parameters);

/// Whether a copy or fill stays inside allocations, as far as it names device memory.
hipError_t check(const CopyOperation &copy, hipMemcpyKind kind);
hipError_t check(const FillOperation &fill);

/// Hands an operation to a stream of the current device or, while the stream is being captured,
/// adds it to the graph. With `wait` it returns when the operation is done; no captured stream can
/// do that.
hipError_t submit(Stream &stream, Operation operation, bool wait = false);

/// A copy also waits for pageable memory, which may be reused or expected as soon as the call
/// returns. Not in a capture: there the memory is that of the launch.
hipError_t submitCopy(Stream &stream, const CopyOperation &copy, bool wait);
hipError_t submitFill(Stream &stream, const FillOperation &fill, bool wait);

/// What has no node that it could become is not captured: says so and leaves the capture as it is.
hipError_t refuseInCapture(const char *function);

} // namespace rubia::emulator::hip
