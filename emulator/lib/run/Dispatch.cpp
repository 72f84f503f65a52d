// SPDX-License-Identifier: Apache-2.0
// Running workgroups. Waves of a workgroup take turns at barriers; a workgroup that does not get
// anywhere within a slice (it may wait for another one) gives way to a fresh one on the same host
// thread, so that all workgroups of a grid make progress.
#include "emulator/lib/run/Dispatch.h"
#include "emulator/lib/machine/Addressing.h"
#include "emulator/lib/machine/InitialState.h"
#include "emulator/lib/memory/MemoryRegistry.h"
#include "emulator/lib/run/FaultReport.h"
#include "emulator/lib/run/OperationCounts.h"
#include "emulator/lib/run/RunningGroup.h"
#include "emulator/lib/run/Watchdog.h"
#include "emulator/lib/vector/VectorPath.h"
#include "lowering/Abi.h"
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <thread>

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact ldsGranule;
} // namespace rubia::targets::Fact

namespace rubia::emulator {

namespace {
// Instructions of a wave before its workgroup gives way. A fresh one mostly ends within its slice;
// one that did not may wait for others.
constexpr uint64_t kFreshSlice = 4'000'000, kSlice = 200'000, kCooperativeSlice = 5'000;
constexpr uint64_t kTurn = 20'000; // of a wave before the next one of its workgroup
constexpr unsigned kPatience = 64; // rounds with sleeping waves before a workgroup gives way
// As how many such rounds one counts in which no wave is ready: it waits for other workgroups, in a
// cooperative launch for sure.
constexpr unsigned kAllSleep = 8, kAllSleepOfGrid = 32;
constexpr unsigned kRounds = 16;        // of waiting workgroups before the host thread gives way
constexpr unsigned kMaxResident = 4096; // workgroups in flight on a host thread
constexpr uint64_t kSmallScratch = 256 << 10; // bytes of a workgroup: cheaper to clear than to map

/// Where the next scratch of that size should lie: of a launch that is traced the same in each run.
void *placeOfScratch(const Launch &launch, uint64_t bytes) {
  constexpr uint64_t kBase = uint64_t(0x30) << 40, kGap = uint64_t(1) << 20;
  static std::atomic<uint64_t> next{kBase};
  if (!launch.trace)
    return nullptr;
  return reinterpret_cast<void *>(next.fetch_add((bytes + 2 * kGap - 1) / kGap * kGap));
}
} // namespace

RunningGroup::RunningGroup(Dispatch &dispatch, const Program &program, unsigned worker,
                           OperationTally *counts)
    : dispatch(dispatch), program(program), counts(counts) {
  const Kernel &kernel = dispatch.kernel;
  shared.code = &program.map;
  shared.memory = &dispatch.memory;
  shared.generation = &generationOf(dispatch.memory);
  shared.device = setOf(dispatch.launch.device);
  shared.target = &program.target->row();
  shared.sync = dispatch.launch.cooperative ? &dispatch.sync : nullptr;
  shared.worker = worker;
  const unsigned waveSize = kernel.waveSize;
  const unsigned count = unsigned((dispatch.launch.block.count() + waveSize - 1) / waveSize);
  const unsigned blocks = waveSize / kBlockLanes;
  const unsigned vgprs =
      std::max(allocatedVgprs(kernel, program.target->row()), program.vgprCount) + 1;
  // Tuples may reach beyond the highest first register; nobody names more than 32 at once.
  const unsigned blockStride = (vgprs + 32) * kBlockLanes;
  registers = PooledMemory(size_t(count) * blocks * blockStride * sizeof(uint32_t));
  uint32_t ldsSize = kernel.ldsBytes + dispatch.launch.dynamicLdsBytes;
  if (dispatch.bounds.lds) {
    const uint32_t granule = targets::Fact::ldsGranule(program.target->row());
    ldsSize = (ldsSize + granule - 1) / granule * granule;
    shared.ldsHole = ldsSize + 16;
  }
  lds.resize(ldsSize + 16 + (shared.ldsHole ? kLdsHoleBytes : 0));
  const uint32_t perLane = (kernel.scratchBytes + dispatch.launch.stackBytes + 15) / 16 * 16;
  scratchSize = uint64_t(perLane) * waveSize * count;
  if (scratchSize && scratchSize <= kSmallScratch && !dispatch.launch.trace) {
    smallScratch = PooledMemory(scratchSize);
    scratch = smallScratch.get();
    std::memset(scratch, 0, scratchSize);
  } else if (scratchSize) {
    void *place = placeOfScratch(dispatch.launch, scratchSize);
    void *mapped = ::mmap(place, scratchSize, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    scratch = mapped == MAP_FAILED ? nullptr : static_cast<uint8_t *>(mapped);
  }
  waves.resize(count);
  starts.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    Wave &wave = waves[i];
    wave.vgprs = reinterpret_cast<uint32_t *>(registers.get()) + size_t(i) * blocks * blockStride;
    wave.blockStride = blockStride;
    wave.vgprCount = vgprs;
    wave.blocks = uint8_t(blocks);
    wave.ldsSize = ldsSize;
    wave.lds = lds.data();
    wave.indexInGroup = i;
    wave.group = &shared;
    wave.next = program.map.find(entryOf(kernel));
    if (scratch) { // else every access is a ScratchOverflow
      wave.scratchPerLane = perLane;
      wave.scratch = scratch + uint64_t(i) * perLane * waveSize;
    }
    const ScratchArea area = {uint64_t(scratch), scratch ? scratchSize : 0};
    starts.emplace_back(wave, dispatch.launch, WaveInputs{dispatch.kernarg, dispatch.packet, area},
                        program.vgprCount);
  }
}

RunningGroup::~RunningGroup() {
  if (scratch && !smallScratch.get())
    ::munmap(scratch, scratchSize);
}

/// CTAs of a cluster, if the launch wants workgroups to begin cluster by cluster. That stands in
/// abi::LaunchArguments, the last argument of the kernels that Rubia has made; others have
/// something else there, which does not have the grid as well.
static Dim3 clusterOf(const Launch &launch) {
  abi::LaunchArguments last;
  const size_t end = launch.kernel->explicitKernargSize;
  if (end < sizeof(last) || end > launch.kernarg.size())
    return {1, 1, 1};
  std::memcpy(&last, launch.kernarg.data() + end - sizeof(last), sizeof(last));
  const Dim3 grid = launch.grid;
  const Dim3 cluster{last.cluster & 0xff, last.cluster >> 8 & 0xff, last.cluster >> 16};
  const bool isMeant = (last.flags & abi::kWorkgroupsInOrder) && last.nctaid[0] == grid.x &&
                       last.nctaid[1] == grid.y && last.nctaid[2] == grid.z && !last.reserved1;
  return isMeant && cluster.count() > 0 && cluster.count() <= abi::kMaxClusterCtas &&
                 grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0
             ? cluster
             : Dim3{1, 1, 1};
}

static Dim3 idOf(uint64_t number, Dim3 size) {
  return {uint32_t(number % size.x), uint32_t(number / size.x % size.y),
          uint32_t(number / size.x / size.y)};
}

void RunningGroup::start(uint64_t number) {
  const Dim3 grid = dispatch.launch.grid, size = clusterOf(dispatch.launch);
  const Dim3 cluster =
      idOf(number / size.count(), {grid.x / size.x, grid.y / size.y, grid.z / size.z});
  const Dim3 inCluster = idOf(number % size.count(), size);
  id = {cluster.x * size.x + inCluster.x, cluster.y * size.y + inCluster.y,
        cluster.z * size.z + inCluster.z};
  slice = dispatch.launch.cooperative ? kCooperativeSlice : kFreshSlice;
  shared.resetBarriers(unsigned(waves.size()));
  std::fill(lds.begin(), lds.end(), uint8_t(0xa5)); // nobody may count on what it held
  for (size_t i = 0; i < waves.size(); ++i)
    starts[i].apply(waves[i], dispatch.launch, id, shared.movesRelative);
  shared.movesRelative = false;
}

/// Runs until the wave stops or the budget is used up. Returns whether the wave may go on at once.
template <bool kCount> bool RunningGroup::runWave(Wave &wave, uint64_t &budget) {
  wave.stop = false;
  wave.status = WaveStatus::Ready;
  const MicroOp *op = wave.next;
  wave.left = int64_t(budget);
  wave.from = op;
  while (wave.left > op - wave.from) {
    wave.next = op + 1;
    wave.chain = !kCount && !(wave.special & kSkipVector);
    if (!(wave.special & op->special & kSkipVector)) [[likely]] {
      if constexpr (kCount) {
        OperationTally &tally = counts[op - program.operations.data()];
        ++tally.waves;
        tally.lanes += uint64_t(std::popcount(wave.exec()));
      }
      op->handler(wave, *op);
    }
    op = wave.next;
    if (wave.stop)
      break;
  }
  vectorPath().leave();
  wave.left -= op - wave.from;
  wave.instructions += uint64_t(int64_t(budget) - wave.left);
  budget = uint64_t(std::max<int64_t>(wave.left, 0));
  return wave.status == WaveStatus::Ready;
}

RunningGroup::Outcome RunningGroup::run() {
  const uint64_t full = slice * waves.size();
  uint64_t budget = full; // without coming to a barrier
  uint64_t most =
      4 * full; // in any case: who polls for another workgroup may do it between barriers
  unsigned patience = kPatience;
  const unsigned asleep = dispatch.launch.cooperative ? kAllSleepOfGrid : kAllSleep;
  slice = std::min(slice, kSlice);
  const uint64_t limit = dispatch.launch.instructionLimit;
  for (;;) {
    unsigned ran = 0, ended = 0;
    bool yielded = false, ready = false, passed = false;
    for (Wave &wave : waves) {
      if (wave.status == WaveStatus::Ended) {
        ++ended;
        continue;
      }
      if (wave.status == WaveStatus::AtBarrier) {
        if (!shared.mayPass(wave))
          continue;
        wave.barrierPhase[wave.waitsFor != 0] = shared.barriers[wave.waitsFor].phase;
        passed = true;
      }
      ++ran;
      uint64_t share = kTurn;
      if (limit)
        share = std::min(share, limit > wave.instructions ? limit - wave.instructions : 1);
      uint64_t left = share;
      counts ? runWave<true>(wave, left) : runWave<false>(wave, left);
      budget -= std::min(budget, share - left);
      most -= std::min(most, share - left);
      if (limit && wave.instructions >= limit && wave.status != WaveStatus::Ended)
        raise(wave, *wave.next, FaultKind::Deadlock);
      if (wave.status == WaveStatus::Faulted)
        return Outcome::Faulted;
      if (wave.status == WaveStatus::Ended) {
        ++ended;
        shared.waveEnded();
      }
      yielded |= wave.status == WaveStatus::Yielded;
      ready |= wave.status == WaveStatus::Ready;
    }
    if (passed)
      dispatch.madeProgress();
    if (ended == waves.size())
      return Outcome::Finished;
    if (ran == 0) { // all wait for signals that nobody is left to give
      for (Wave &wave : waves)
        if (wave.status == WaveStatus::AtBarrier)
          raise(wave, wave.next[-1], FaultKind::Deadlock);
      return Outcome::Faulted;
    }
    if (yielded)
      patience -= std::min(patience, ready || passed ? 1 : asleep);
    else if (!ready)
      budget = full;
    if (patience == 0 || budget == 0 || most == 0 ||
        dispatch.failed.load(std::memory_order_relaxed))
      return Outcome::Paused;
  }
}

void RunningGroup::fail(FaultKind kind) {
  for (Wave &wave : waves)
    if (wave.status != WaveStatus::Ended)
      return raise(wave, *wave.next, kind);
}

std::string RunningGroup::describe() const {
  std::string text = "workgroup " + triple(id);
  // Waves that wait at one barrier are told together.
  std::map<std::pair<bool, uint32_t>, std::vector<unsigned>> places;
  for (const Wave &wave : waves) {
    const bool atBarrier = wave.status == WaveStatus::AtBarrier;
    if (wave.status != WaveStatus::Ended)
      places[{atBarrier, atBarrier ? wave.next[-1].pc : wave.next->pc}].push_back(
          wave.indexInGroup);
  }
  const char *separator = ": ";
  for (const auto &[place, which] : places) {
    text += separator;
    separator = ", ";
    text += which.size() == 1
                ? "wave " + std::to_string(which[0])
                : std::to_string(which.size()) + " waves from " + std::to_string(which[0]);
    text += place.first ? " waiting at a barrier at " : " at ";
    text += describePlace(dispatch.program, place.second);
  }
  return text;
}

uint64_t RunningGroup::executed() const {
  uint64_t sum = 0;
  for (const Wave &wave : waves)
    sum += wave.instructions;
  return sum;
}

Dispatch::Dispatch(const Launch &launch, Memory &memory, Bounds bounds, uint64_t kernarg,
                   uint64_t packet, unsigned hostThreads)
    : launch(launch), kernel(*launch.kernel), program(*launch.kernel->program), memory(memory),
      bounds(bounds), kernarg(kernarg), packet(packet), groupCount(launch.grid.count()),
      residentLimit(launch.residentLimit ? std::max<uint64_t>(launch.residentLimit, hostThreads)
                                         : UINT64_MAX),
      isWatched(launch.stallSeconds > 0 || launch.warn) {
  // HIP's run-time library sets the first counter for grid.sync().
  sync.counters[0].left = uint32_t(groupCount - 1);
}
Dispatch::~Dispatch() = default;

std::vector<RunningGroup *> pointersTo(ArrayRef<std::unique_ptr<RunningGroup>> groups) {
  std::vector<RunningGroup *> pointers;
  for (const std::unique_ptr<RunningGroup> &group : groups)
    pointers.push_back(group.get());
  return pointers;
}

void Dispatch::work(unsigned worker) {
  Groups mine, idle;
  Watchdog watch(*this);
  uint64_t executed = 0;
  std::vector<OperationTally> myCounts(launch.countOperations ? program.operations.size() : 0);
  auto takeNext = [&]() -> std::unique_ptr<RunningGroup> {
    if (mine.size() >= kMaxResident || next.load(std::memory_order_relaxed) >= groupCount)
      return nullptr;
    if (isLimited() && resident.fetch_add(1, std::memory_order_relaxed) >= residentLimit) {
      resident.fetch_sub(1, std::memory_order_relaxed);
      return nullptr;
    }
    uint64_t linear = next.fetch_add(1, std::memory_order_relaxed);
    if (linear >= groupCount) {
      if (isLimited())
        resident.fetch_sub(1, std::memory_order_relaxed);
      return nullptr;
    }
    std::unique_ptr<RunningGroup> group;
    if (idle.empty()) {
      group = std::make_unique<RunningGroup>(*this, program, worker,
                                             myCounts.empty() ? nullptr : myCounts.data());
    } else {
      group = std::move(idle.back());
      idle.pop_back();
    }
    group->start(linear);
    madeProgress();
    return group;
  };
  size_t turn = 0;
  unsigned rounds = 0; // in which all that are here waited
  while (!failed.load(std::memory_order_relaxed)) {
    // A fresh group when all that are here wait; else the next of those.
    if (turn >= mine.size()) {
      turn = 0;
      if (auto group = takeNext()) {
        turn = mine.size();
        mine.push_back(std::move(group));
      }
      if (mine.empty()) {
        if (next.load(std::memory_order_relaxed) >= groupCount)
          break;
        std::this_thread::yield(); // as many as there is room for wait on other threads
        continue;
      }
    }
    RunningGroup &group = *mine[turn];
    RunningGroup::Outcome outcome = group.run();
    if (outcome == RunningGroup::Outcome::Faulted) {
      report(group);
      break;
    }
    if (outcome == RunningGroup::Outcome::Paused) {
      if (++turn < mine.size())
        continue;
      if (watch.failed([&] { return pointersTo(mine); })) {
        report(*mine.front());
        break;
      }
      if (++rounds % kRounds == 0)
        std::this_thread::yield();
      continue;
    }
    rounds = 0;
    executed += group.executed();
    if (isLimited())
      resident.fetch_sub(1, std::memory_order_relaxed);
    watch.groupEnded();
    idle.push_back(std::move(mine[turn]));
    mine.erase(mine.begin() + ptrdiff_t(turn));
  }
  instructions.fetch_add(executed, std::memory_order_relaxed);
  std::lock_guard lock(mutex);
  counts.resize(myCounts.size());
  lanes.resize(myCounts.size());
  for (size_t i = 0; i < myCounts.size(); ++i)
    counts[i] += myCounts[i].waves, lanes[i] += myCounts[i].lanes;
}

Statistics Dispatch::statistics() const {
  const uint64_t waves = (launch.block.count() + kernel.waveSize - 1) / kernel.waveSize;
  Statistics all;
  all.workgroups = groupCount;
  all.waves = groupCount * waves;
  all.instructions = instructions.load();
  all.operations = nameOperations(program, counts);
  all.laneOperations = laneOperations(program, lanes);
  if (launch.countOperations) {
    all.instructions = 0;
    for (const OperationCount &operation : all.operations)
      all.instructions += operation.waves;
  }
  return all;
}

std::unique_ptr<Fault> Dispatch::takeFault() { return std::move(fault); }

std::unique_ptr<Fault> Dispatch::describe(RunningGroup &group) const {
  auto found = describeFault(group.shared.fault, launch, program, memory, group.id);
  if (found->kind == Fault::Deadlock)
    found->detail = group.describe();
  if (!group.faultDetail.empty())
    found->detail = group.faultDetail;
  return found;
}

void Dispatch::report(RunningGroup &group) {
  failed.store(true, std::memory_order_relaxed);
  std::lock_guard lock(mutex);
  if (fault)
    return;
  fault = describe(group);
  if (launch.report)
    launch.report(*fault, false);
}

} // namespace rubia::emulator
