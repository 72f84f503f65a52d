// SPDX-License-Identifier: Apache-2.0
// A graph as text for Graphviz.
#include "runtime/cuda/graph/Graph.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::runtime::cuda {

namespace {

enum Flag : unsigned { kVerbose = 1, kKernels = 4, kCopies = 8, kFills = 16, kHandles = 1 << 10 };

StringRef nameOf(NodeType type) {
  switch (type) {
  case kKernelNode:
    return "kernel";
  case kCopyNode:
    return "copy";
  case kFillNode:
    return "fill";
  case kHostNode:
    return "host function";
  case kChildNode:
    return "graph";
  case kEmptyNode:
    return "empty";
  case kWaitNode:
    return "wait for an event";
  case kRecordNode:
    return "record an event";
  case kAllocateNode:
    return "allocate memory";
  case kFreeNode:
    return "free memory";
  case kConditionalNode:
    return "conditional";
  case kBatchNode:
    return "write and await words";
  case kSignalSemaphoresNode:
    return "signal semaphores";
  case kWaitSemaphoresNode:
    return "wait for semaphores";
  }
  return "";
}

class Printer {
public:
  Printer(raw_ostream &out, unsigned flags) : out(out), flags(flags) {}

  void print(const Graph &graph) {
    for (const auto &node : graph.nodes) {
      out << "  n" << node->id << " [label=\"" << nameOf(node->type());
      if (flags & (kVerbose | kHandles))
        out << "\\n" << static_cast<const void *>(node.get());
      printParameters(node->operation);
      out << "\"];\n";
      for (const Edge &edge : node->dependencies)
        out << "  n" << edge.from->id << " -> n" << node->id << ";\n";
      for (const Graph *inner : node->graphs()) {
        out << "  subgraph cluster" << inner->id << " {\n";
        print(*inner);
        out << "  }\n";
      }
    }
  }

private:
  void printSize(StringRef what, const uint32_t (&size)[3]) {
    out << "\\n" << what << ' ' << size[0] << " x " << size[1] << " x " << size[2];
  }

  void printParameters(const Operation &operation) {
    if (const auto *kernel = std::get_if<KernelOperation>(&operation)) {
      out << "\\n";
      out.write_escaped(kernel->isLive() ? kernel->function->kernel.name : "unloaded");
      if (!(flags & (kVerbose | kKernels)))
        return;
      printSize("grid", kernel->shape.grid);
      printSize("block", kernel->shape.block);
      out << "\\nshared " << kernel->shape.dynamicSharedBytes;
    } else if (const auto *copy = std::get_if<CopyOperation>(&operation)) {
      if (flags & (kVerbose | kCopies))
        out << "\\n"
            << copy->copy.widthInBytes << " x " << copy->copy.height << " x " << copy->copy.depth
            << " bytes";
    } else if (const auto *fill = std::get_if<FillOperation>(&operation)) {
      if (flags & (kVerbose | kFills))
        out << "\\n"
            << fill->fill.to << " with " << fill->fill.value << "\\n"
            << fill->fill.width << " x " << fill->fill.height << " of " << fill->fill.elementBytes
            << " bytes";
    }
  }

  raw_ostream &out;
  unsigned flags;
};

} // namespace

static Result print(const Graph &graph, const char *path, unsigned flags) {
  std::error_code error;
  raw_fd_ostream out(path, error);
  if (error)
    return fail(kOperatingSystem, Twine("cuGraphDebugDotPrint: ") + path + ": " + error.message());
  out << "digraph graph_" << graph.id << " {\n";
  Printer(out, flags).print(graph);
  out << "}\n";
  out.close();
  if (!out.has_error())
    return kSuccess;
  out.clear_error();
  return fail(kOperatingSystem, Twine("cuGraphDebugDotPrint: ") + path + ": cannot be written");
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" Result cuGraphDebugDotPrint(Graph *graph, const char *path, unsigned flags) {
  return call(RUBIA_CALL(graph, path, flags), [&]() {
    GraphLock lock;
    return path && liveGraph(graph) ? print(*graph, path, flags) : kInvalidValue;
  });
}
