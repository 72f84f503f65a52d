// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/InstructionEffects.h"
#include "ptx-frontend/InstructionTable.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Ld;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Acquire, Add, Aligned, Cc, Cg, Cv, Ftz, Mmio, Nc, Relaxed, Rmi, Rpi, Sat,
    ScaledN2Ue8m0, Sync, Volatile, Wait;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

using Kind = ptx::Operand::Kind;
namespace Mod = ptx::Mod;
using ptx::Modifier;

bool isPure(const ptx::Instruction &instruction) {
  return does(instruction, effects::Pure) && !does(instruction, effects::ReadsCarry) &&
         !instruction.spelling->has(Mod::Cc);
}

// ---------- Memory

const ptx::Operand *addressOf(const ptx::Instruction &instruction) {
  for (const ptx::Operand &operand : instruction.operands)
    if (operand.kind == Kind::Address || operand.kind == Kind::AddressList)
      return operand.kind == Kind::Address ? &operand : &operand.elements().front();
  return nullptr;
}

bool isSamePlace(const ptx::Operand &a, const ptx::Operand &b) {
  return a.reg == b.reg && a.variable() == b.variable() && a.offset == b.offset;
}

bool hasSemantics(const ptx::Instruction &instruction) {
  if (instruction.op() != ptx::Op::Ld && does(instruction, effects::Polls))
    return true; // that is what it is for
  for (Modifier mod : {Mod::Volatile, Mod::Relaxed, Mod::Acquire, Mod::Mmio, Mod::Cv})
    if (instruction.spelling->has(mod))
      return true;
  return false;
}

bool mayPoll(const ptx::Instruction &instruction) {
  if (instruction.op() != ptx::Op::Ld)
    return does(instruction, effects::Polls);
  switch (instruction.spelling->space()) {
  case ptx::StateSpace::Local:
  case ptx::StateSpace::Param:
  case ptx::StateSpace::Const:
    return false;
  default:
    return hasSemantics(instruction) || instruction.spelling->has(Mod::Cg);
  }
}

bool readsAnewAfter(const ptx::Instruction &instruction) {
  return mayPoll(instruction) || (does(instruction, effects::Renews) &&
                                  !does(instruction, effects::MeetsCta | effects::MeetsCluster));
}

bool isExchange(const ptx::Instruction &instruction) {
  return does(instruction, effects::Polls) && does(instruction, effects::Writes);
}

bool isPlainLoad(const ptx::Instruction &instruction) {
  if (!does(instruction, effects::Reads) || does(instruction, effects::Writes) ||
      instruction.spelling->has(Mod::Nc))
    return false;
  ptx::StateSpace space = instruction.spelling->space();
  return space == ptx::StateSpace::None || space == ptx::StateSpace::Shared ||
         space == ptx::StateSpace::Global;
}

// ---------- Other threads

bool isMeeting(const ptx::Instruction &instruction) {
  if (does(instruction, effects::MeetsWarp))
    return instruction.spelling->has(Mod::Sync);
  if (does(instruction, effects::MeetsCluster))
    return instruction.spelling->has(Mod::Wait);
  return does(instruction, effects::MeetsCta | effects::Calls);
}

bool isAligned(const ptx::Instruction &barrier) {
  return barrier.spelling->has(Mod::Aligned) || barrier.spelling->text.starts_with("bar.");
}

const ptx::Operand *membersOf(const ptx::Instruction &instruction) {
  ArrayRef<ptx::OperandSlot> slots = ptx::instructionForms()[instruction.spelling->form].operands();
  return !slots.empty() && slots.back().members ? &instruction.operands.back() : nullptr;
}

bool namesWholeWarp(const ptx::Instruction &instruction, const Definitions &definitions) {
  const ptx::Operand *operand = membersOf(instruction);
  if (!operand)
    return false;
  std::optional<uint64_t> members = definitions.constant(*operand);
  return members && uint32_t(*members) == ~0u;
}

// ---------- Control

bool endsThread(const ptx::Instruction &instruction) {
  if (does(instruction, effects::Exits | effects::Traps))
    return true;
  return does(instruction, effects::Calls) &&
         any_of(instruction.operands, [](const ptx::Operand &operand) {
           return operand.function() && operand.function()->name == "__assertfail";
         });
}

const ptx::Function *calleeOf(const ptx::Instruction &call) {
  const auto *name =
      find_if(call.operands, [](const ptx::Operand &operand) { return operand.function(); });
  return name == call.operands.end() ? nullptr : &definitionOf(*name->function());
}

const ptx::Operand *choiceOf(const ptx::Instruction &jump) {
  return does(jump, effects::Jumps) && jump.operands.size() > 1 ? &jump.operands.front() : nullptr;
}

bool endsBlock(const ptx::Instruction &instruction) {
  return does(instruction, effects::Jumps | effects::Returns) || endsThread(instruction);
}

// ---------- Floating point

static bool isF32(ptx::Type type) { return type == ptx::Type::F32 || type == ptx::Type::F32x2; }
static bool isBf16(ptx::Type type) { return type == ptx::Type::BF16 || type == ptx::Type::BF16x2; }

static ptx::Type lastType(const ptx::Spelling &spelling) {
  ptx::Type last = ptx::Type::None;
  for (unsigned n = 0; spelling.type(n) != ptx::Type::None; ++n)
    last = spelling.type(n);
  return last;
}

static bool conversionNeedsF32Denormals(const ptx::Spelling &spelling) {
  using ptx::Type;
  Type to = spelling.type(0), from = spelling.type(1);
  if (from == Type::F64)
    return to == Type::F32 || to == Type::BF16;
  if (spelling.has(Mod::ScaledN2Ue8m0))
    return true; // s2f6: the scale can be as small or as large as a denormal is
  // To integers, and to integral f32: only rounding away from zero sees a denormal. A plain
  // cvt.f32.f32 is a move, one with .sat compares. Half and the narrow formats see none.
  return (from == Type::F32 || from == Type::BF16) &&
         (to == Type::F64 ||
          (to != Type::F16 &&
           (spelling.has(Mod::Rpi) || spelling.has(Mod::Rmi) || spelling.has(Mod::Sat))));
}

bool needsF32Denormals(const ptx::Instruction &instruction) {
  const ptx::Spelling &spelling = *instruction.spelling;
  if (spelling.has(Mod::Ftz))
    return false;
  // Arithmetic, minima and maxima of bf16, f32 operations too, are written for both modes.
  // What names no type, as a reduction into a tensor, may find f32.
  if (does(instruction, effects::F32))
    return isF32(spelling.type()) || spelling.type() == ptx::Type::None;
  if (does(instruction, effects::F32Compared))
    return isF32(lastType(spelling)) || isBf16(lastType(spelling));
  if (does(instruction, effects::F32Converted))
    return conversionNeedsF32Denormals(spelling);
  // PTX ISA: in global memory add.f32 flushes, in shared memory, which a generic address may be of,
  // it does not.
  if (does(instruction, effects::F32Added))
    return isF32(spelling.type()) && spelling.has(Mod::Add) &&
           spelling.space() != ptx::StateSpace::Global;
  return does(instruction, effects::Bf16Widened) && isBf16(spelling.type());
}

} // namespace rubia::lowering
