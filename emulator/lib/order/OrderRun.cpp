// SPDX-License-Identifier: Apache-2.0
// Running workgroups with memory operations that take their time.
//
// A memory instruction is issued: its operands are kept aside. Its lanes are split by the lines of
// memory that they touch; each of these parts is performed by the instruction's own handler, on a
// shadow of the wave, when its time has come, and what it loads goes to the registers when the
// instruction returns. The rules, from AMDGPUUsage "Memory Model" (docs/emulator-order.md):
//
// - parts that touch the same line from the same compute unit are performed in the order of issue;
//   else in any order
// - LDS operations of a wave are performed in the order of issue, as are its private ones
// - instructions of a kind return in the order of issue, except scalar loads, and flat ones that
//   touch LDS
// - a wait holds the wave until so many have returned.
//
// Time is the number of instructions executed; if all waves wait, it jumps to the next event.
#include "emulator/lib/order/OrderRun.h"
#include "emulator/lib/order/OrderCaches.h"
#include "emulator/lib/order/PendingOperation.h"
#include "emulator/lib/run/FaultReport.h"
#include "emulator/lib/run/OperationCounts.h"
#include "emulator/lib/run/RunningGroup.h"
#include "emulator/lib/run/Watchdog.h"
#include <mutex>
#include <queue>

using namespace llvm;

namespace rubia::emulator {

namespace {

constexpr unsigned kMaxResident = 4096;
constexpr unsigned kMaxOutstanding = 60;  // of a counter; hardware's hold 63
constexpr uint64_t kPatience = 3000;      // turns without progress before another workgroup starts
constexpr uint64_t kStallInterval = 4096; // turns
constexpr uint64_t kDisturbances = 6;     // at most, while all wait

struct Event {
  uint64_t due, number;
  PendingOperation *pending;
  unsigned part;
  bool operator>(const Event &other) const {
    return std::tie(due, number) > std::tie(other.due, other.number);
  }
};

struct Resident {
  std::unique_ptr<RunningGroup> group;
  std::vector<WaveOrder> waves;
  bool isDone() const {
    for (size_t i = 0; i < waves.size(); ++i)
      if (group->waves[i].status != WaveStatus::Ended || !waves[i].pending.empty())
        return false;
    return true;
  }
};

} // namespace

class OrderRun {
public:
  OrderRun(Dispatch &dispatch, const OrderCheck &check)
      : dispatch(dispatch), code(dispatch.program.stepped()), random(check.seed),
        caches(*dispatch.program.target, dispatch.memory, std::max(1u, check.agents), random),
        wanted(1 + random.below(12)), slowness(random.oneIn(2) ? random.next() | 1 : 0),
        counts(dispatch.launch.countOperations ? code.steps.size() : 0), watch(dispatch) {}

  Error refusal() const;
  void run();
  Statistics statistics() const;

private:
  bool start();
  bool turn();
  bool isStalled();
  bool mayRun(Resident &resident, unsigned index);
  void runWave(Resident &resident, unsigned index);
  bool step(Wave &wave, WaveOrder &order);
  void issue(Wave &wave, WaveOrder &order, const MicroOp &op, const InstructionStep &step);
  void schedule(PendingOperation &pending);
  void performDue();
  void perform(PendingOperation &pending, const PendingPart &part);
  void disturb();
  void reportDeadlock();
  void expectArguments();
  uint64_t delay(const MicroOp &op);
  uint64_t &lastOf(unsigned unit, uint64_t line) { return lastOfLine[{unit, line}]; }

  Dispatch &dispatch;
  const SteppedProgram &code;
  OrderRandom random;
  OrderCaches caches;
  unsigned wanted;              // workgroups in flight
  uint64_t slowness;            // chooses instructions that take long; 0: any may
  std::vector<uint64_t> counts; // per operation; empty unless they are asked for
  Watchdog watch;
  std::vector<Resident> residents;
  uint64_t nextGroup = 0;
  uint64_t now = 1, number = 0, idleTurns = 0;
  size_t lastResident = 0;
  unsigned lastWave = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  DenseMap<std::pair<unsigned, uint64_t>, uint64_t> lastOfLine;
  Wave shadow;
  std::vector<uint32_t> shadowRegisters;
  bool faulted = false;
};

/// Starts the next workgroup somewhere.
bool OrderRun::start() {
  if (nextGroup >= dispatch.groupCount || residents.size() >= kMaxResident)
    return false;
  Resident resident;
  resident.group = std::make_unique<RunningGroup>(dispatch, *code.program, 0, nullptr);
  resident.group->start(nextGroup++);
  dispatch.progress.fetch_add(1, std::memory_order_relaxed);
  resident.waves = std::vector<WaveOrder>(resident.group->waves.size());
  const unsigned unit = random.below(caches.computeUnits());
  // COMPUTE_PGM_RSRC1.WGP_MODE: the waves run on both compute units of a work-group processor.
  const bool spread = dispatch.kernel.resource1 >> 29 & 1;
  if (now == 1) { // nothing has run yet
    caches.prefill(unit);
    if (spread)
      caches.prefill(caches.neighbour(unit));
  }
  for (WaveOrder &wave : resident.waves) {
    wave.unit = spread && random.oneIn(2) ? caches.neighbour(unit) : unit;
    static constexpr uint32_t kPaces[] = {2, 7, 24};
    if (slowness)
      wave.longestTurn = kPaces[random.below(3)];
  }
  const Wave &first = resident.group->waves.front();
  shadowRegisters.resize(size_t(first.blocks) * first.blockStride + kBlockLanes);
  residents.push_back(std::move(resident));
  return true;
}

/// Mostly short, sometimes long. In every other launch a few of the kernel's instructions always
/// take very long and the others do not, and waves differ in pace: what one operation alone
/// overtakes shows then, also where others have to wait for all lanes of theirs meanwhile.
uint64_t OrderRun::delay(const MicroOp &op) {
  const uint32_t kind = random.below(8);
  const uint32_t scale = uint32_t(std::min<size_t>(residents.size(), 16));
  if (slowness) {
    const bool isSlow = OrderRandom(slowness + op.pc).oneIn(6);
    return isSlow ? random.below(1500 * scale) : random.below(4);
  }
  return kind < 4   ? random.below(4)
         : kind < 7 ? random.below(30 * scale)
                    : random.below(300 * scale);
}

// Issue.

/// When each part is performed.
void OrderRun::schedule(PendingOperation &pending) {
  WaveOrder &order = *pending.order;
  pending.left = unsigned(pending.parts.size());
  for (unsigned i = 0; i < pending.parts.size(); ++i) {
    const PendingPart &part = pending.parts[i];
    uint64_t due = now + delay(*pending.op);
    for (const LinePart &line : part.lines)
      if (pending.step->kind == StepKind::Vector)
        due = std::max(due, lastOf(order.unit, line.line));
    const bool isLds = pending.step->kind == StepKind::Lds || !pending.returnsInOrder;
    const bool isPrivate = pending.step->kind == StepKind::Vector && part.lines.empty();
    if (isLds && pending.step->kind != StepKind::Scalar)
      order.lastLds = due = std::max(due, order.lastLds);
    if (isPrivate)
      order.lastPrivate = due = std::max(due, order.lastPrivate);
    if (pending.step->kind == StepKind::Cache) // behind what the wave itself has stored
      due = std::max(due, order.lastStore);
    if (pending.step->kind == StepKind::Vector)
      for (const LinePart &line : part.lines)
        lastOf(order.unit, line.line) = due;
    if (pending.step->kind == StepKind::Vector && pending.step->writes)
      order.lastStore = std::max(order.lastStore, due);
    events.push({due, number++, &pending, i});
  }
}

void OrderRun::issue(Wave &wave, WaveOrder &order, const MicroOp &op, const InstructionStep &step) {
  if (step.kind == StepKind::Cache)
    caches.invalidate(order.unit, step);
  if (step.counters == 0)
    return; // an invalidation that nobody can wait for
  auto pending = std::make_unique<PendingOperation>();
  pending->wave = &wave;
  pending->order = &order;
  pending->op = &op;
  pending->step = &step;
  if (!prepare(*pending))
    return;
  for (unsigned i = 0; i < kCounters; ++i)
    order.outstanding[i] += step.counters >> i & 1;
  for (const RegisterRange &range : step.registers)
    if (range.written) {
      order.count(range, 1);
      for (unsigned i = 0; range.vector && i < range.count; ++i)
        order.writers[range.first + i] = step.counters;
    }
  schedule(*pending);
  order.pending.push_back(std::move(pending));
}

// Performing and returning.

void OrderRun::perform(PendingOperation &pending, const PendingPart &part) {
  Wave &wave = *pending.wave;
  const InstructionStep &step = *pending.step;
  if (step.kind == StepKind::Cache)
    return caches.writeBack(pending.order->unit, step);
  // The whole of the wave but for its registers, as it was at issue.
  shadow.vgprs = shadowRegisters.data();
  shadow.blockStride = wave.blockStride;
  shadow.vgprCount = wave.vgprCount;
  shadow.blocks = wave.blocks;
  shadow.status = WaveStatus::Ready;
  shadow.lane = pending.lane;
  shadow.modeRegister = wave.modeRegister;
  shadow.lds = wave.lds;
  shadow.ldsSize = wave.ldsSize;
  shadow.scratch = wave.scratch;
  shadow.scratchPerLane = wave.scratchPerLane;
  shadow.indexInGroup = wave.indexInGroup;
  shadow.group = wave.group;
  std::copy(std::begin(pending.scalars), std::end(pending.scalars), shadow.scalars);
  if (step.kind != StepKind::Scalar) {
    shadow.scalars[kExec] = part.lanes[0];
    if (wave.blocks == 2)
      shadow.scalars[kExec + 1] = part.lanes[1];
  }
  // Results may lie in registers of operands: those of earlier parts are brought in last.
  auto copyRegisters = [&](bool written, bool back) {
    uint32_t *saved = pending.registers.data();
    for (const RegisterRange &range : step.registers)
      for (unsigned block = 0; range.vector && block < wave.blocks; ++block) {
        uint32_t *at = shadow.block(block) + vectorOffset(range.first);
        const unsigned dwords = range.count * kBlockLanes;
        if (range.written == written)
          std::copy_n(back ? at : saved, dwords, back ? saved : at);
        saved += dwords;
      }
  };
  copyRegisters(false, false);
  copyRegisters(true, false);
  auto execute = [&] { pending.op->handler(shadow, *pending.op); };
  if (part.lines.empty())
    execute();
  else if (step.kind == StepKind::Scalar)
    caches.scalarLoad(pending.order->unit, part.lines, execute);
  else
    caches.access(pending.order->unit, step, part.lines, execute);
  copyRegisters(true, true);
  if (step.kind == StepKind::Scalar)
    for (const RegisterRange &range : step.registers)
      if (range.written && !range.vector)
        std::copy_n(shadow.scalars + range.first, range.count, pending.scalars + range.first);
  if (shadow.status == WaveStatus::Faulted) {
    wave.halt(WaveStatus::Faulted);
    faulted = true;
  }
}

void OrderRun::performDue() {
  while (!events.empty() && events.top().due <= now && !faulted) {
    const Event event = events.top();
    events.pop();
    PendingOperation &pending = *event.pending;
    perform(pending, pending.parts[event.part]);
    if (--pending.left == 0)
      returnDone(*pending.order);
  }
  if (lastOfLine.size() > 4096)
    for (auto at = lastOfLine.begin(); at != lastOfLine.end(); ++at)
      if (at->second < now)
        lastOfLine.erase(at);
}

void OrderRun::disturb() {
  caches.disturb([&](unsigned unit, uint64_t line) {
    auto last = lastOfLine.find({unit, line});
    return last == lastOfLine.end() || last->second < now;
  });
}

// Waves.

/// One instruction. Returns whether the wave may go on.
bool OrderRun::step(Wave &wave, WaveOrder &order) {
  const MicroOp *op = wave.next;
  if (wave.special & op->special & kSkipVector) {
    wave.next = op + 1;
    ++wave.instructions;
    return true;
  }
  const InstructionStep &step = code.steps[size_t(op - code.program->operations.data())];
  auto block = [&](const std::array<uint8_t, kCounters> &limit) {
    order.limit = limit;
    order.blocked = true;
    return false;
  };
  if (step.kind == StepKind::Wait) {
    if (!order.within(step.limit))
      return block(step.limit);
    wave.next = op + 1;
    return true;
  }
  if (!registersAreThere(wave, order, *op, step))
    return false;
  if (step.kind != StepKind::Other) {
    std::array<uint8_t, kCounters> room;
    for (unsigned i = 0; i < kCounters; ++i)
      room[i] = step.counters >> i & 1 ? kMaxOutstanding : InstructionStep::kNoLimit;
    if (!order.within(room))
      return block(room);
    wave.next = op + 1;
    issue(wave, order, *op, step);
  } else {
    wave.next = op + 1;
    op->handler(wave, *op);
  }
  if (!counts.empty())
    ++counts[size_t(op - code.program->operations.data())];
  ++wave.instructions;
  return !wave.stop;
}

bool OrderRun::mayRun(Resident &resident, unsigned index) {
  const Wave &wave = resident.group->waves[index];
  WaveOrder &order = resident.waves[index];
  if (wave.status == WaveStatus::Ended || wave.status == WaveStatus::Faulted)
    return false;
  if (wave.status == WaveStatus::AtBarrier && !resident.group->shared.mayPass(wave))
    return false;
  return !order.blocked || order.within(order.limit);
}

void OrderRun::runWave(Resident &resident, unsigned index) {
  Wave &wave = resident.group->waves[index];
  WaveOrder &order = resident.waves[index];
  Workgroup &shared = resident.group->shared;
  if (wave.status == WaveStatus::AtBarrier) {
    wave.barrierPhase[wave.waitsFor != 0] = shared.barriers[wave.waitsFor].phase;
    dispatch.progress.fetch_add(1, std::memory_order_relaxed);
  }
  wave.status = WaveStatus::Ready;
  wave.stop = false;
  order.blocked = false;
  const uint64_t limit = dispatch.launch.instructionLimit;
  uint32_t length = 1 + random.below(random.oneIn(3) ? 3 : order.longestTurn);
  for (; length != 0; --length) {
    ++now;
    if (!step(wave, order))
      break;
    if (limit && wave.instructions >= limit && !wave.stop)
      raise(wave, *wave.next, FaultKind::Deadlock);
  }
  if (wave.status == WaveStatus::Faulted)
    faulted = true;
  if (wave.status == WaveStatus::Ended)
    shared.waveEnded();
}

/// Lets some wave run. Returns false if none can.
bool OrderRun::turn() {
  if (lastResident < residents.size() && lastWave < residents[lastResident].waves.size() &&
      !random.oneIn(3) && mayRun(residents[lastResident], lastWave)) {
    runWave(residents[lastResident], lastWave);
    return true;
  }
  const size_t first = random.below(uint32_t(residents.size()));
  for (size_t i = 0; i < residents.size(); ++i) {
    const size_t at = (first + i) % residents.size();
    const unsigned count = unsigned(residents[at].waves.size()), begin = random.below(count);
    for (unsigned j = 0; j < count; ++j)
      if (const unsigned wave = (begin + j) % count; mayRun(residents[at], wave)) {
        lastResident = at;
        lastWave = wave;
        runWave(residents[at], wave);
        return true;
      }
  }
  return false;
}

void OrderRun::reportDeadlock() {
  for (Resident &resident : residents)
    for (Wave &wave : resident.group->waves)
      if (wave.status == WaveStatus::AtBarrier) {
        raise(wave, wave.next[-1], FaultKind::Deadlock);
        faulted = true;
        return;
      }
  llvm_unreachable("a wave that waits for memory has an event to come");
}

/// The kernel's arguments may be pointers, and then to what others read too.
void OrderRun::expectArguments() {
  const ArrayRef<uint8_t> arguments = dispatch.launch.kernarg;
  for (size_t i = 0; i + 8 <= arguments.size(); i += 8) {
    uint64_t value;
    std::memcpy(&value, arguments.data() + i, sizeof(value));
    if (std::optional<Allocation> found = dispatch.memory.lookup(value))
      caches.expect(value, found->end() - value);
  }
}

/// Whether nothing has gone on for so long that a workgroup has been made to fail.
bool OrderRun::isStalled() {
  return watch.failed([&] {
    std::vector<RunningGroup *> groups;
    groups.reserve(residents.size());
    for (const Resident &resident : residents)
      groups.push_back(resident.group.get());
    return groups;
  });
}

void OrderRun::run() {
  static std::mutex mutex; // bytes of host memory are exchanged for moments
  std::lock_guard lock(mutex);
  uint64_t executed = 0, turns = 0;
  expectArguments();
  for (;;) {
    // Of a cooperative grid all are there.
    while ((residents.size() < wanted || dispatch.launch.cooperative) && start())
      ;
    if (residents.empty())
      break;
    if (++idleTurns % (kPatience * residents.size()) == 0)
      start(); // those that are here may wait for it
    const bool ran = turn();
    if (!ran && events.empty() && !start())
      reportDeadlock();
    if (!ran && !events.empty()) {
      for (uint64_t i = now; i < events.top().due && i < now + kDisturbances; ++i)
        disturb();
      now = std::max(now, events.top().due);
    }
    performDue();
    if (random.oneIn(4))
      disturb();
    if (++turns % kStallInterval == 0 && isStalled())
      faulted = true;
    if (faulted)
      break;
    for (size_t i = 0; i < residents.size();)
      if (residents[i].isDone()) {
        executed += residents[i].group->executed();
        watch.groupEnded();
        residents.erase(residents.begin() + ptrdiff_t(i));
        idleTurns = 0;
      } else {
        ++i;
      }
  }
  caches.flush();
  dispatch.instructions.fetch_add(executed, std::memory_order_relaxed);
  if (!faulted)
    return;
  for (Resident &resident : residents)
    if (resident.group->shared.fault.set)
      return dispatch.report(*resident.group);
}

Statistics OrderRun::statistics() const {
  Statistics all = dispatch.statistics();
  if (counts.empty())
    return all;
  all.operations = nameOperations(*code.program, counts);
  all.instructions = 0;
  for (const OperationCount &operation : all.operations)
    all.instructions += operation.waves;
  return all;
}

/// AMD's library leaves out the invalidation behind a grid's barrier (docs/emulator-order.md):
/// every program that has one would be found wrong.
Error OrderRun::refusal() const {
  for (size_t i = 0; i < code.steps.size(); ++i)
    if (code.steps[i].gridBarrier)
      return createStringError("DS_GWS_BARRIER at " +
                               describePlace(*code.program, code.program->operations[i].pc) +
                               " is not possible under the check order");
  return Error::success();
}

Expected<Statistics> runInOrder(Dispatch &dispatch, const OrderCheck &check) {
  OrderRun run(dispatch, check);
  if (Error error = run.refusal())
    return error;
  run.run();
  if (std::unique_ptr<Fault> fault = dispatch.takeFault())
    return Error(std::move(fault));
  return run.statistics();
}

} // namespace rubia::emulator
