// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/HiddenArguments.h"
#include "emulator/HostProcessors.h"

using namespace llvm;

namespace rubia::emulator::hip {
namespace {

// ROCm's device libraries, cg.cl: mg_info. The counters are those of this launch alone; several
// grids meet at one word elsewhere.
struct GridSyncInfo {
  uint64_t meeting;
  uint32_t grid, grids;
  uint64_t threadsBefore, allThreads;
  uint32_t counter[2];
  uint32_t workgroups;
  uint32_t ownMeeting[2]; // of a launch that is the only one
};
static_assert(offsetof(GridSyncInfo, counter) == 32 && offsetof(GridSyncInfo, workgroups) == 40);

// The device library's heap starts as zeros and grows by host calls; it is the device's for good.
constexpr size_t kHeapBytes = 1 << 20;

Expected<uint64_t> heapOf(Device &device) {
  std::lock_guard<std::mutex> lock(device.heapMutex);
  if (!device.heap) {
    auto made = Machine::instance().memory.allocateZeroed(kHeapBytes, MemoryKind::Device);
    if (!made)
      return made.takeError();
    device.heap = reinterpret_cast<uint64_t>(*made);
  }
  return device.heap;
}

Expected<DeviceMemory> gridSyncOf(const KernelLaunch &launch) {
  auto memory = DeviceMemory::zeroed(sizeof(GridSyncInfo));
  if (!memory)
    return memory.takeError();
  const GridShare &share = launch.gridShare;
  const uint64_t threads = launch.grid.count() * launch.block.count();
  auto &info = *memory->as<GridSyncInfo>();
  info.meeting = share.meeting ? share.meeting->address()
                               : memory->address() + offsetof(GridSyncInfo, ownMeeting);
  info.grid = share.grid;
  info.grids = share.grids;
  info.threadsBefore = share.threadsBefore;
  info.allThreads = share.meeting ? share.allThreads : threads;
  info.workgroups = uint32_t(launch.grid.count());
  return memory;
}

// At one time, on the device.
uint64_t wavesOf(const KernelLaunch &launch) {
  const uint64_t ofGroup =
      (launch.block.count() + launch.kernel->waveSize - 1) / launch.kernel->waveSize;
  const uint64_t resident = // of a launch that fits, not 0, which means no limit
      std::max<uint64_t>(launch.residentLimit, hostProcessors());
  return std::min(launch.grid.count(), resident) * ofGroup;
}

} // namespace

Expected<HiddenArguments> HiddenArguments::make(Device &device, const KernelLaunch &launch) {
  HiddenArguments made;
  auto takes = [&](StringRef kind) {
    return any_of(launch.kernel->arguments,
                  [&](const KernelArgument &argument) { return argument.valueKind == kind; });
  };
  if (takes("hidden_hostcall_buffer")) {
    auto calls = HostCalls::start(wavesOf(launch));
    if (!calls)
      return calls.takeError();
    made.hostCalls = std::move(*calls);
  }
  if (takes("hidden_printf_buffer")) {
    auto buffer = PrintfBuffer::make(*launch.kernel);
    if (!buffer)
      return buffer.takeError();
    made.printf = std::move(*buffer);
  }
  if (takes("hidden_heap_v1")) {
    auto heap = heapOf(device);
    if (!heap)
      return heap.takeError();
    made.heap = *heap;
  }
  if (launch.cooperative && takes("hidden_multigrid_sync_arg")) {
    auto sync = gridSyncOf(launch);
    if (!sync)
      return sync.takeError();
    made.gridSync = std::move(*sync);
  }
  return made;
}

HiddenPointers HiddenArguments::pointers() const {
  HiddenPointers pointers;
  pointers.hostcallBuffer = hostCalls ? hostCalls->buffer() : 0;
  pointers.printfBuffer = printf ? printf->address() : 0;
  pointers.heap = heap;
  pointers.multigridSync = gridSync.address();
  return pointers;
}

Error HiddenArguments::finish() {
  Error error = printf ? printf->print() : Error::success();
  if (!hostCalls)
    return error;
  hostCalls->finish();
  return joinErrors(std::move(error), hostCalls->takeError());
}

} // namespace rubia::emulator::hip
