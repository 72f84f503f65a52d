// SPDX-License-Identifier: Apache-2.0
// A graph as text for Graphviz. HIP: hipGraphDebugDotPrint.
#include "emulator/hip/Graph.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace rubia::emulator::hip;
using namespace rubia::emulator;

namespace {

enum Flag : unsigned { kVerbose = 1, kKernels = 4, kCopies = 8, kFills = 16, kHandles = 1 << 10 };
constexpr unsigned kKnownFlags = 0x7fd; // 2 is CUDA's alone

StringRef nameOf(hipGraphNodeType type) {
  switch (type) {
  case hipGraphNodeTypeKernel:
    return "kernel";
  case hipGraphNodeTypeMemcpy:
  case hipGraphNodeTypeMemcpy1D:
    return "copy";
  case hipGraphNodeTypeMemcpyFromSymbol:
    return "copy from a symbol";
  case hipGraphNodeTypeMemcpyToSymbol:
    return "copy to a symbol";
  case hipGraphNodeTypeMemset:
    return "fill";
  case hipGraphNodeTypeHost:
    return "host function";
  case hipGraphNodeTypeGraph:
    return "graph";
  case hipGraphNodeTypeEmpty:
    return "empty";
  case hipGraphNodeTypeWaitEvent:
    return "wait for an event";
  case hipGraphNodeTypeEventRecord:
    return "record an event";
  case hipGraphNodeTypeCount:
    break;
  }
  return "";
}

void printSize(raw_ostream &out, StringRef what, const Dim3 &size) {
  out << "\\n" << what << ' ' << size.x << " x " << size.y << " x " << size.z;
}

struct Parameters {
  raw_ostream &out;
  unsigned flags;
  void operator()(const KernelLaunch &launch) const {
    out << "\\n";
    out.write_escaped(launch.kernel->name);
    if (!(flags & (kVerbose | kKernels)))
      return;
    printSize(out, "grid", launch.grid);
    printSize(out, "block", launch.block);
    out << "\\nshared " << launch.sharedBytes;
  }
  void operator()(const CopyOperation &copy) const {
    if (flags & (kVerbose | kCopies))
      out << "\\n"
          << copy.from << " to " << copy.to << "\\n"
          << copy.width << " x " << copy.height << " x " << copy.depth << " bytes";
  }
  void operator()(const FillOperation &fill) const {
    if (flags & (kVerbose | kFills))
      out << "\\n"
          << fill.to << " with " << fill.value << "\\n"
          << fill.count << " x " << fill.height << " of " << fill.elementBytes << " bytes";
  }
  template <typename Other> void operator()(const Other &) const {}
};

void print(raw_ostream &out, const Graph &graph, unsigned flags) {
  auto idOf = [](const GraphNode *node) { return reinterpret_cast<uint64_t>(node); };
  for (const auto &node : graph.nodes) {
    out << "  n" << idOf(node.get()) << " [label=\"" << nameOf(node->type);
    if (flags & (kVerbose | kHandles))
      out << "\\n" << static_cast<const void *>(node.get());
    visitOperation(Parameters{out, flags}, node->operation);
    out << "\"];\n";
    for (const GraphNode *before : node->dependencies)
      out << "  n" << idOf(before) << " -> n" << idOf(node.get()) << ";\n";
    if (!node->child)
      continue;
    out << "  subgraph cluster" << idOf(node.get()) << " {\n";
    print(out, *node->child, flags);
    out << "  }\n";
  }
}

} // namespace

#pragma clang diagnostic ignored "-Wmissing-prototypes" // it is not in HIP 5.2's headers

HIP_EXPORT hipError_t hipGraphDebugDotPrint(hipGraph_t handle, const char *path, unsigned flags) {
  std::lock_guard lock(graphMutex());
  Graph *graph = graphOf(handle);
  if (!graph || !path || (flags & ~kKnownFlags))
    return result(hipErrorInvalidValue);
  std::error_code error;
  raw_fd_ostream out(path, error);
  if (error)
    return result(hipErrorOperatingSystem);
  out << "digraph graph_" << reinterpret_cast<uint64_t>(graph) << " {\n";
  print(out, *graph, flags);
  out << "}\n";
  out.close();
  if (!out.has_error())
    return result(hipSuccess);
  out.clear_error();
  return result(hipErrorOperatingSystem);
}
