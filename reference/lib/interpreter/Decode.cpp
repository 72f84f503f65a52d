// SPDX-License-Identifier: Apache-2.0
// A kernel and what it reaches become code: frames are laid out, blocks put into their order.
#include "reference/lib/interpreter/Decode.h"
#include "ptx-frontend/SpecialRegisters.h"
#include "reference/Interpreter.h"
#include "reference/lib/interpreter/Order.h"
#include "reference/lib/interpreter/Warp.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Bra, BrxIdx, Exit, Mov, Ret, Trap;
} // namespace rubia::ptx::Op

namespace rubia::reference::interpreter {

using Kind = ptx::Operand::Kind;
using ptx::StateSpace;

// ---------- Operands

uint32_t Decoder::constantRow(uint64_t value) {
  auto [found, isNew] = constantRows.try_emplace(value, uint32_t(code.constants.size() / kLanes));
  if (isNew)
    code.constants.insert(code.constants.end(), kLanes, value);
  return found->second;
}

unsigned Decoder::bitsOf(ptx::RegisterId reg) const {
  return std::max(1u, ptx::sizeInBits(function.function->registers[reg].type));
}

static unsigned rowsOf(const ptx::Register &reg) { return ptx::sizeInBits(reg.type) > 64 ? 2 : 1; }

Source Decoder::registerSource(const ptx::Operand &operand) {
  Source source;
  source.base = Source::Base::Frame;
  source.row = function.registerRows[operand.reg];
  if (operand.component != 0xff)
    source.row += operand.component * rowsOf(function.function->registers[operand.reg]);
  return source;
}

Destination Decoder::registerDestination(ptx::RegisterId reg, unsigned component) {
  Destination result;
  result.row = function.registerRows[reg] + component * rowsOf(function.function->registers[reg]);
  result.mask = maskOf(bitsOf(reg));
  return result;
}

Source Decoder::addressOf(const ptx::Variable &variable, int64_t offset) {
  Source source;
  auto constant = [&](uint64_t address) { source.row = constantRow(address + uint64_t(offset)); };
  if (variable.isKernelParameter)
    constant(kParamWindow + code.parameterOffsets.lookup(&variable));
  else if (variable.space == StateSpace::Shared)
    constant(code.sharedOffsets.lookup(&variable));
  else if (auto found = function.offsets.find(&variable); found != function.offsets.end()) {
    constant(found->second);
    source.frameAddress = true;
  } else if (auto global = globals.find(&variable); global != globals.end())
    constant(global->second);
  else
    unsupported("the address of '" + variable.name + "'");
  return source;
}

static uint64_t floatConstant(const ptx::Operand &operand, unsigned bits) {
  if (operand.isSingle) {
    if (bits != 64)
      return operand.bits & 0xffffffff;
    return llvm::bit_cast<uint64_t>(double(llvm::bit_cast<float>(uint32_t(operand.bits))));
  }
  if (bits == 64)
    return operand.bits;
  return llvm::bit_cast<uint32_t>(float(llvm::bit_cast<double>(operand.bits)));
}

void Decoder::source(uint64_t constant) {
  Source result;
  result.row = constantRow(constant);
  sources.push_back(result);
}

void Decoder::source(const ptx::Operand &operand, ptx::Type type) {
  const unsigned bits = ptx::sizeInBits(type);
  switch (operand.kind) {
  case Kind::Register: {
    const ptx::Register &reg = function.function->registers[operand.reg];
    const bool isWhole = operand.component == 0xff;
    Source result = registerSource(operand);
    result.negated = operand.negated;
    if (operand.negated && reg.type != ptx::Type::Pred)
      return unsupported("an operand with a minus sign");
    for (unsigned i = 0; i < (isWhole ? reg.vectorWidth : 1) * rowsOf(reg); ++i, ++result.row)
      sources.push_back(result);
    return;
  }
  case Kind::Integer: {
    const bool isFloat = ptx::classOf(type) == ptx::TypeClass::Float && bits >= 32;
    if (isFloat && operand.bits) // 0 is 0 in every type
      return unsupported("an integer constant for a floating-point operand");
    source(bits ? operand.bits & maskOf(bits) : operand.bits);
    if (type == ptx::Type::B128)
      source(operand.bits >> 63 ? ~0ull : 0);
    return;
  }
  case Kind::Float:
    if (bits == 16)
      return unsupported("a floating-point constant of 16 bits");
    return source(floatConstant(operand, bits));
  case Kind::SpecialRegister: {
    using Special = ptx::SpecialRegister;
    if (is_contained({Special::Clock, Special::ClockHi, Special::Clock64, Special::GlobalTimer,
                      Special::GlobalTimerLo, Special::GlobalTimerHi},
                     operand.special) &&
        inst().op() != ptx::Op::Mov)
      return unsupported("a clock as operand");
    Source result;
    result.base = Source::Base::Special;
    const unsigned component = operand.component == 0xff ? 0 : operand.component;
    auto found = find_if(code.specials, [&](const UsedSpecial &used) {
      return used.special == operand.special && used.component == component;
    });
    result.row = uint32_t(found - code.specials.begin());
    if (found == code.specials.end())
      code.specials.push_back({operand.special, component});
    sources.push_back(result);
    return;
  }
  case Kind::Variable:
    sources.push_back(addressOf(*operand.variable(), operand.offset));
    return;
  case Kind::Function: {
    const ptx::Function *target = operand.function();
    while (target->aliasOf)
      target = target->aliasOf;
    return source(kFunctionWindow +
                  16 * uint64_t(find(module.functions, target) - module.functions.begin()));
  }
  case Kind::Address: {
    if (const ptx::Variable *variable = operand.variable()) {
      sources.push_back(addressOf(*variable, operand.offset));
      return;
    }
    if (operand.reg == ptx::kNone)
      return source(uint64_t(int64_t(operand.offset)));
    Source result = registerSource(operand);
    result.offset = operand.offset;
    sources.push_back(result);
    return;
  }
  case Kind::Vector:
  case Kind::AddressList:
    for (const ptx::Operand &element : operand.elements())
      source(element, type);
    return;
  case Kind::Label:
  case Kind::LabelList:
  case Kind::Sink:
  case Kind::Pair:
  case Kind::List:
  case Kind::Prototype:
    break;
  }
  unsupported("an operand of this kind");
}

void Decoder::destination(const ptx::Operand &operand, unsigned sinks) {
  switch (operand.kind) {
  case Kind::Register: {
    const ptx::Register &reg = function.function->registers[operand.reg];
    const bool isWhole = operand.component == 0xff;
    Destination result = registerDestination(operand.reg, isWhole ? 0 : operand.component);
    for (unsigned i = 0; i < (isWhole ? reg.vectorWidth : 1) * rowsOf(reg); ++i, ++result.row)
      destinations.push_back(result);
    return;
  }
  case Kind::Sink:
    destinations.append(sinks, Destination());
    return;
  case Kind::Vector:
  case Kind::Pair:
    for (const ptx::Operand &element : operand.elements())
      destination(element, sinks);
    return;
  default:
    unsupported("a destination of this kind");
  }
}

// ---------- Instructions

void Decoder::unsupported(const Twine &why) {
  if (reason.empty())
    reason = why.str();
}

static void failUnsupported(Warp &warp, const Micro &micro) {
  warp.fail("unsupported: " + Twine(static_cast<const char *>(micro.data)));
}

void Decoder::finish() {
  if (!reason.empty()) {
    micro.execute = failUnsupported;
    micro.flow = Flow::Straight;
    micro.data = StringRef(reason).copy(code.arena).data();
    // With its end: the text is read as a C string.
    char *text = code.arena.Allocate<char>(reason.size() + 1);
    memcpy(text, reason.c_str(), reason.size() + 1);
    micro.data = text;
    sources.clear();
    destinations.clear();
  }
  micro.sources = ArrayRef<Source>(sources).copy(code.arena);
  micro.destinations = ArrayRef<Destination>(destinations).copy(code.arena);
  function.micros.push_back(micro);
  sources.clear();
  destinations.clear();
  reason.clear();
  micro = Micro();
}

static DecodeFunction familyOf(ptx::Operation op) {
  static const auto *families = [] {
    auto *all = new DenseMap<unsigned, DecodeFunction>();
    for (ArrayRef<Family> rows :
         {controlFlow(), moves(), memoryAccess(), atomics(), warps(), barriers(), mbarriers(),
          asyncCopies(), matrices(), warpgroups(), tensorCopies(), textures(), surfaces()})
      for (const Family &row : rows)
        (*all)[unsigned(row.op)] = row.decode;
    return all;
  }();
  return families->lookup(unsigned(op));
}

void Decoder::decode(const ptx::Instruction &inst) {
  instruction = &inst;
  micro.instruction = &inst;
  if (inst.guard.reg != ptx::kNone) {
    micro.guardRow = function.registerRows[inst.guard.reg];
    micro.guardNegated = inst.guard.negated;
  }
  if (DecodeFunction decode = familyOf(inst.op()))
    decode(*this);
  else
    decodeScalar(*this);
  // The target of a branch is an instruction until resolve().
  if (inst.op() == ptx::Op::Bra)
    jumps.push_back({uint32_t(function.micros.size()),
                     function.function->labels[inst.operands[0].label].instruction});
  finish();
}

static void executeJump(Warp &warp, const Micro &micro) { warp.jump(warp.active, micro.target); }
static void executeReturn(Warp &warp, const Micro &) { warp.returnFrom(warp.active); }

void Decoder::jumpTo(uint32_t target) {
  jumps.push_back({uint32_t(function.micros.size()), target});
  execute(executeJump, Flow::Control);
  finish();
}

void Decoder::returnAtEnd() {
  execute(executeReturn, Flow::Control);
  finish();
}

void Decoder::resolve(ArrayRef<uint32_t> pcs) {
  for (const Jump &jump : jumps)
    function.micros[jump.pc].target = pcs[jump.instruction];
  for (Micro &micro : function.micros)
    if (micro.instruction && micro.instruction->op() == ptx::Op::BrxIdx)
      for (uint32_t &target : *const_cast<std::vector<uint32_t> *>(
               static_cast<const std::vector<uint32_t> *>(micro.data)))
        target = pcs[target];
}

// ---------- Functions

// Registers and variables of a function get their places.
static void layOut(FunctionCode &code) {
  const ptx::Function &function = *code.function;
  uint32_t row = kFirstRegisterRow;
  for (const ptx::Register &reg : function.registers) {
    code.registerRows.push_back(row);
    row += reg.vectorWidth * rowsOf(reg);
  }
  code.rows = row;
  auto place = [&](ArrayRef<const ptx::Variable *> variables) {
    for (const ptx::Variable *variable : variables) {
      if (variable->isKernelParameter || variable->reg != ptx::kNone ||
          (variable->space != StateSpace::Local && variable->space != StateSpace::Param))
        continue;
      code.bytes = uint32_t(alignTo(code.bytes, std::max(1u, variable->alignment)));
      code.offsets[variable] = code.bytes;
      code.bytes += uint32_t(variable->sizeInBytes);
    }
  };
  place(function.results);
  place(function.locals);
  place(function.parameters); // last: one without a size is as long as what is passed
}

static void decodeFunction(const ptx::Module &module, KernelCode &code, FunctionCode &function,
                           const GlobalAddresses &globals) {
  Decoder decoder(module, code, function, globals);
  ArrayRef<ptx::Instruction> body = function.function->body;
  std::vector<uint32_t> pcs(body.size() + 1, 0);
  std::vector<Block> blocks = orderOf(*function.function);
  for (auto [n, block] : enumerate(blocks)) {
    for (uint32_t i = block.first; i < block.end; ++i) {
      pcs[i] = uint32_t(function.micros.size());
      decoder.decode(body[i]);
    }
    if (block.first == body.size()) {
      pcs[body.size()] = uint32_t(function.micros.size());
      decoder.returnAtEnd();
    } else if (n + 1 == blocks.size() || blocks[n + 1].first != block.end) {
      const ptx::Instruction &last = body[block.end - 1];
      const bool fallsThrough =
          last.guard.reg != ptx::kNone ||
          !is_contained({ptx::Op::Bra, ptx::Op::BrxIdx, ptx::Op::Ret, ptx::Op::Exit, ptx::Op::Trap},
                        last.op());
      if (fallsThrough)
        decoder.jumpTo(block.end);
    }
  }
  decoder.resolve(pcs);
}

namespace {
// What a kernel can reach: functions and the variables in shared memory.
class Reach {
public:
  explicit Reach(KernelCode &code) : code(code) {}

  void function(const ptx::Function *function) {
    while (function->aliasOf)
      function = function->aliasOf;
    if (code.byFunction.contains(function))
      return;
    FunctionCode &added = code.functions.emplace_back();
    added.function = function;
    code.byFunction[function] = &added;
    if (!function->hasBody)
      return;
    layOut(added);
    for (const ptx::Variable *local : function->locals)
      variable(local);
    for (const ptx::Instruction &inst : function->body)
      for (const ptx::Operand &operand : inst.operands)
        operandOf(operand);
  }

private:
  void operandOf(const ptx::Operand &operand) {
    if (const ptx::Function *named = operand.function())
      function(named);
    if (const ptx::Variable *named = operand.variable())
      variable(named);
    for (const ptx::Operand &element : operand.elements())
      operandOf(element);
  }
  void variable(const ptx::Variable *variable) {
    if (!seen.insert(variable).second)
      return;
    if (variable->space == StateSpace::Shared) {
      if (variable->incomplete) // dynamic: behind all others
        dynamic.push_back(variable);
      else
        place(variable);
    }
    for (const ptx::Relocation &relocation : variable->relocations) {
      if (relocation.function)
        function(relocation.function);
      if (relocation.variable)
        this->variable(relocation.variable);
    }
  }
  void place(const ptx::Variable *variable) {
    code.staticSharedBytes =
        uint32_t(alignTo(code.staticSharedBytes, std::max(1u, variable->alignment)));
    code.sharedOffsets[variable] = code.staticSharedBytes;
    code.staticSharedBytes += uint32_t(variable->sizeInBytes);
  }
  KernelCode &code;
  SmallPtrSet<const ptx::Variable *, 16> seen;

public:
  std::vector<const ptx::Variable *> dynamic;
};
} // namespace

std::unique_ptr<KernelCode> decodeKernel(const ptx::Module &module, const ptx::Function &kernel,
                                         const GlobalAddresses &globals) {
  auto code = std::make_unique<KernelCode>();
  std::vector<uint32_t> offsets = parameterLayout(kernel);
  for (auto [n, parameter] : enumerate(kernel.parameters))
    code->parameterOffsets[parameter] = offsets[n];
  Reach reach(*code);
  reach.function(&kernel);
  for (const ptx::Variable *variable : reach.dynamic) {
    code->staticSharedBytes =
        uint32_t(alignTo(code->staticSharedBytes, std::max(16u, variable->alignment)));
    code->sharedOffsets[variable] = code->staticSharedBytes;
  }
  for (FunctionCode &function : code->functions)
    if (function.function->hasBody)
      decodeFunction(module, *code, function, globals);
  code->kernel = code->byFunction.lookup(&kernel);
  return code;
}

} // namespace rubia::reference::interpreter
