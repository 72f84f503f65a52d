// SPDX-License-Identifier: Apache-2.0
// A launch: checks it, lays out kernel arguments and the dispatch packet, and runs the workgroups
// on host threads.
#include "emulator/lib/check/CheckBarriers.h"
#include "emulator/lib/check/CheckMemory.h"
#include "emulator/lib/check/CheckRaces.h"
#include "emulator/lib/check/CheckSlots.h"
#include "emulator/lib/check/CheckUninitialised.h"
#include "emulator/lib/check/CheckWarps.h"
#include "emulator/lib/debug/DebugObserver.h"
#include "emulator/lib/machine/HostThreads.h"
#include "emulator/lib/machine/InitialFloat.h"
#include "emulator/lib/memory/MemoryRegistry.h"
#include "emulator/lib/observe/CostObserver.h"
#include "emulator/lib/observe/ObservedRun.h"
#include "emulator/lib/order/OrderRun.h"
#include "emulator/lib/run/Dispatch.h"
#include "emulator/lib/run/OperationCounts.h"
#include "emulator/lib/trace/Trace.h"
#include "settings/Settings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting emulatorLaunches;
} // namespace rubia::settings::Id
namespace rubia::targets::Fact {
extern const GenerationFact maxLdsBytes, workgroupIdsInTtmp;
} // namespace rubia::targets::Fact

namespace rubia::emulator {

namespace {

constexpr uint64_t kPadding =
    256; // scalar loads may read beyond the last argument, up to their own alignment

/// Frees an allocation at the end of a launch.
class Scoped {
public:
  static Expected<Scoped> make(Memory &memory, uint64_t size) {
    Expected<void *> pointer = memory.allocateZeroed(size, MemoryKind::Code, 64);
    if (!pointer)
      return pointer.takeError();
    return Scoped(memory, static_cast<uint8_t *>(*pointer));
  }
  Scoped(Scoped &&other) noexcept
      : memory(other.memory), data(std::exchange(other.data, nullptr)) {}
  ~Scoped() {
    if (data)
      consumeError(memory->free(data));
  }
  uint8_t *get() const { return data; }

private:
  Scoped(Memory &memory, uint8_t *data) : memory(&memory), data(data) {}
  Memory *memory;
  uint8_t *data;
};

void put(uint8_t *bytes, const KernelArgument &argument, uint64_t value) {
  std::memcpy(bytes + argument.offset, &value, std::min<uint32_t>(argument.size, 8));
}

/// Of the grid; checkLaunch() has seen that no product wraps.
unsigned dimensionsOf(const Launch &launch) {
  return launch.grid.z * launch.block.z > 1 ? 3 : launch.grid.y * launch.block.y > 1 ? 2 : 1;
}

/// The value of a hidden argument (AMDGPUUsage "Code Object V5 Kernel Argument Metadata").
uint64_t hiddenValue(StringRef kind, const Launch &launch) {
  return StringSwitch<uint64_t>(kind)
      .Case("hidden_block_count_x", launch.grid.x)
      .Case("hidden_block_count_y", launch.grid.y)
      .Case("hidden_block_count_z", launch.grid.z)
      .Case("hidden_group_size_x", launch.block.x)
      .Case("hidden_group_size_y", launch.block.y)
      .Case("hidden_group_size_z", launch.block.z)
      .Case("hidden_grid_dims", dimensionsOf(launch))
      .Case("hidden_printf_buffer", launch.hidden.printfBuffer)
      .Case("hidden_hostcall_buffer", launch.hidden.hostcallBuffer)
      .Case("hidden_heap_v1", launch.hidden.heap)
      .Case("hidden_multigrid_sync_arg", launch.hidden.multigridSync)
      .Case("hidden_dynamic_lds_size", launch.dynamicLdsBytes)
      .Case("hidden_private_base", kPrivateAperture)
      .Case("hidden_shared_base", kSharedAperture)
      .Default(0); // remainders, global offsets, queues: a whole grid at the origin, and no queue
}

/// A dispatch packet has 32 bits for the threads of each dimension, and TTMP7 16 for the
/// workgroup's number in y and in z (AMDGPUUsage "Initial Kernel Execution State").
Error checkGrid(const Launch &launch) {
  const Dim3 &grid = launch.grid, &block = launch.block;
  auto tooLong = [](uint64_t groups, uint64_t threads) { return groups * threads > UINT32_MAX; };
  if (tooLong(grid.x, block.x) || tooLong(grid.y, block.y) || tooLong(grid.z, block.z))
    return createStringError("kernel " + launch.kernel->name +
                             ": more than 4294967295 threads in a dimension of the grid");
  const bool packed = targets::Fact::workgroupIdsInTtmp(launch.kernel->program->target->row());
  if (packed && (grid.y > UINT16_MAX || grid.z > UINT16_MAX))
    return createStringError("kernel " + launch.kernel->name + ": " +
                             Twine(std::max(grid.y, grid.z)) +
                             " workgroups in y or z, this processor takes 65535");
  return Error::success();
}

Error checkLaunch(const Launch &launch) {
  if (!launch.kernel || !launch.kernel->program)
    return createStringError("no kernel to launch");
  const Kernel &kernel = *launch.kernel;
  if (launch.block.count() == 0 || launch.grid.count() == 0)
    return createStringError("kernel " + kernel.name + ": empty grid or workgroup");
  if (std::max({launch.block.x, launch.block.y, launch.block.z}) > kMaxWorkgroupSize ||
      launch.block.count() > kernel.maxWorkgroupSize)
    return createStringError("kernel " + kernel.name + ": " + Twine(launch.block.count()) +
                             " threads in a workgroup, at most " + Twine(kernel.maxWorkgroupSize) +
                             " are possible");
  if (Error error = checkGrid(launch))
    return error;
  const uint64_t lds = uint64_t(kernel.ldsBytes) + launch.dynamicLdsBytes;
  if (lds > targets::Fact::maxLdsBytes(kernel.program->target->row()))
    return createStringError(
        "kernel " + kernel.name + ": " + Twine(lds) + " bytes of LDS, at most " +
        Twine(targets::Fact::maxLdsBytes(kernel.program->target->row())) + " are available");
  if (launch.kernarg.size() < kernel.explicitKernargSize)
    return createStringError("kernel " + kernel.name + ": " + Twine(launch.kernarg.size()) +
                             " bytes of arguments, the kernel takes " +
                             Twine(kernel.explicitKernargSize));
  return Error::success();
}

void fillArguments(const Launch &launch, uint8_t *kernarg) {
  const Kernel &kernel = *launch.kernel;
  llvm::copy(launch.kernarg.take_front(kernel.kernargSize), kernarg);
  for (const KernelArgument &argument : kernel.arguments)
    if (argument.isHidden()) // all lie within the kernarg segment (KernelMetadata.cpp)
      put(kernarg, argument, hiddenValue(argument.valueKind, launch));
}

/// hsa_kernel_dispatch_packet_t.
void fillPacket(const Launch &launch, const uint8_t *kernarg, uint8_t *packet) {
  auto at = [&](unsigned offset, auto value) {
    std::memcpy(packet + offset, &value, sizeof(value));
  };
  at(0, uint16_t(2)); // HSA_PACKET_TYPE_KERNEL_DISPATCH
  at(2, uint16_t(dimensionsOf(launch)));
  at(4, uint16_t(launch.block.x));
  at(6, uint16_t(launch.block.y));
  at(8, uint16_t(launch.block.z));
  at(12, launch.grid.x * launch.block.x);
  at(16, launch.grid.y * launch.block.y);
  at(20, launch.grid.z * launch.block.z);
  at(24, launch.kernel->scratchBytes);
  at(28, uint32_t(launch.kernel->ldsBytes + launch.dynamicLdsBytes));
  at(32, launch.kernel->descriptorAddress);
  at(40, uint64_t(kernarg));
}

/// Who is to check a launch.
std::vector<std::unique_ptr<Observer>> observersOf(const Launch &launch, const Checks &checks,
                                                   const Memory &memory) {
  std::vector<std::unique_ptr<Observer>> observers;
  const Program &program = *launch.kernel->program;
  const std::vector<SharedSlots> slots = sharedSlotsIn(memory);
  if (checks.memory)
    observers.push_back(makeMemoryCheck(program));
  if (checks.memory && !slots.empty())
    observers.push_back(makeSlotCheck(slots));
  if (checks.barriers)
    observers.push_back(makeBarrierCheck(launch));
  if (checks.uninitialised)
    observers.push_back(makeUninitialisedCheck(launch, slots));
  if (checks.races)
    observers.push_back(makeRaceCheck(program.stepped(), launch, program.warpLanes));
  if (checks.warps)
    observers.push_back(makeWarpCheck(launch, program.warpLanes));
  return observers;
}

/// With the observers that check, and that tell what is executed.
Expected<Statistics> runWatched(Dispatch &dispatch, const Launch &launch, const Checks &checks,
                                const Memory &memory, DebugSession *debugger) {
  std::vector<std::unique_ptr<Observer>> checkers = observersOf(launch, checks, memory);
  std::optional<TraceObserver> trace;
  std::optional<CostObserver> costs;
  std::optional<DebugObserver> debug;
  SmallVector<Observer *, 6> observers;
  if (debugger)
    observers.push_back(&debug.emplace(*debugger, launch, memory));
  if (launch.trace) {
    if (const std::string why = whyNothingIsTraced(*launch.trace, launch);
        !why.empty() && launch.warn)
      launch.warn("kernel " + launch.kernel->name + ": nothing is traced: " + why);
    observers.push_back(&trace.emplace(*launch.trace, launch));
  }
  for (const std::unique_ptr<Observer> &checker : checkers)
    observers.push_back(checker.get());
  if (launch.profile)
    observers.push_back(&costs.emplace(*launch.kernel->program));
  Expected<Statistics> statistics = runObserved(dispatch, observers, checks.seed);
  if (!statistics || !costs)
    return statistics;
  const std::vector<uint64_t> counts = costs->waves();
  statistics->operations = nameOperations(*launch.kernel->program->stepped().program, counts);
  statistics->instructions = std::accumulate(counts.begin(), counts.end(), uint64_t(0));
  statistics->profile = std::make_shared<Profile>(costs->profile());
  return statistics;
}

/// RUBIA_EMULATOR_LAUNCHES=FILE, for benchmarks: each launch is done once to count its lane
/// operations and then, on the memory as it was, again and again for the time; FILE gets a line
/// with the kernel's name, the workgroups, the lane operations and the seconds of the fastest run.
class LaunchLog {
public:
  static LaunchLog &instance() {
    static LaunchLog log;
    return log;
  }
  bool isOn() const { return file; }
  std::string problem; // why the file cannot be written, or empty
  void add(const Launch &launch, const Statistics &statistics, double seconds) {
    std::lock_guard lock(mutex);
    std::fprintf(file, "%s\t%llu\t%llu\t%.9f\n", launch.kernel->name.c_str(),
                 static_cast<unsigned long long>(statistics.workgroups),
                 static_cast<unsigned long long>(statistics.laneOperations), seconds);
    std::fflush(file);
  }

private:
  LaunchLog() {
    const std::string path = hostSettings().text(settings::Id::emulatorLaunches);
    if (path.empty())
      return;
    file = std::fopen(path.c_str(), "ae");
    if (!file)
      problem = "RUBIA_EMULATOR_LAUNCHES: " + path + ": " + std::strerror(errno);
  }
  FILE *file = nullptr;
  std::mutex mutex;
};

Expected<Statistics> runLaunch(const Launch &launch, Memory &memory,
                               DebugSession *debugger = nullptr) {
  const InitialFloatEnvironment environment; // not that of the program, which may flush denormals
  if (Error error = checkLaunch(launch))
    return std::move(error);
  Expected<Checks> checks = launch.checks ? *launch.checks : checksOf(hostSettings());
  if (!checks)
    return checks.takeError();
  Expected<Bounds> bounds = launch.bounds ? *launch.bounds : boundsOf(hostSettings());
  if (!bounds)
    return bounds.takeError();
  const Kernel &kernel = *launch.kernel;
  Expected<Scoped> kernarg = Scoped::make(memory, kernel.kernargSize + kPadding);
  if (!kernarg)
    return kernarg.takeError();
  Expected<Scoped> packet = Scoped::make(memory, kPadding);
  if (!packet)
    return packet.takeError();
  fillArguments(launch, kernarg->get());
  fillPacket(launch, kernarg->get(), packet->get());

  const unsigned threads = unsigned(std::min<uint64_t>(
      launch.hostThreads ? launch.hostThreads : hostProcessors(), launch.grid.count()));
  Dispatch dispatch(launch, memory, *bounds, uint64_t(kernarg->get()), uint64_t(packet->get()),
                    threads);
  if (checks->order) {
    if (launch.profile || launch.trace || debugger)
      return createStringError(
          "a launch under the check order cannot be traced, profiled or debugged");
    return runInOrder(dispatch, *checks->order);
  }
  if (launch.profile || launch.trace || debugger || checks->any())
    return runWatched(dispatch, launch, *checks, memory, debugger);
  HostThreads::instance().run(threads, [&](unsigned i) { dispatch.work(i); });
  if (std::unique_ptr<Fault> fault = dispatch.takeFault())
    return Error(std::move(fault));
  return dispatch.statistics();
}

} // namespace

static Expected<Statistics> runMeasured(const Launch &launch, Memory &memory, LaunchLog &log) {
  constexpr double kSeconds = 0.05;
  constexpr unsigned kMax = 200;
  const std::vector<MemoryContents> before = contentsOf(memory);
  Launch counting = launch;
  counting.countOperations = true;
  Expected<Statistics> statistics = runLaunch(counting, memory);
  if (!statistics)
    return statistics;
  double total = 0, best = 0;
  for (unsigned i = 0; i < kMax && total < kSeconds; ++i) {
    restoreContents(before);
    const auto start = std::chrono::steady_clock::now();
    if (Expected<Statistics> again = runLaunch(launch, memory); !again)
      return again;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = i == 0 ? seconds : std::min(best, seconds);
    total += seconds;
  }
  log.add(launch, *statistics, best);
  return statistics;
}

Expected<Statistics> run(const Launch &launch, Memory &memory) {
  LaunchLog &log = LaunchLog::instance();
  if (!log.problem.empty())
    return createStringError(log.problem);
  if (log.isOn())
    return runMeasured(launch, memory, log);
  Expected<DebugSession *> debugger = DebugSession::ofProcess();
  if (!debugger)
    return debugger.takeError();
  if (!*debugger)
    return runLaunch(launch, memory);
  Launch patient = launch; // a kernel that stands still for a person is not hung
  patient.stallSeconds = 0;
  patient.tellProgress = nullptr;
  patient.warnSeconds = std::numeric_limits<double>::infinity();
  return runLaunch(patient, memory, *debugger);
}

} // namespace rubia::emulator
