// SPDX-License-Identifier: Apache-2.0
// What the parameters of nodes become: the functions that add nodes, change them, and change them
// in executable graphs all make an operation and put it in its place.
#pragma once

#include "runtime/cuda/graph/Graph.h"

namespace rubia::runtime::cuda {

/// An operation of a node and the context that it runs in, or why the parameters are wrong.
struct Made {
  Result error = kSuccess;
  Context *context = nullptr;
  Operation operation = EmptyOperation{};

  Made(Result error) : error(error) {}
  Made(Context &context, Operation operation)
      : context(&context), operation(std::move(operation)) {}
};

/// Runs `body` with the device of `context` as HIP's current one.
template <class Body> Result inContext(Context &current, Context &context, Body body) {
  if (&current == &context)
    return body();
  if (Result result = enter(context))
    return result;
  Result result = body();
  Result back = enter(current);
  return result ? result : back;
}

Made makeKernelNode(Context &current, const KernelNodeParametersV2 *parameters);
Made makeCopyNode(Context &current, const Copy3D *copy, Context *context);
Made makeFillNode(Context &current, const FillNodeParameters *fill, Context *context);
Made makeHostNode(Context &current, const HostNodeParameters *host);
Made makeRecordNode(Context &current, Event *event);
Made makeWaitNode(Context &current, Event *event);
Made makeBatchNode(const BatchNodeParameters *batch);
Made makeSignalNode(Context &current, const SemaphoresNodeParameters *semaphores);
Made makeWaitSemaphoresNode(Context &current, const SemaphoresNodeParameters *semaphores);
/// Of CUgraphNodeParams, for nodes that are there already.
Made makeNode(Context &current, const NodeParameters *parameters);
KernelNodeParametersV2 widened(const KernelNodeParameters &parameters);

} // namespace rubia::runtime::cuda
