// SPDX-License-Identifier: Apache-2.0
// PTX ISA: control-flow-instructions, stack-manipulation-instructions, miscellaneous-instructions.
#include "reference/lib/interpreter/Cta.h"
#include "reference/lib/interpreter/Decode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <bit>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Alloca, Bra, Brkpt, BrxIdx, Call, Exit, Nanosleep, Pmevent, Ret, Setmaxnreg,
    Stackrestore, Stacksave, Trap;
} // namespace rubia::ptx::Op

namespace rubia::reference::interpreter {
namespace {

using Kind = ptx::Operand::Kind;

void branch(Warp &warp, const Micro &micro) { warp.jump(warp.active, micro.target); }
void decodeBranch(Decoder &decoder) { decoder.execute(branch, Flow::Control); }

// Each lane has its own target.
void branchIndexed(Warp &warp, const Micro &micro) {
  const auto &targets = *static_cast<const std::vector<uint32_t> *>(micro.data);
  uint64_t index[kLanes];
  std::copy_n(warp.source(micro, 0), kLanes, index);
  Lanes left = warp.active;
  while (left) {
    const unsigned first = unsigned(std::countr_zero(left));
    if (index[first] >= targets.size())
      return warp.fail("index " + Twine(index[first]) + " of " + Twine(targets.size()) + " targets",
                       first);
    Lanes group = 0;
    for (unsigned lane = first; lane < kLanes; ++lane)
      if (left >> lane & 1 && index[lane] == index[first])
        group |= 1u << lane;
    left &= ~group;
    warp.jump(group, targets[index[first]]);
  }
}
void decodeBranchIndexed(Decoder &decoder) {
  decoder.source(decoder.inst().operands[0], ptx::Type::U32);
  std::vector<uint32_t> &targets = decoder.code.targets.emplace_back();
  for (ptx::LabelId label : decoder.inst().operands[1].labels())
    targets.push_back(decoder.function.function->labels[label].instruction);
  decoder.micro.data = &targets;
  decoder.execute(branchIndexed, Flow::Control);
}

void ret(Warp &warp, const Micro &) { warp.returnFrom(warp.active); }
void decodeRet(Decoder &decoder) { decoder.execute(ret, Flow::Control); }

void leave(Warp &warp, const Micro &) { warp.exit(warp.active); }
void decodeExit(Decoder &decoder) { decoder.execute(leave, Flow::Control); }

void trap(Warp &warp, const Micro &) { warp.fail("the kernel traps"); }
void decodeTrap(Decoder &decoder) { decoder.execute(trap); }

void nothing(Warp &, const Micro &) {}
// Time and performance counters do not exist here, nor does a limit of registers.
void decodeNothing(Decoder &decoder) { decoder.execute(nothing); }

// ---------- The stack

constexpr uint64_t kMostStackBytes = 4 << 20; // of a lane

void saveStack(Warp &warp, const Micro &micro) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.write(micro, 0, lane, Warp::kStackBase + warp.stack[lane].size());
}
void restoreStack(Warp &warp, const Micro &micro) {
  const uint64_t *address = warp.source(micro, 0);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) {
      if (address[lane] - Warp::kStackBase > warp.stack[lane].size())
        return warp.fail("no address that stacksave gave", lane);
      warp.stack[lane].resize(address[lane] - Warp::kStackBase);
    }
}
// Sources: size, alignment
void allocateStack(Warp &warp, const Micro &micro) {
  const uint64_t *size = warp.source(micro, 0), *alignment = warp.source(micro, 1);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) {
      std::vector<uint8_t> &stack = warp.stack[lane];
      const uint64_t at = alignTo(stack.size(), std::max<uint64_t>(alignment[lane], 8));
      if (size[lane] > kMostStackBytes || at + size[lane] > kMostStackBytes)
        return warp.fail("the stack overflows", lane);
      stack.resize(at + size[lane]);
      warp.write(micro, 0, lane, Warp::kStackBase + at);
    }
}
void decodeStacksave(Decoder &decoder) {
  decoder.destination(decoder.inst().operands[0]);
  decoder.execute(saveStack);
}
void decodeStackrestore(Decoder &decoder) {
  decoder.source(decoder.inst().operands[0], decoder.spelling().type());
  decoder.execute(restoreStack);
}
void decodeAlloca(Decoder &decoder) {
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  decoder.destination(operands[0]);
  decoder.source(operands[1], decoder.spelling().type());
  if (operands.size() > 2)
    decoder.source(operands[2], ptx::Type::U32);
  else
    decoder.source(8);
  decoder.execute(allocateStack);
}

// ---------- Calls

void callByName(Warp &warp, const Micro &micro) {
  const auto &data = *static_cast<const CallData *>(micro.data);
  warp.call(data, *data.callee, warp.active);
}

// Null if there is none.
const ptx::Function *functionAt(const Grid &grid, uint64_t address) {
  const ptx::Function *function = nullptr;
  if (auto alias = grid.aliases->find(address); alias != grid.aliases->end())
    function = alias->second;
  const uint64_t offset = address & ~kWindowMask;
  if ((address & kWindowMask) == kFunctionWindow && offset % 16 == 0 &&
      offset / 16 < grid.module.functions.size())
    function = grid.module.functions[offset / 16];
  while (function && function->aliasOf)
    function = function->aliasOf;
  return function;
}

void callIndirect(Warp &warp, const Micro &micro) {
  const auto &data = *static_cast<const CallData *>(micro.data);
  uint64_t address[kLanes];
  std::copy_n(warp.source(micro, 0), kLanes, address);
  const Lanes lanes = warp.active;
  const unsigned first = unsigned(std::countr_zero(lanes));
  const ptx::Function *function = functionAt(warp.cta.grid, address[first]);
  if (!function)
    return warp.fail("a call of what is no function");
  const FunctionCode *callee = warp.cta.grid.code.byFunction.lookup(function);
  if (!callee)
    return warp.fail("a call of '" + function->name + "', which the kernel's code does not name");
  Lanes group = 0;
  for (unsigned lane = first; lane < kLanes; ++lane)
    if (lanes >> lane & 1 && address[lane] == address[first])
      group |= 1u << lane;
  warp.call(data, *callee, group, lanes & ~group);
}

// PTX ISA: control-flow-instructions-call. Arguments and results are .param variables of the
// caller, registers or constants.
void decodeCall(Decoder &decoder) {
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  const ptx::Operand *results = nullptr, *arguments = nullptr;
  if (operands[0].kind == Kind::List) {
    results = &operands[0];
    operands = operands.drop_front();
  }
  const ptx::Operand &target = operands[0];
  if (operands.size() > 1 && operands[1].kind == Kind::List)
    arguments = &operands[1];
  ArrayRef<const ptx::Variable *> formals;
  CallData &data = decoder.code.calls.emplace_back();
  if (const ptx::Function *named = target.function()) {
    while (named->aliasOf)
      named = named->aliasOf;
    formals = named->parameters;
    if (!named->hasBody && decodeSystemCall(decoder, named->name, results, arguments))
      return;
    data.callee = decoder.code.byFunction.lookup(named);
  } else {
    decoder.source(target, ptx::Type::U64);
    const ptx::Operand &last = operands.back();
    if (last.kind == Kind::Prototype) {
      const ptx::Prototype &prototype = decoder.function.function->prototypes[last.prototype];
      formals = prototype.isTargetList && !prototype.targets.empty()
                    ? prototype.targets.front()->parameters
                    : prototype.parameters;
    }
  }
  const SmallVector<Source, 8> address = decoder.sources;
  auto valueOf = [&](const ptx::Operand &operand, bool isResult, ptx::Type type) {
    CallData::Value value;
    decoder.sources.clear();
    decoder.destinations.clear();
    if (operand.kind == Kind::Variable && operand.variable()->space == ptx::StateSpace::Param) {
      value.inMemory = true;
      auto found = decoder.function.offsets.find(operand.variable());
      if (found == decoder.function.offsets.end())
        decoder.unsupported("a kernel's parameter as argument");
      else
        value.offset = found->second;
      value.bytes = unsigned(operand.variable()->sizeInBytes);
    } else if (isResult) {
      decoder.destination(operand);
      if (!decoder.destinations.empty())
        value.to = decoder.destinations[0];
      value.rows = unsigned(decoder.destinations.size());
    } else {
      decoder.source(operand, type);
      if (!decoder.sources.empty())
        value.source = decoder.sources[0];
      value.rows = unsigned(decoder.sources.size());
      if (value.source.negated)
        decoder.unsupported("a negated argument");
    }
    return value;
  };
  if (arguments)
    for (auto [n, operand] : enumerate(arguments->elements()))
      data.arguments.push_back(
          valueOf(operand, false, n < formals.size() ? formals[n]->type : ptx::Type::B64));
  if (results)
    for (const ptx::Operand &operand : results->elements())
      data.results.push_back(valueOf(operand, true, ptx::Type::None));
  decoder.destinations.clear();
  decoder.sources = address;
  decoder.micro.data = &data;
  decoder.execute(target.function() ? callByName : callIndirect, Flow::Control);
}

constexpr Family kFamilies[] = {
    {ptx::Op::Bra, decodeBranch},          {ptx::Op::BrxIdx, decodeBranchIndexed},
    {ptx::Op::Call, decodeCall},           {ptx::Op::Ret, decodeRet},
    {ptx::Op::Exit, decodeExit},           {ptx::Op::Trap, decodeTrap},
    {ptx::Op::Brkpt, decodeTrap},          {ptx::Op::Nanosleep, decodeNothing},
    {ptx::Op::Stacksave, decodeStacksave}, {ptx::Op::Stackrestore, decodeStackrestore},
    {ptx::Op::Alloca, decodeAlloca},       {ptx::Op::Pmevent, decodeNothing},
    {ptx::Op::Setmaxnreg, decodeNothing},
};

} // namespace

ArrayRef<Family> controlFlow() { return kFamilies; }

} // namespace rubia::reference::interpreter
