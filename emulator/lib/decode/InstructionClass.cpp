// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/decode/InstructionClass.h"
#include "emulator/lib/decode/Decoder.h"
#include "emulator/lib/machine/Wave.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::emulator {

StringRef toString(InstructionClass kind) {
  switch (kind) {
  case InstructionClass::VectorF64:
    return "vector f64";
  case InstructionClass::VectorF32:
    return "vector f32";
  case InstructionClass::VectorF16:
    return "vector f16";
  case InstructionClass::VectorInteger:
    return "vector integer";
  case InstructionClass::VectorInteger64:
    return "vector integer 64";
  case InstructionClass::VectorConversion:
    return "vector conversion";
  case InstructionClass::VectorComparison:
    return "vector comparison";
  case InstructionClass::VectorTranscendental:
    return "vector transcendental";
  case InstructionClass::VectorMove:
    return "vector move";
  case InstructionClass::VectorDot:
    return "vector dot product";
  case InstructionClass::VectorDual:
    return "vector dual";
  case InstructionClass::Matrix:
    return "matrix";
  case InstructionClass::ScalarAlu:
    return "scalar ALU";
  case InstructionClass::Branch:
    return "branch";
  case InstructionClass::ScalarMemory:
    return "scalar memory";
  case InstructionClass::GlobalLoad:
    return "global load";
  case InstructionClass::GlobalStore:
    return "global store";
  case InstructionClass::GlobalAtomic:
    return "global atomic";
  case InstructionClass::ScratchLoad:
    return "scratch load";
  case InstructionClass::ScratchStore:
    return "scratch store";
  case InstructionClass::LdsLoad:
    return "LDS load";
  case InstructionClass::LdsStore:
    return "LDS store";
  case InstructionClass::LdsAtomic:
    return "LDS atomic";
  case InstructionClass::LaneExchange:
    return "LDS lane exchange";
  case InstructionClass::Cache:
    return "cache";
  case InstructionClass::Barrier:
    return "barrier";
  case InstructionClass::Wait:
    return "wait";
  case InstructionClass::Other:
    return "other";
  }
  return "";
}

bool isVector(InstructionClass kind) {
  switch (kind) {
  case InstructionClass::VectorF64:
  case InstructionClass::VectorF32:
  case InstructionClass::VectorF16:
  case InstructionClass::VectorInteger:
  case InstructionClass::VectorInteger64:
  case InstructionClass::VectorConversion:
  case InstructionClass::VectorComparison:
  case InstructionClass::VectorTranscendental:
  case InstructionClass::VectorMove:
  case InstructionClass::VectorDot:
  case InstructionClass::VectorDual:
  case InstructionClass::Matrix:
  case InstructionClass::GlobalLoad:
  case InstructionClass::GlobalStore:
  case InstructionClass::GlobalAtomic:
  case InstructionClass::ScratchLoad:
  case InstructionClass::ScratchStore:
  case InstructionClass::LdsLoad:
  case InstructionClass::LdsStore:
  case InstructionClass::LdsAtomic:
  case InstructionClass::LaneExchange:
    return true;
  case InstructionClass::ScalarAlu:
  case InstructionClass::Branch:
  case InstructionClass::ScalarMemory:
  case InstructionClass::Cache:
  case InstructionClass::Barrier:
  case InstructionClass::Wait:
  case InstructionClass::Other:
    break;
  }
  return false;
}

static bool containsAny(StringRef name, std::initializer_list<StringRef> parts) {
  return any_of(parts, [&](StringRef part) { return name.contains(part); });
}

static InstructionClass classifyScalar(StringRef name, uint64_t flags) {
  if (name.starts_with("S_WAIT"))
    return InstructionClass::Wait;
  if (name.contains("BARRIER"))
    return InstructionClass::Barrier;
  if (flags & kFlagSmrd)
    return containsAny(name, {"DCACHE", "PREFETCH", "GL1_INV"}) ? InstructionClass::Cache
                                                                : InstructionClass::ScalarMemory;
  if (containsAny(name, {"BRANCH", "SETPC", "SWAPPC", "S_CALL"}))
    return InstructionClass::Branch;
  return flags & kFlagSopp ? InstructionClass::Other : InstructionClass::ScalarAlu;
}

static InstructionClass classifyLds(StringRef name) {
  if (name.starts_with("DS_GWS_"))
    return InstructionClass::Barrier;
  if (containsAny(name, {"PERMUTE", "SWIZZLE"}))
    return InstructionClass::LaneExchange;
  if (name.starts_with("DS_READ") || name.starts_with("DS_LOAD"))
    return InstructionClass::LdsLoad;
  if (name.starts_with("DS_WRITE") || name.starts_with("DS_STORE"))
    return InstructionClass::LdsStore;
  return name == "DS_NOP" ? InstructionClass::Other : InstructionClass::LdsAtomic;
}

static InstructionClass classifyMemory(StringRef name) {
  const StringRef action = name.split('_').second;
  const bool scratch = name.starts_with("SCRATCH_");
  if (action.contains("ATOMIC"))
    return InstructionClass::GlobalAtomic;
  if (action.starts_with("STORE"))
    return scratch ? InstructionClass::ScratchStore : InstructionClass::GlobalStore;
  if (action.starts_with("LOAD"))
    return scratch ? InstructionClass::ScratchLoad : InstructionClass::GlobalLoad;
  return InstructionClass::Cache;
}

/// By the type at the end of the name, that of the result.
static InstructionClass classifyVector(StringRef name) {
  if (containsAny(name, {"_MFMA_", "_SMFMAC_", "_WMMA_", "_SWMMAC_"}))
    return InstructionClass::Matrix;
  if (name.contains("_DOT"))
    return InstructionClass::VectorDot;
  if (name.contains("_CMP"))
    return InstructionClass::VectorComparison;
  if (name.contains("_CVT_"))
    return InstructionClass::VectorConversion;
  if (containsAny(name, {"_RCP_", "_RSQ_", "_SQRT_", "_EXP_", "_LOG_", "_SIN_", "_COS_", "_TANH_"}))
    return InstructionClass::VectorTranscendental;
  if (containsAny(name, {"_MOV", "_CNDMASK_", "_SWAP", "LANE", "_ACCVGPR_", "_PERMUTE"}) &&
      !name.contains("_MOVREL_LO"))
    return InstructionClass::VectorMove;
  if (name.contains("F64"))
    return InstructionClass::VectorF64;
  if (name.contains("F32"))
    return InstructionClass::VectorF32;
  if (name.contains("F16"))
    return InstructionClass::VectorF16;
  return containsAny(name, {"_U64", "_I64", "_B64"}) ? InstructionClass::VectorInteger64
                                                     : InstructionClass::VectorInteger;
}

InstructionClass classify(const Target &target, const MCInst &inst) {
  if (target.fullName(inst.getOpcode()).starts_with("V_DUAL_"))
    return InstructionClass::VectorDual;
  const StringRef name = target.name(inst.getOpcode());
  const uint64_t flags = target.description(inst.getOpcode()).TSFlags;
  if (name.starts_with("S_"))
    return classifyScalar(name, flags);
  if (flags & kFlagDs)
    return classifyLds(name);
  if (flags & (kFlagFlat | kFlagMubuf))
    return classifyMemory(name);
  if (flags & kFlagImage)
    return name.contains("_ATOMIC_")         ? InstructionClass::GlobalAtomic
           : name.starts_with("IMAGE_STORE") ? InstructionClass::GlobalStore
                                             : InstructionClass::GlobalLoad;
  return name.starts_with("V_") ? classifyVector(name) : InstructionClass::Other;
}

bool masksLanes(const Target &target, const MCInst &inst) {
  const StringRef name = target.name(inst.getOpcode());
  if (name.starts_with("V_CMPX_"))
    return true;
  if (!name.starts_with("S_AND"))
    return false;
  if (name.contains("SAVEEXEC") || name.contains("WREXEC"))
    return true;
  const unsigned defined = target.description(inst.getOpcode()).getNumDefs();
  if (defined == 0 || !inst.getOperand(0).isReg())
    return false;
  const RegisterOperand result = target.reg(inst.getOperand(0).getReg());
  return result.kind == RegisterOperand::Scalar && result.index == kExec;
}

} // namespace rubia::emulator
