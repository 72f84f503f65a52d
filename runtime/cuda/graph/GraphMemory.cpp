// SPDX-License-Identifier: Apache-2.0
// Memory of graphs. A node that allocates has its address from the beginning, and here its memory
// too: it is given back when no node has it any more and no launch has left it allocated.
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/graph/Graph.h"
#include "llvm/ADT/STLExtras.h"

namespace rubia::runtime::cuda {

namespace {
struct GraphMemory {
  Context *context;
  size_t size;
  unsigned nodes = 1;
  bool isAllocated = false;
};
struct Statistics { // of a device: CUgraphMem_attribute
  uint64_t used = 0, usedHigh = 0, reserved = 0, reservedHigh = 0;
};
} // namespace

static std::mutex &mutex = *new std::mutex;
static std::map<void *, GraphMemory> &memories = *new std::map<void *, GraphMemory>;
static std::map<Device *, Statistics> &statistics = *new std::map<Device *, Statistics>;
using Lock = std::lock_guard<std::mutex>;

static Result checkParameters(const AllocateNodeParameters &parameters) {
  auto refuse = [](const char *what) {
    return fail(kNotSupported, llvm::Twine("cuGraphAddMemAllocNode: ") + what);
  };
  if (!parameters.bytes || parameters.pool.allocationType != 1)
    return kInvalidValue;
  if (parameters.pool.handleTypes)
    return refuse("memory for other processes");
  if (parameters.pool.location.type != 1)
    return refuse("memory of the host");
  return deviceAt(parameters.pool.location.id) ? kSuccess : kInvalidValue;
}

Result allocateForGraph(Context &current, AllocateNodeParameters &parameters) {
  if (Result result = checkParameters(parameters))
    return result;
  Device &device = *deviceAt(parameters.pool.location.id);
  Context &context = &device == &current.device ? current : *device.primary;
  if (Result result = enter(context))
    return result;
  void *address = nullptr;
  Result result = allocateDevice(context, &address, parameters.bytes);
  Result back = enter(current);
  if (result || back)
    return result ? result : back;
  parameters.address = address;
  addAllocation({static_cast<char *>(address), parameters.bytes, AllocationKind::Graph, &context, 0,
                 0, static_cast<char *>(address)});
  Lock lock(mutex);
  memories[address] = {&context, parameters.bytes};
  Statistics &counted = statistics[&device];
  counted.reserved += parameters.bytes;
  counted.reservedHigh = std::max(counted.reservedHigh, counted.reserved);
  return kSuccess;
}

// With the mutex held.
static void releaseUnused(std::map<void *, GraphMemory>::iterator found) {
  auto [address, memory] = *found;
  if (memory.nodes || memory.isAllocated)
    return;
  statistics[&memory.context->device].reserved -= memory.size;
  memories.erase(found);
  if (!removeAllocation(address)) // its context ended before, and freed it
    return;
  if (int error = hip().hipFree(address))
    log(LogLevel::Warning,
        llvm::Twine("hipFree of a graph's memory: ") + hip().hipGetErrorString(error));
}

void keepGraphMemory(void *address) {
  Lock lock(mutex);
  ++memories.at(address).nodes;
}

void dropGraphMemory(void *address) {
  Lock lock(mutex);
  auto found = memories.find(address);
  --found->second.nodes;
  releaseUnused(found);
}

bool isAllocated(void *address) {
  Lock lock(mutex);
  auto found = memories.find(address);
  return found != memories.end() && found->second.isAllocated;
}

void setAllocated(void *address, bool isAllocated) {
  Lock lock(mutex);
  auto found = memories.find(address);
  if (found == memories.end() || found->second.isAllocated == isAllocated)
    return;
  GraphMemory &memory = found->second;
  Statistics &counted = statistics[&memory.context->device];
  counted.used += isAllocated ? memory.size : -memory.size;
  counted.usedHigh = std::max(counted.usedHigh, counted.used);
  memory.isAllocated = isAllocated;
  releaseUnused(found);
}

Result checkFreeNode(const Graph &graph, void *address) {
  {
    Lock lock(mutex);
    if (!memories.contains(address))
      return kInvalidValue;
  }
  const bool isFreed = llvm::any_of(graph.nodes, [&](const auto &node) {
    auto *freeing = std::get_if<FreeOperation>(&node->operation);
    return freeing && freeing->address == address;
  });
  return isFreed ? kInvalidValue : kSuccess;
}

Result freeGraphMemory(void *address) {
  if (!isAllocated(address))
    return kInvalidValue;
  setAllocated(address, false);
  return kSuccess;
}

static uint64_t *statistic(Statistics &counted, int attribute) {
  uint64_t *all[] = {&counted.used, &counted.usedHigh, &counted.reserved, &counted.reservedHigh};
  return attribute >= 0 && attribute < 4 ? all[attribute] : nullptr;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuDeviceGetGraphMemAttribute(int device, int attribute, void *value) {
  return call(__func__, [&] {
    Device *found = deviceAt(device);
    if (!found)
      return kInvalidDevice;
    Lock lock(mutex);
    uint64_t *counted = statistic(statistics[found], attribute);
    if (!value || !counted)
      return kInvalidValue;
    *static_cast<uint64_t *>(value) = *counted;
    return kSuccess;
  });
}

// The two highest values can be set back to what they are now.
Result cuDeviceSetGraphMemAttribute(int device, int attribute, void *value) {
  return call(__func__, [&] {
    Device *found = deviceAt(device);
    if (!found)
      return kInvalidDevice;
    if (!value || (attribute != 1 && attribute != 3) || *static_cast<uint64_t *>(value))
      return kInvalidValue;
    Lock lock(mutex);
    Statistics &counted = statistics[found];
    *statistic(counted, attribute) = *statistic(counted, attribute - 1);
    return kSuccess;
  });
}

// Nothing is kept that no node has.
Result cuDeviceGraphMemTrim(int device) {
  return call(__func__, [&] { return deviceAt(device) ? kSuccess : kInvalidDevice; });
}

} // extern "C"
