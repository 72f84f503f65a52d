// SPDX-License-Identifier: Apache-2.0
// Memory of graphs. A node that allocates has its address from the beginning, and here its memory
// too: it is given back when no node has it any more and no launch has left it allocated.
#include "runtime/cuda/Context.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/graph/Graph.h"
#include "llvm/ADT/STLExtras.h"

namespace rubia::runtime::cuda {

namespace {
struct GraphMemory {
  uint64_t id; // of the allocation
  Context *context;
  size_t size;
  unsigned nodes = 1;
  bool isAllocated = false;
  llvm::SmallVector<const Device *, 1> peers = {}; // that may access it, beside its own
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
  if (parameters.accessCount && !parameters.access)
    return kInvalidValue;
  for (const MemoryAccess &access : llvm::ArrayRef(parameters.access, parameters.accessCount))
    if (access.location.type != 1)
      return kInvalidValue;
    else if (!deviceAt(access.location.id))
      return kInvalidDevice;
    else if (access.flags == 0 || access.flags == 1)
      return refuse("access other than reading and writing"); // as on an H100
    else if (access.flags != 3)
      return kInvalidValue;
  return deviceAt(parameters.pool.location.id) ? kSuccess : kInvalidValue;
}

static void endAccess(const GraphMemory &memory) {
  for (const Device *peer : memory.peers)
    if (Result result = endAccess(*peer, memory.context->device))
      warnOfAccess(memory.context->device, result);
}

// HIP gives access to all of a device's memory. The list is kept all the same: what it does not
// name is refused.
static Result allowListed(const AllocateNodeParameters &parameters, GraphMemory &memory) {
  const Device &owner = memory.context->device;
  for (const MemoryAccess &access : llvm::ArrayRef(parameters.access, parameters.accessCount)) {
    const Device *peer = deviceAt(access.location.id);
    if (peer == &owner || llvm::is_contained(memory.peers, peer))
      continue;
    if (Result result = allowAccess(*peer, owner))
      return result;
    memory.peers.push_back(peer);
  }
  return kSuccess;
}

Result allocateForGraph(Context &current, AllocateOperation &operation) {
  AllocateNodeParameters &parameters = operation.parameters;
  if (Result result = checkParameters(parameters))
    return result;
  Device &device = *deviceAt(parameters.pool.location.id);
  Context &context = &device == &current.device ? current : *device.primary;
  GraphMemory memory{.id = 0, .context = &context, .size = parameters.bytes};
  void *address = nullptr;
  Result result = allowListed(parameters, memory);
  if (!result)
    result = runIn(context, current,
                   [&] { return allocateDevice(context, &address, parameters.bytes); });
  if (result) {
    endAccess(memory);
    return result;
  }
  parameters.address = address;
  auto *base = static_cast<char *>(address);
  operation.memory =
      addAllocation({base, parameters.bytes, AllocationKind::Graph, &context, 0, 0, base});
  memory.id = operation.memory;
  Lock lock(mutex);
  memories[address] = std::move(memory);
  Statistics &counted = statistics[&device];
  counted.reserved += parameters.bytes;
  counted.reservedHigh = std::max(counted.reservedHigh, counted.reserved);
  return kSuccess;
}

// Null: the address is another memory's by now, or nobody's. With the mutex held.
static GraphMemory *find(void *address, uint64_t id) {
  auto found = memories.find(address);
  return found == memories.end() || found->second.id != id ? nullptr : &found->second;
}

bool graphAccess(void *address, const Device &device) {
  Lock lock(mutex);
  auto found = memories.find(address);
  return found != memories.end() && llvm::is_contained(found->second.peers, &device);
}

static void giveBack(void *address, const GraphMemory &memory) {
  endAccess(memory);
  if (!removeAllocation(address, memory.id) || memory.context->hasLostDevice())
    return;
  if (int error = hip().call<hipFree>(address))
    log(LogLevel::Warning,
        llvm::Twine("hipFree of a graph's memory: ") + hip().hipGetErrorString(error));
}

// With the mutex held. The memory itself goes later: HIP waits for the device.
static void releaseUnused(void *address) {
  auto found = memories.find(address);
  const GraphMemory memory = found->second;
  if (memory.nodes || memory.isAllocated)
    return;
  statistics[&memory.context->device].reserved -= memory.size;
  memories.erase(found);
  afterGraphLock([=] { giveBack(address, memory); });
}

void forgetGraphMemory(Context &context) {
  Lock lock(mutex);
  std::erase_if(memories, [&](const auto &entry) {
    const GraphMemory &memory = entry.second;
    if (memory.context != &context)
      return false;
    endAccess(memory);
    Statistics &counted = statistics[&context.device];
    counted.reserved -= memory.size;
    counted.used -= memory.isAllocated ? memory.size : 0;
    return true;
  });
}

void keepGraphMemory(const AllocateOperation &operation) {
  Lock lock(mutex);
  if (GraphMemory *memory = find(operation.parameters.address, operation.memory))
    ++memory->nodes;
}

void dropGraphMemory(const AllocateOperation &operation) {
  GraphLock lockOfGraphs;
  Lock lock(mutex);
  if (GraphMemory *memory = find(operation.parameters.address, operation.memory)) {
    --memory->nodes;
    releaseUnused(operation.parameters.address);
  }
}

static void setAllocated(GraphMemory &memory, bool isAllocated) {
  Statistics &counted = statistics[&memory.context->device];
  counted.used += isAllocated ? memory.size : -memory.size;
  counted.usedHigh = std::max(counted.usedHigh, counted.used);
  memory.isAllocated = isAllocated;
}

Result beginUse(MemoryUse &use) {
  if (use.allocated.empty() && use.freed.empty())
    return kSuccess;
  Lock lock(mutex);
  std::set<void *> allocated;
  for (const AllocateOperation &operation : use.allocated) {
    GraphMemory *memory = find(operation.parameters.address, operation.memory);
    if (!memory || (memory->isAllocated && !use.mayBeAllocated))
      return kInvalidValue;
    allocated.insert(operation.parameters.address);
  }
  for (const FreeOperation &operation : use.freed) {
    GraphMemory *memory = find(operation.address, operation.memory);
    if (!memory || (!memory->isAllocated && !allocated.contains(operation.address)))
      return kInvalidValue;
  }
  std::map<void *, std::pair<uint64_t, bool>> before;
  auto set = [&](void *address, uint64_t id, bool isAllocated) {
    GraphMemory &memory = *find(address, id);
    before.try_emplace(address, id, memory.isAllocated);
    if (memory.isAllocated != isAllocated)
      setAllocated(memory, isAllocated);
  };
  for (const AllocateOperation &operation : use.allocated)
    set(operation.parameters.address, operation.memory, true);
  for (const FreeOperation &operation : use.freed)
    set(operation.address, operation.memory, false);
  for (auto [address, was] : before)
    if (find(address, was.first)->isAllocated != was.second)
      use.changed.emplace_back(address, was.first);
  return kSuccess;
}

void endUse(const MemoryUse &use, bool failed) {
  if (use.changed.empty())
    return;
  GraphLock lockOfGraphs;
  Lock lock(mutex);
  for (auto [address, id] : use.changed) {
    GraphMemory *memory = find(address, id);
    if (!memory)
      continue;
    if (failed)
      setAllocated(*memory, !memory->isAllocated);
    releaseUnused(address);
  }
}

Result makeFree(const Graph &graph, void *address, FreeOperation &operation) {
  {
    Lock lock(mutex);
    auto found = memories.find(address);
    if (found == memories.end())
      return kInvalidValue;
    operation = {address, found->second.id};
  }
  const bool isFreed = llvm::any_of(graph.nodes, [&](const auto &node) {
    auto *freeing = std::get_if<FreeOperation>(&node->operation);
    return freeing && freeing->memory == operation.memory;
  });
  return isFreed ? kInvalidValue : kSuccess;
}

Result freeGraphMemory(void *address) {
  GraphLock lockOfGraphs;
  Lock lock(mutex);
  auto found = memories.find(address);
  if (found == memories.end() || !found->second.isAllocated)
    return kInvalidValue;
  setAllocated(found->second, false);
  releaseUnused(address);
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
  return call(RUBIA_CALL(device, attribute, value), [&] {
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
  return call(RUBIA_CALL(device, attribute, value), [&] {
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
  return call(RUBIA_CALL(device), [&] { return deviceAt(device) ? kSuccess : kInvalidDevice; });
}

} // extern "C"
