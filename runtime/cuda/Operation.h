// SPDX-License-Identifier: Apache-2.0
// What streams execute and what nodes of graphs are: one thing, with its arguments copied. An entry
// point that works on a stream makes an operation and submits it: it is executed or, while the
// stream is being captured, becomes a node.
#pragma once

#include "runtime/cuda/Module.h"
#include "runtime/cuda/Stream.h"
#include <variant>

namespace rubia::runtime::cuda {

struct ConditionalWord; // graph/Conditional.h

struct KernelOperation {
  Function *function = nullptr; // as the program named it
  uint64_t id = 0;              // of the function: another one may have its address later
  bool isKernelHandle = false;  // of a library: nodes tell the CUkernel, however it was named
  LaunchShape shape;
  std::vector<uint8_t> parameters;
  bool isBuffer = false; // given as one buffer
  bool isCooperative = false;
  std::map<int, LaunchAttribute> attributes = {}; // of the node

  /// The function was not unloaded.
  bool isLive() const;
  /// Takes over what a node keeps when its parameters change.
  void keepAttributes(const KernelOperation &old);
};

/// `kind` is one of HipMemcpyKind.
struct CopyOperation {
  Copy3D copy;
  int kind;
};

struct FillOperation {
  FillNodeParameters fill;
};

struct HostOperation {
  HostNodeParameters host;
  /// Of cuStreamAddCallback, which has no node.
  void (*withStatus)(Stream *stream, Result status, void *data) = nullptr;
  Stream *stream = nullptr;
};

struct RecordOperation {
  std::shared_ptr<Event> event;
};
struct WaitOperation {
  std::shared_ptr<Event> event;
};
struct EmptyOperation {};

/// `memory` is the id of the allocation: another one may have its address later.
struct AllocateOperation {
  AllocateNodeParameters parameters;
  uint64_t memory = 0;
};
struct FreeOperation {
  void *address;
  uint64_t memory = 0;
};

/// Words that a stream writes and waits for, one after the other.
struct BatchOperation {
  std::vector<MemoryOperation> operations;
};

/// Semaphores of other libraries, in order. The operation keeps them alive for HIP.
struct SemaphoresOperation {
  std::vector<ExternalSemaphore *> handles; // as the program named them
  std::vector<std::shared_ptr<ExternalSemaphore>> semaphores;
  std::vector<SemaphoreParameters> parameters;
};
struct SignalSemaphoresOperation : SemaphoresOperation {};
struct WaitSemaphoresOperation : SemaphoresOperation {};

/// A graph in a node, which owns it.
struct ChildOperation {
  Graph *graph;
};
struct ConditionalOperation {
  uint64_t handle;
  ConditionalType type;
  std::vector<Graph *> bodies;
  std::shared_ptr<ConditionalWord> word; // of the handle
};

// In the order of NodeType.
using Operation =
    std::variant<KernelOperation, CopyOperation, FillOperation, HostOperation, ChildOperation,
                 EmptyOperation, WaitOperation, RecordOperation, SignalSemaphoresOperation,
                 WaitSemaphoresOperation, AllocateOperation, FreeOperation, BatchOperation,
                 ConditionalOperation>;

/// The context's stream of HIP's that an operation is executed on.
struct Place {
  void *hipStream;
  /// Whose workspace a cooperative launch has: launches of one follow each other.
  Stream *workspace;
  /// The stream that the program waits for: other than `hipStream` where a graph has its own.
  AwaitedStream awaited;
  bool isInBody = false; // of a conditional node
};

/// Executes it on a stream of the context, whose device is HIP's current one. Operations that are
/// graphs, or memory of graphs, are none of these.
Result execute(Context &context, const Operation &operation, const Place &place);

/// Executes or captures it.
Result submit(Context &context, Operation operation, Stream *handle, void *hipStream);

/// What can be said of an operation before it is executed.
Result makeKernel(Context &context, Function *function, const LaunchShape &shape,
                  void *const *values, void *const *extra, bool isCooperative,
                  KernelOperation &operation);
Result checkKernel(Context &context, const KernelOperation &operation);
Result checkCopy(Context &context, const CopyOperation &operation); // of a node
Result checkFill(Context &context, const FillNodeParameters &fill); // of a node
Result makeBatch(Context &context, const MemoryOperation *operations, unsigned count,
                 unsigned flags, BatchOperation &batch);
/// `operation` is of the type that is wanted.
Result makeSemaphores(ExternalSemaphore *const *semaphores, const SemaphoreParameters *parameters,
                      unsigned count, SemaphoresOperation &operation);
CopyOperation copyOf(void *to, const void *from, size_t bytes, int kind);
CopyOperation copyOf(const Copy3D &copy);

// The bodies of execute().
Result executeKernel(Context &context, const KernelOperation &operation, const Place &place);
Result executeCopy(Context &context, const CopyOperation &operation, void *hipStream);
Result executeFill(Context &context, const FillOperation &operation, void *hipStream);
Result executeBatch(Context &context, const BatchOperation &operation, void *hipStream);
Result executeHost(Context &context, const HostOperation &operation, void *hipStream);
Result executeSemaphores(Context &context, const SemaphoresOperation &operation, bool isWait,
                         void *hipStream);

/// Compiles and loads what the operation needs, so that executing it only adds to the stream.
/// `isInBody`: of a conditional node.
Result prepare(Context &context, const Operation &operation, bool isInBody = false);

/// Of a stream of HIP's that ends: the workspace of its cooperative launches.
void freeWorkspace(Context &context, Stream *stream);

} // namespace rubia::runtime::cuda
