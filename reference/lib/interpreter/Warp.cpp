// SPDX-License-Identifier: Apache-2.0
#include "reference/lib/interpreter/Warp.h"
#include "ptx-frontend/Lines.h"
#include "ptx-frontend/SpecialRegisters.h"
#include "reference/lib/interpreter/Cta.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <bit>
#include <cstring>

using namespace llvm;

namespace rubia::reference::interpreter {
namespace {

// After so many instructions of a divided warp, a path that none of them was of goes first.
constexpr uint64_t kPatience = 20000;
// Of a lane's memory and of a warp's registers: deeper recursion than any GPU has room for.
constexpr uint64_t kMostBytes = 4 << 20, kMostRows = 1 << 18;
// What shared memory is counted in, and what is reserved for libraries (PTX ISA:
// special-registers-total-smem-size, -aggr-smem-size).
constexpr uint64_t kSharedUnit = 128, kReservedSharedBytes = 1024;

// The places of a chain of calls, the outermost first.
SmallVector<uint32_t, 8> placesOf(const Path &path) {
  SmallVector<uint32_t, 8> places{path.pc};
  for (const Frame *frame = path.frame; frame->parent; frame = frame->parent)
    places.push_back(frame->returnPc - 1);
  std::reverse(places.begin(), places.end());
  return places;
}

} // namespace

Warp::Warp(Cta &cta, unsigned index, Lanes lanes)
    : cta(cta), index(index), existing(lanes), live(lanes) {
  const FunctionCode *kernel = cta.grid.code.kernel;
  const Frame *frame = frameFor(nullptr, kernel, nullptr, 0);
  reserve(*frame);
  fillSpecials();
  Path path;
  path.lanes = lanes;
  path.frame = frame;
  paths.push_back(path);
}

const Frame *Warp::frameFor(const Frame *parent, const FunctionCode *code, const CallData *call,
                            uint32_t returnPc) {
  std::unique_ptr<Frame> &frame = frames[{parent, code, call, returnPc}];
  if (!frame) {
    frame = std::make_unique<Frame>();
    frame->parent = parent;
    frame->code = code;
    frame->call = call;
    frame->returnPc = returnPc;
    frame->bytes = code->bytes;
    if (call && !code->function->parameters.empty() &&
        code->function->parameters.back()->incomplete && !call->arguments.empty())
      frame->bytes += call->arguments.back().bytes;
    if (parent) {
      frame->rowBase = parent->rowBase + parent->code->rows;
      frame->byteBase = uint32_t(alignTo(parent->byteBase + parent->bytes, 16));
    }
  }
  return frame.get();
}

bool Warp::reserve(const Frame &frame) {
  const uint64_t rowsNeeded = frame.rowBase + uint64_t(frame.code->rows);
  const uint64_t bytesNeeded = frame.byteBase + uint64_t(frame.bytes);
  if (rowsNeeded > kMostRows || bytesNeeded > kMostBytes)
    return false;
  if (rows.size() < rowsNeeded * kLanes) {
    rows.resize(std::max<size_t>(rowsNeeded * kLanes, rows.size() * 2));
    entered = nullptr;
  }
  for (std::vector<uint8_t> &bytes : local)
    if (bytes.size() < bytesNeeded)
      bytes.resize(bytesNeeded);
  return true;
}

void Warp::fillSpecials() {
  using Special = ptx::SpecialRegister;
  const Grid &grid = cta.grid;
  const auto &[bx, by, bz] = grid.launch.block;
  specials.resize(grid.code.specials.size() * kLanes);
  const uint32_t threads = bx * by * bz;
  for (auto [n, used] : enumerate(grid.code.specials))
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const uint32_t thread = index * kLanes + lane, component = used.component;
      const std::array<uint32_t, 4> tid = {thread % bx, thread / bx % by, thread / bx / by, 0};
      auto of = [&](const std::array<uint32_t, 3> &values, uint32_t fourth) {
        return component < 3 ? values[component] : fourth;
      };
      uint64_t value = 0;
      const uint32_t bit = 1u << lane;
      switch (used.special) {
      case Special::Tid:
        value = tid[component];
        break;
      case Special::NTid:
        value = of(grid.launch.block, 1);
        break;
      case Special::LaneId:
        value = lane;
        break;
      case Special::WarpId:
        value = index;
        break;
      case Special::NWarpId:
        value = (threads + kLanes - 1) / kLanes;
        break;
      case Special::CtaId:
      case Special::ClusterId:
        value = of(cta.index, 0);
        break;
      case Special::NCtaId:
      case Special::NClusterId:
        value = of(grid.launch.grid, 1);
        break;
      case Special::NSmId:
      case Special::ClusterNCtaRank:
        value = 1;
        break;
      case Special::GridId:
        value = 1;
        break;
      case Special::ClusterNCtaId:
        value = 1;
        break;
      case Special::IsExplicitCluster:
        value = grid.code.kernel->function->attributes.explicitCluster;
        break;
      case Special::LaneMaskEq:
        value = bit;
        break;
      case Special::LaneMaskLt:
        value = bit - 1;
        break;
      case Special::LaneMaskLe:
        value = (bit - 1) | bit;
        break;
      case Special::LaneMaskGt:
        value = uint32_t(~((bit - 1) | bit));
        break;
      case Special::LaneMaskGe:
        value = uint32_t(~(bit - 1));
        break;
      case Special::WarpSize:
        value = kLanes;
        break;
      case Special::TotalSmemSize: // in whole units
        value = (grid.code.staticSharedBytes + uint64_t(grid.launch.dynamicSharedBytes) +
                 kSharedUnit - 1) /
                kSharedUnit * kSharedUnit;
        break;
      case Special::AggrSmemSize: // in bytes
        value = grid.code.staticSharedBytes + uint64_t(grid.launch.dynamicSharedBytes) +
                kReservedSharedBytes;
        break;
      case Special::DynamicSmemSize:
        value = grid.launch.dynamicSharedBytes;
        break;
      case Special::EnvReg1: // where cooperative groups find their counters, in two halves
        value = grid.workspace >> 32;
        break;
      case Special::EnvReg2:
        value = uint32_t(grid.workspace);
        break;
      default: // clocks are read when they are needed; the others are 0 in a launch of one device
        break;
      }
      specials[n * kLanes + lane] = value;
    }
}

// ---------- Paths

bool Warp::precedes(const Path &a, const Path &b) const {
  if (a.turn != b.turn)
    return a.turn < b.turn;
  if (a.frame == b.frame)
    return a.pc < b.pc;
  return placesOf(a) < placesOf(b);
}

bool Warp::canRun() const {
  return any_of(paths, [](const Path &path) { return path.state == Path::State::Runs; });
}

// Paths at the same place become one; what waited for members there may find them now.
void Warp::merge() {
  for (size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].state == Path::State::WaitsAtBarrier)
      continue;
    for (size_t j = paths.size() - 1; j > i; --j) {
      const Path &other = paths[j];
      if (other.frame != paths[i].frame || other.pc != paths[i].pc ||
          other.state == Path::State::WaitsAtBarrier)
        continue;
      paths[i].lanes |= other.lanes;
      paths[i].turn = std::max(paths[i].turn, other.turn);
      paths[i].last = std::max(paths[i].last, other.last);
      paths[i].state = Path::State::Runs;
      paths.erase(paths.begin() + ptrdiff_t(j));
    }
  }
}

void Warp::boostStarved() {
  const uint64_t began = patienceEnds - kPatience;
  patienceEnds = executed + kPatience;
  Path *starved = nullptr;
  int least = 0;
  for (Path &path : paths) {
    if (path.state != Path::State::Runs)
      continue;
    least = std::min(least, path.turn);
    if (path.last < began && (!starved || path.last < starved->last))
      starved = &path;
  }
  if (starved)
    starved->turn = least - 1;
}

bool Warp::choosePath() {
  rechoose = false;
  if (paths.size() > 1) {
    merge();
    if (executed >= patienceEnds)
      boostStarved();
  }
  if (paths.size() == 1)
    paths[0].turn = 0;
  size_t chosen = paths.size();
  for (size_t i = 0; i < paths.size(); ++i)
    if (paths[i].state == Path::State::Runs &&
        (chosen == paths.size() || precedes(paths[i], paths[chosen])))
      chosen = i;
  if (chosen == paths.size()) {
    rechoose = true;
    return false;
  }
  at = chosen;
  paths[at].last = executed;
  return true;
}

// Where another path of the same chain is, further on: there the two meet.
uint32_t Warp::nextStop() const {
  uint32_t stop = ~0u;
  const Path &path = paths[at];
  for (const Path &other : paths)
    if (&other != &path && other.frame == path.frame && other.pc > path.pc)
      stop = std::min(stop, other.pc);
  return stop;
}

void Warp::enter(const Frame *frame) {
  if (frame == entered)
    return;
  entered = frame;
  frameRows = rows.data() + size_t(frame->rowBase) * kLanes;
  bases[unsigned(Source::Base::Frame)] = frameRows;
  bases[unsigned(Source::Base::Constant)] = cta.grid.code.constants.data();
  bases[unsigned(Source::Base::Special)] = specials.data();
}

void Warp::setActive(Lanes lanes) {
  active = lanes;
  if (lanes == expanded)
    return;
  expanded = lanes;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    activeWords[lane] = lanes >> lane & 1 ? ~0ull : 0;
}

Lanes Warp::guarded(const Micro &micro, Lanes lanes) const {
  const uint64_t *row = frameRows + size_t(micro.guardRow) * kLanes;
  Lanes holds = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    holds |= Lanes(row[lane] & 1) << lane;
  return lanes & (micro.guardNegated ? ~holds : holds);
}

void Warp::run(uint64_t &budget) {
  while (budget && live && !failed) {
    if (rechoose && !choosePath())
      return;
    enter(paths[at].frame);
    const Micro *micros = paths[at].frame->code->micros.data();
    const uint32_t stop = paths.size() > 1 ? nextStop() : ~0u;
    const uint64_t before = executed;
    uint64_t lanesExecuted = 0;
    while (budget && !failed) {
      Path &path = paths[at];
      const Micro &micro = micros[path.pc];
      now = &micro;
      Lanes lanes = path.lanes;
      if (micro.guardRow != kNoRow)
        lanes = guarded(micro, lanes);
      ++path.pc;
      ++executed;
      --budget;
      lanesExecuted += unsigned(std::popcount(lanes));
      if (lanes) {
        setActive(lanes);
        if (micro.flow == Flow::Meets)
          meet(micro, lanes);
        else
          micro.execute(*this, micro);
      }
      if (rechoose)
        break;
      if (paths[at].pc >= stop) {
        rechoose = true;
        break;
      }
    }
    if (paths.size() > 1)
      rechoose = true; // its turn may be over
    cta.grid.statistics.warpInstructions += executed - before;
    cta.grid.statistics.laneInstructions += lanesExecuted;
  }
}

Path &Warp::split(Lanes lanes) {
  Path other = paths[at];
  other.lanes = lanes;
  paths[at].lanes &= ~lanes;
  paths.push_back(other);
  rechoose = true;
  if (paths.size() == 2)
    patienceEnds = executed + kPatience;
  return paths.back();
}

void Warp::remove(size_t path) {
  paths.erase(paths.begin() + ptrdiff_t(path));
  rechoose = true;
}

void Warp::jump(Lanes lanes, uint32_t pc) {
  if (lanes == paths[at].lanes) {
    paths[at].pc = pc;
    rechoose = rechoose || paths.size() > 1;
  } else if (lanes)
    split(lanes).pc = pc;
}

void Warp::exit(Lanes lanes) {
  live &= ~lanes;
  paths[at].lanes &= ~lanes;
  if (!paths[at].lanes)
    remove(at);
  rechoose = true;
  // Who waited for these lanes need not any more, and they do not hold up an arrival.
  SmallVector<std::pair<uint32_t, uint32_t>, 2> arrivals;
  for (const auto &[barrier, arrival] : arrived)
    if (live && !(live & ~arrival.lanes))
      arrivals.push_back({barrier, arrival.threads});
  for (auto [barrier, threads] : arrivals) {
    arrived.erase(barrier);
    cta.arrive(*this, barrier, threads);
  }
  for (Path &path : paths)
    if (path.state == Path::State::WaitsForMembers)
      path.state = Path::State::Runs;
  if (!live) {
    cta.warpEnded(*this);
    return;
  }
  for (uint32_t barrier = 0; barrier <= Cta::kClusterBarrier; ++barrier)
    if (!pathsAt(barrier).empty()) {
      cta.check(*this, barrier);
      break;
    }
}

// ---------- Calls

static uint64_t readBytes(const uint8_t *bytes, unsigned size) {
  uint64_t value = 0;
  memcpy(&value, bytes, std::min(size, 8u));
  return value;
}

void Warp::call(const CallData &data, const FunctionCode &callee, Lanes lanes, Lanes again) {
  if (!callee.function->hasBody)
    return fail("a call of '" + callee.function->name + "', which is not defined");
  if (!callee.function->valid)
    return fail("a call of '" + callee.function->name + "', which has errors");
  if (data.arguments.size() != callee.function->parameters.size() ||
      data.results.size() != callee.function->results.size())
    return fail("a call of '" + callee.function->name + "' with another number of values");
  const Frame *frame = frameFor(paths[at].frame, &callee, &data, paths[at].pc);
  const Frame *caller = paths[at].frame;
  if (!reserve(*frame))
    return fail("the stack overflows in '" + callee.function->name + "'");
  enter(caller);
  uint64_t *callerRows = frameRows;
  uint64_t *calleeRows = rows.data() + size_t(frame->rowBase) * kLanes;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(lanes >> lane & 1))
      continue;
    for (uint32_t row = 0; row < callee.rows; ++row)
      calleeRows[size_t(row) * kLanes + lane] = 0;
    uint8_t *callerBytes = local[lane].data() + caller->byteBase;
    uint8_t *calleeBytes = local[lane].data() + frame->byteBase;
    memset(calleeBytes, 0, frame->bytes);
    for (auto [value, parameter] : zip_equal(data.arguments, callee.function->parameters)) {
      uint64_t words[2] = {};
      const uint8_t *bytes = reinterpret_cast<const uint8_t *>(words);
      uint64_t size = value.rows * 8;
      if (value.inMemory) {
        bytes = callerBytes + value.offset;
        size = value.bytes;
      } else
        for (unsigned row = 0; row < value.rows; ++row) {
          const uint64_t *base = value.source.base == Source::Base::Frame
                                     ? callerRows
                                     : bases[unsigned(value.source.base)];
          words[row] = base[size_t(value.source.row + row) * kLanes + lane] +
                       (value.source.frameAddress ? caller->byteBase : 0);
        }
      if (parameter->reg != ptx::kNone) {
        const unsigned width = std::max(1u, ptx::sizeInBits(parameter->type));
        const uint32_t row = callee.registerRows[parameter->reg];
        calleeRows[size_t(row) * kLanes + lane] = readBytes(bytes, unsigned(size)) & maskOf(width);
        if (width > 64)
          calleeRows[size_t(row + 1) * kLanes + lane] = readBytes(bytes + 8, 8);
      } else
        memcpy(calleeBytes + callee.offsets.lookup(parameter), bytes,
               parameter->incomplete ? size : std::min(size, parameter->sizeInBytes));
    }
  }
  if (again) {
    Path &other = split(again);
    --other.pc;
  }
  if (lanes != paths[at].lanes) {
    Path &calls = split(lanes);
    calls.frame = frame;
    calls.pc = 0;
  } else {
    paths[at].frame = frame;
    paths[at].pc = 0;
  }
  rechoose = true;
}

void Warp::returnFrom(Lanes lanes) {
  const Frame *frame = paths[at].frame;
  if (!frame->parent)
    return exit(lanes);
  const Frame *caller = frame->parent;
  const FunctionCode &callee = *frame->code;
  uint64_t *calleeRows = frameRows;
  uint64_t *callerRows = rows.data() + size_t(caller->rowBase) * kLanes;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(lanes >> lane & 1))
      continue;
    uint8_t *callerBytes = local[lane].data() + caller->byteBase;
    const uint8_t *calleeBytes = local[lane].data() + frame->byteBase;
    for (auto [value, result] : zip_equal(frame->call->results, callee.function->results)) {
      uint64_t words[2] = {};
      const uint8_t *bytes = reinterpret_cast<const uint8_t *>(words);
      uint64_t size = 16;
      if (result->reg != ptx::kNone) {
        const uint32_t row = callee.registerRows[result->reg];
        words[0] = calleeRows[size_t(row) * kLanes + lane];
        if (ptx::sizeInBits(result->type) > 64)
          words[1] = calleeRows[size_t(row + 1) * kLanes + lane];
      } else {
        bytes = calleeBytes + callee.offsets.lookup(result);
        size = result->sizeInBytes;
      }
      if (value.inMemory) {
        memcpy(callerBytes + value.offset, bytes, std::min<uint64_t>(size, value.bytes));
        continue;
      }
      callerRows[size_t(value.to.row) * kLanes + lane] =
          readBytes(bytes, unsigned(size)) & value.to.mask;
      if (value.rows == 2 && size > 8)
        callerRows[size_t(value.to.row + 1) * kLanes + lane] = readBytes(bytes + 8, 8);
    }
  }
  if (lanes != paths[at].lanes) {
    Path &returns = split(lanes);
    returns.frame = caller;
    returns.pc = frame->returnPc;
  } else {
    paths[at].frame = caller;
    paths[at].pc = frame->returnPc;
  }
  rechoose = true;
}

// ---------- Barriers

void Warp::waitAt(const Micro &micro, uint32_t barrier, uint32_t threads, Lanes condition,
                  Lanes lanes) {
  Path &path = lanes == paths[at].lanes ? paths[at] : split(lanes);
  path.state = Path::State::WaitsAtBarrier;
  path.barrier = barrier;
  path.threads = threads;
  path.condition = condition & lanes;
  path.where = &micro;
  rechoose = true;
  if (!pathsAt(barrier).empty())
    cta.check(*this, barrier);
}

bool Warp::arriveAt(uint32_t barrier, uint32_t threads, Lanes lanes) {
  Arrival &arrival = arrived[barrier];
  arrival.lanes |= lanes;
  arrival.threads = threads;
  if (live & ~arrival.lanes)
    return false;
  arrived.erase(barrier);
  return true;
}

SmallVector<const Path *, 4> Warp::pathsAt(uint32_t barrier) const {
  SmallVector<const Path *, 4> there;
  Lanes lanes = 0;
  for (const Path &path : paths)
    if (path.state == Path::State::WaitsAtBarrier && path.barrier == barrier) {
      there.push_back(&path);
      lanes |= path.lanes;
    }
  if (live & ~lanes)
    there.clear();
  return there;
}

void Warp::release(uint32_t barrier, function_ref<uint64_t(const Micro &)> result) {
  for (Path &path : paths) {
    if (path.state != Path::State::WaitsAtBarrier || path.barrier != barrier)
      continue;
    path.state = Path::State::Runs;
    if (path.where->destinations.empty())
      continue;
    const Destination &destination = path.where->destinations[0];
    uint64_t *row = rows.data() + size_t(path.frame->rowBase + destination.row) * kLanes;
    const uint64_t value = result(*path.where) & destination.mask;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (path.lanes >> lane & 1)
        row[lane] = value;
  }
  rechoose = true;
}

const Path *Warp::waiting() const {
  for (const Path &path : paths)
    if (path.state != Path::State::Runs)
      return &path;
  return nullptr;
}

// ---------- Memory and errors

const uint64_t *Warp::adjusted(const Source &source, const uint64_t *row, unsigned n) {
  while (scratch.size() <= n)
    scratch.emplace_back();
  std::array<uint64_t, kLanes> &result = scratch[n];
  const uint64_t base = source.frameAddress ? entered->byteBase : 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = (row[lane] + base) ^ uint64_t(source.negated);
  return result.data();
}

uint8_t *Warp::memory(ptx::StateSpace space, uint64_t address, uint64_t size, unsigned lane) {
  using Space = ptx::StateSpace;
  if (size > 1 && address % std::bit_floor(size)) {
    fail(formatv("address {0:x} is not aligned to {1} bytes", address, std::bit_floor(size)), lane);
    return nullptr;
  }
  auto within = [&](MutableArrayRef<uint8_t> bytes, uint64_t offset,
                    const char *name) -> uint8_t * {
    if (offset < bytes.size() && size <= bytes.size() - offset)
      return bytes.data() + offset;
    fail(formatv("address {0:x} is out of bounds: {1} bytes of {2} memory of {3} bytes", offset,
                 size, name, bytes.size()),
         lane);
    return nullptr;
  };
  auto ofLane = [&](uint64_t at) {
    return at >= kStackBase ? within(stack[lane], at - kStackBase, "allocated local")
                            : within(local[lane], at, "local");
  };
  const uint64_t window = address & kWindowMask, offset = address & ~kWindowMask;
  if (space == Space::None) {
    if (window == kSharedWindow)
      return within(cta.shared, offset, "shared");
    if (window == kLocalWindow)
      return ofLane(offset);
    if (window == kParamWindow)
      return within(cta.grid.parameters, offset, "parameter");
    space = Space::Global;
  }
  switch (space) {
  case Space::Shared:
    return within(cta.shared, address, "shared");
  case Space::Param:
    if (window == kParamWindow)
      return within(cta.grid.parameters, offset, "parameter");
    return within(local[lane], address, "parameter");
  case Space::Local:
    return ofLane(address);
  case Space::Const:
    address = cta.grid.constantAddress(address);
    break;
  case Space::None:
  case Space::Reg:
  case Space::SReg:
  case Space::Global:
  case Space::Tex:
    break;
  }
  uint8_t *found = cta.grid.global.find(address, size);
  if (!found)
    fail(formatv("address {0:x} is out of bounds: {1} bytes of global memory", address, size),
         lane);
  return found;
}

std::string Warp::describe(const Path &path) const {
  const ptx::Instruction *inst = path.where ? path.where->instruction : nullptr;
  if (!inst)
    return "";
  auto [line, column] = ptx::lineAndColumn(cta.grid.module, inst->place);
  return formatv("'{0}' at line {1} (threads {2:x8} of warp {3})", inst->spelling->text, line,
                 path.lanes, index);
}

void Warp::fail(const Twine &reason, unsigned lane) {
  if (failed)
    return;
  failed = true;
  if (!cta.grid.error.empty())
    return;
  if (lane == kLanes)
    lane = active ? unsigned(std::countr_zero(active)) : 0;
  const uint32_t thread = index * kLanes + lane;
  const auto &[bx, by, bz] = cta.grid.launch.block;
  std::string place, instruction;
  if (now && now->instruction) {
    auto [line, column] = ptx::lineAndColumn(cta.grid.module, now->instruction->place);
    place = formatv("{0}:{1}: ", cta.grid.module.name, line);
    instruction = formatv("'{0}': ", now->instruction->spelling->text);
  }
  cta.grid.error =
      formatv("{0}kernel '{1}', block ({2},{3},{4}), thread ({5},{6},{7}): {8}{9}", place,
              cta.grid.launch.kernel, cta.index[0], cta.index[1], cta.index[2], thread % bx,
              thread / bx % by, thread / bx / by, instruction, reason.str());
}

} // namespace rubia::reference::interpreter
