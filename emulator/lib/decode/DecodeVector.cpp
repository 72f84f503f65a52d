// SPDX-License-Identifier: Apache-2.0
// Vector ALU: all encodings (VOP1, VOP2, VOP3, VOPC, VOP3P, DPP, VOPD) come down to a row of the
// tables, its operands and, where needed, a VectorDetail.
#include "emulator/lib/decode/Decoder.h"
#include "emulator/lib/decode/Instructions.h"
#include "emulator/lib/machine/Half.h"
#include "emulator/lib/machine/Semantics.h"
#include "emulator/lib/machine/WaveFunctions.h"
#include "emulator/lib/vector/VectorPath.h"

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact observedDivScale, productsFlush16;
} // namespace rubia::targets::Fact

namespace rubia::emulator {

const VectorPath &vectorPath() {
#if defined(__x86_64__) && !defined(RUBIA_ONE_VECTOR_TABLE)
  switch (hostIsa()) {
  case HostIsa::Avx512:
    return avx512::kVectorPath;
  case HostIsa::Avx2:
    return avx2::kVectorPath;
  case HostIsa::Baseline:
    break;
  }
#endif
  return baseline::kVectorPath;
}

static uint8_t flushClass(Element e) {
  if (e == Element::F32 || e == Element::PackedF32)
    return kFlush32;
  if (e == Element::F64 || e == Element::F16 || e == Element::PackedF16)
    return kFlush16And64;
  return 0;
}

Diagnostic Decoder::vectorRegister(unsigned operand, uint32_t &offset) {
  if (!at(operand).isReg())
    return "expected a vector register";
  RegisterOperand reg = registerAt(operand);
  if (reg.kind != RegisterOperand::Vector)
    return "expected a vector register";
  offset = vectorOffset(reg.index);
  program.vgprCount =
      std::max(program.vgprCount, reg.index + target.registerDwords(at(operand).getReg()));
  return {};
}

/// FMA_MIX: LLVM gives an inline constant as an f16 pattern whatever the source is taken as.
static uint64_t mixedConstant(uint64_t value, bool asHalf) {
  static constexpr uint16_t kInline[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                         0xc000, 0x4400, 0xc400, 0x3118};
  if (asHalf || !is_contained(kInline, value))
    return value;
  return std::bit_cast<uint32_t>(float(RUBIA_ISA::Half::fromBits(uint16_t(value))));
}

static Handler fusedHandler(const FusedHandlers &handlers, const MicroOp &op, unsigned sources,
                            bool modified) {
  unsigned uniform = 0;
  for (unsigned i = 0; i < sources; ++i) {
    const bool isPlain = op.kind[i] == OperandKind::Scalar || op.kind[i] == OperandKind::Constant;
    modified |= op.kind[i] != OperandKind::Vector && !isPlain;
    uniform |= unsigned(isPlain) << i;
  }
  return modified ? handlers.any : handlers.byUniform[uniform];
}

/// Whether the handler for all modifiers takes SDWA's part of a source.
static bool selectsInHandler(Element element, unsigned width) {
  return element == Element::B32 || element == Element::B16 || (isHalf(element) && width == 16);
}

/// The cheapest handler that does all that an operation asks for.
Handler Decoder::chooseHandler(MicroOp &op, const VectorDetail &detail,
                               const Semantics &row) const {
  const Operation &operation = row.operation;
  const Shape &shape = detail.shape;
  const VectorPath &path = vectorPath();
  const bool placed = operation.fused && detail.resultUnused != VectorDetail::Unused::Sign &&
                      (isHalf(shape.result) || (shape.result == Element::B32 && !shape.carryOut));
  if (detail.clamp || detail.omod || detail.signs || detail.immediate ||
      detail.dpp != VectorDetail::Dpp::None || (detail.resultWidth != 32 && !placed) ||
      detail.writesExecToo || detail.perturbed != Exactness::Exact || shape.resultRegisters > 4 ||
      detail.flags & kMixedSources)
    return path.general;
  unsigned kind = 0;
  bool onlyParts = detail.resultWidth == 32 || (isHalf(shape.result) && detail.resultWidth == 16);
  for (unsigned i = 0; i < shape.sourceCount; ++i) {
    const VectorDetail::Source &source = detail.sources[i];
    const bool isSigned = source.negate || source.absolute || source.signExtend;
    const bool isByte = source.width == 8 && shape.sources[i] != Element::B32;
    const bool isInPlace = op.kind[i] == OperandKind::Vector || op.kind[i] == OperandKind::Constant;
    onlyParts &= isInPlace && !isSigned && !isByte;
    if (shape.sourceRegisters[i] > 4)
      return path.general;
    op.data |= uint8_t((std::max<unsigned>(shape.sourceRegisters[i], 1) - 1) & 3) << (2 * i);
    if (source.fix) {
      const Element element = shape.sources[i];
      if (!operation.fused && element != Element::F32 && element != Element::B32)
        return path.general;
      if (source.width != 32 && !(operation.fused && selectsInHandler(element, source.width)))
        return path.general;
      if (element == Element::B32 && source.width != 32 && (source.negate || source.absolute))
        return path.general;
      if (!isPackedSingle(element)) // whose handlers all choose and negate
        kind = 2;
    } else if (op.kind[i] != OperandKind::Vector && op.kind[i] != OperandKind::Constant) {
      kind = std::max(kind, 1u);
    }
  }
  op.data |= onlyParts ? kOnlyParts : 0;
  if (onlyParts && row.name == StringRef("V_MOV_B16") &&
      detail.resultUnused == VectorDetail::Unused::Keep)
    return path.moveHalf[detail.resultShift != 0][detail.sources[0].selectHigh]
        .byBlocks[waveSize == 64];
  if (operation.fused)
    return fusedHandler(*operation.fused, op, shape.sourceCount,
                        kind == 2 || detail.resultWidth != 32);
  return path.simple[kind][shape.carryIn || shape.carryOut].byBlocks[waveSize == 64];
}

/// The row of an instruction, or that of its variant on this processor.
const Semantics *Decoder::findRow(const std::string &key) const {
  const Semantics *row = nullptr;
  if (target.row().float8 == targets::Float8::Fnuz)
    row = findVectorAlu(key + "_FNUZ");
  else if (targets::Fact::productsFlush16(target.row()))
    row = findVectorAlu(key + "_MI200");
  else if (targets::Fact::observedDivScale(target.row()))
    row = findVectorAlu(key + "_RDNA3");
  return row ? row : findVectorAlu(key);
}

/// The mask operands: an explicit one is the last source, an explicit result is sdst; else VCC.
Diagnostic Decoder::readMasks(const Shape &shape, bool writesExec, int sdst,
                              SmallVectorImpl<unsigned> &sources, MicroOp &op,
                              VectorDetail &detail) {
  if (shape.carryIn && sources.size() == shape.sourceCount + 1u) {
    if (!at(sources.back()).isReg())
      return "unsupported mask operand";
    op.maskSource = maskIndex(sources.back());
    if (op.maskSource == kSink)
      return "unsupported mask operand";
    sources.pop_back();
  }
  if (shape.carryOut) {
    // gfx9's V_CMPX_* write a mask beside EXEC.
    const bool execOnly = writesExec && target.row().isa >= 10;
    op.maskResult = execOnly    ? uint16_t(kExec)
                    : sdst >= 0 ? maskIndex(unsigned(sdst))
                                : uint16_t(kVcc);
    detail.writesExecToo = writesExec && !execOnly;
  }
  return {};
}

Diagnostic Decoder::readSources(const Semantics &row, ArrayRef<unsigned> sources, MicroOp &op,
                                const VectorDetail &detail) {
  if (sources.size() > 4)
    return "too many sources";
  for (unsigned i = 0; i < sources.size(); ++i) {
    const MCOperand &mc = at(sources[i]);
    if (mc.isReg() && registerAt(sources[i]).kind == RegisterOperand::Vector) {
      uint32_t offset;
      if (Diagnostic diagnostic = vectorRegister(sources[i], offset); !diagnostic.empty())
        return diagnostic;
      op.kind[i] = OperandKind::Vector;
      op.source[i] = offset;
      continue;
    }
    if (Diagnostic diagnostic = scalarSource(op, i, sources[i]); !diagnostic.empty())
      return diagnostic;
    if (op.kind[i] == OperandKind::Constant) {
      uint64_t value = op.source[i];
      if (row.flags & kMixedSources)
        value = mixedConstant(value, detail.sources[i].half);
      unsigned registers = row.operation.function ? 4 : row.operation.shape.sourceRegisters[i];
      if (registers > 4)
        return "a constant for more than four registers";
      op.source[i] = reinterpret_cast<uint64_t>(program.constants.get(value, registers));
    }
  }
  return {};
}

/// What of MODE matters to an operation.
void Decoder::readModes(const Semantics &row, bool plain, MicroOp &op) const {
  const Shape &shape = row.operation.shape;
  bool floats = isFloat(shape.result);
  if (!(row.flags & kKeepResultDenormals))
    op.special |= flushClass(shape.result);
  for (unsigned i = 0; i < shape.sourceCount; ++i) {
    floats |= isFloat(shape.sources[i]);
    if (!(row.flags & kKeepSourceDenormals))
      op.special |= flushClass(shape.sources[i]);
  }
  if (row.flags & kMixedSources)
    op.special |= kFlush16And64;
  if (target.row().isa < 10)
    op.special |= kGprIndex;
  if ((shape.result == Element::F16 || shape.result == Element::PackedF16) &&
      !(row.flags & kExactInfinity))
    op.special |= kFp16Overflow;
  if (floats && shape.result != Element::Mask && !(row.flags & kRoundNearest)) {
    bool wide = plain ? false : flags() & kFlagFpDpRounding;
    op.round = wide ? 2 : 1;
    op.special |= wide ? kRound16And64 : kRound32;
  }
}

/// What MODE.gpr_idx_en has to know of the operands.
void Decoder::noteRegisters(ArrayRef<unsigned> sources, int result, const MicroOp &op,
                            VectorDetail &detail) const {
  if (target.row().isa >= 10)
    return;
  auto count = [&](unsigned operand, unsigned least) {
    return uint8_t(std::max(target.registerDwords(at(operand).getReg()), least));
  };
  for (unsigned i = 0; i < sources.size() && i < 4; ++i) {
    if (op.kind[i] == OperandKind::Vector)
      detail.registers[i] = count(sources[i], detail.shape.sourceRegisters[i]);
    if (int(sources[i]) == result)
      detail.tiedSource = uint8_t(i);
  }
  if (result >= 0 && registerAt(unsigned(result)).kind == RegisterOperand::Vector)
    detail.registers[4] = count(unsigned(result), detail.shape.resultRegisters);
}

/// Instructions that look across lanes and have a scalar result.
static bool writesScalar(StringRef key) {
  return key == "V_READLANE_B32" || key == "V_READFIRSTLANE_B32";
}

Diagnostic Decoder::makeVector(StringRef rowName, int result, ArrayRef<unsigned> operands,
                               bool plain, MicroOp &op) {
  std::string key = rowName.str();
  const bool writesExec = rowName.starts_with("V_CMPX_");
  if (writesExec)
    key = "V_CMP_" + rowName.substr(7).str();
  const Semantics *row = findRow(key);
  if (!row)
    return "no semantics for " + key;
  const Shape &shape = row->operation.shape;
  SmallVector<unsigned, 4> sources(operands.begin(), operands.end());

  VectorDetail detail;
  detail.shape = shape;
  detail.flags = row->flags;
  op.maskSource = kVcc;
  op.maskResult = kSink;
  if (!row->operation.function) {
    const int sdst = plain ? -1 : index(OperandName::sdst);
    if (Diagnostic diagnostic = readMasks(shape, writesExec, sdst, sources, op, detail);
        !diagnostic.empty())
      return diagnostic;
    // The destination's old contents, for instructions that write a part of it.
    if (sources.size() == shape.sourceCount + 1u && int(sources.back()) == result)
      sources.pop_back();
    if (sources.size() != shape.sourceCount)
      return "row " + key + " has " + std::to_string(shape.sourceCount) +
             " sources, the instruction " + std::to_string(sources.size());
  }
  detail.sourceCount = uint8_t(sources.size());
  // VOPD has no op_sel: packed operands are taken whole.
  for (VectorDetail::Source &source : detail.sources)
    source.selectHighForHigh = true;
  if (!plain) {
    if (Diagnostic diagnostic = readModifiers(*row, sources, detail); !diagnostic.empty())
      return diagnostic;
    if (Diagnostic diagnostic = readDpp(detail); !diagnostic.empty())
      return diagnostic;
  }
  if (Diagnostic diagnostic = readSources(*row, sources, op, detail); !diagnostic.empty())
    return diagnostic;

  bool highResult = false, scalarDestination = false;
  if (result >= 0) {
    RegisterOperand reg = registerAt(unsigned(result));
    if (reg.kind == RegisterOperand::Vector && !writesScalar(key)) {
      if (Diagnostic diagnostic = vectorRegister(unsigned(result), op.result); !diagnostic.empty())
        return diagnostic;
      highResult = reg.highHalf;
    } else if (row->operation.function && writesScalar(key)) {
      if (Diagnostic diagnostic = scalarResult(op, unsigned(result)); !diagnostic.empty())
        return diagnostic;
    } else if (rowName.starts_with("V_S_")) {
      scalarDestination = true;
      op.maskResult = maskIndex(unsigned(result));
      op.result = kTemporaryRegister;
    } else {
      return "unsupported destination";
    }
  }
  noteRegisters(sources, result, op, detail);
  readResultPlace(*row, !plain, highResult, detail);
  if (scalarDestination)
    detail.resultUnused = VectorDetail::Unused::Zero;

  if (row->operation.function) {
    if (detail.dpp != VectorDetail::Dpp::None)
      return "DPP on " + key;
    detail.boundControl = immediate(OperandName::bound_ctrl) & 1;
    detail.fetchInactive = immediate(OperandName::fi) & 1;
    op.function = row->operation.function;
    if (target.row().isa < 10)
      op.special |= kGprIndex;
    const Handler fast = findFast(rowName);
    op.handler = fast ? fast : callWaveFunction;
  } else {
    op.kernel = row->operation.kernel;
    op.registers = shape.resultRegisters;
    readModes(*row, plain, op);
    noteApproximation(*row, detail);
    op.handler = scalarDestination ? vectorPath().pseudoScalar : chooseHandler(op, detail, *row);
  }
  program.details.push_back(detail);
  op.detail = &program.details.back();
  return {};
}

Diagnostic Decoder::decodeVector() {
  if (name == "V_NOP")
    return {};
  static constexpr OperandName kSources[] = {OperandName::src0, OperandName::src1,
                                             OperandName::src2, OperandName::imm};
  SmallVector<unsigned, 4> sources;
  for (OperandName source : kSources)
    if (int i = index(source); i >= 0)
      sources.push_back(unsigned(i));
  llvm::sort(sources);         // V_FMAMK has its constant in the middle
  if (name == "V_PK_FMAC_F16") // the addend, which LLVM does not model
    sources.push_back(unsigned(index(OperandName::vdst)));
  // Both sources are tied to destinations; one of them will do. It is written, too.
  if (name.starts_with("V_SWAP") || name.ends_with("_SWAP_B32")) {
    sources.resize(1);
    if (registerAt(sources[0]).kind != RegisterOperand::Vector)
      return "a swap with what is no vector register";
  }
  MicroOp op = start();
  int result = index(OperandName::vdst);
  // LLVM 22's disassembler gives a source that is tied to the destination without its half:
  // `v_fmac_f16_e64 v0.h, v1.l, v2.l` has v0.l there.
  const MCInstrDesc &description = target.description(inst->getOpcode());
  for (unsigned &source : sources)
    if (result >= 0 && description.getOperandConstraint(source, MCOI::TIED_TO) == result)
      source = unsigned(result);
  if (Diagnostic diagnostic = makeVector(name, result, sources, false, op); !diagnostic.empty())
    return diagnostic;
  emit(op);
  return {};
}

/// VOPD: both halves read their sources before either writes.
Diagnostic Decoder::decodeDual() {
  auto [nameX, nameY] = target.dualNames(inst->getOpcode());
  int sourceX = index(OperandName::src0X), sourceY = index(OperandName::src0Y);
  int resultX = index(OperandName::vdstX), resultY = index(OperandName::vdstY);
  if (sourceX < 0 || sourceY < 0 || resultX < 0 || resultY < 0)
    return "unexpected operands";
  SmallVector<unsigned, 4> sourcesX, sourcesY;
  for (int i = sourceX; i < sourceY; ++i)
    sourcesX.push_back(unsigned(i));
  for (unsigned i = unsigned(sourceY); i < inst->getNumOperands(); ++i)
    sourcesY.push_back(i);
  // LLVM 22's disassembler gives the tied source of a Y half without the bit that vdstY takes from
  // vdstX: `v_dual_sub_f32 v24, v25, v0 :: v_dual_fmac_f32 v29, v18, v17` has v28 there.
  auto tie = [](StringRef half, int resultOperand, SmallVectorImpl<unsigned> &sources) {
    if (half.starts_with("V_FMAC_") || half.starts_with("V_DOT2C_"))
      sources.back() = unsigned(resultOperand);
  };
  tie(nameX, resultX, sourcesX);
  tie(nameY, resultY, sourcesY);
  MicroOp x = start(), y = start();
  if (Diagnostic diagnostic = makeVector(nameX, resultX, sourcesX, true, x); !diagnostic.empty())
    return diagnostic;
  if (Diagnostic diagnostic = makeVector(nameY, resultY, sourcesY, true, y); !diagnostic.empty())
    return diagnostic;
  auto reads = [](const MicroOp &op, uint32_t offset) {
    for (unsigned i = 0; i < 4; ++i)
      if (op.kind[i] == OperandKind::Vector && op.source[i] == offset)
        return true;
    return false;
  };
  if (!reads(y, x.result)) {
    emit(x);
    emit(y);
  } else if (!reads(x, y.result)) {
    emit(y);
    emit(x);
  } else { // they exchange registers: X goes through a register of our own
    MicroOp move = start();
    const Semantics *row = findVectorAlu("V_MOV_B32");
    VectorDetail detail;
    detail.shape = row->operation.shape;
    program.details.push_back(detail);
    move.detail = &program.details.back();
    move.kernel = row->operation.kernel;
    move.registers = 1;
    move.kind[0] = OperandKind::Vector;
    move.source[0] = kTemporaryRegister;
    move.result = x.result;
    move.handler = chooseHandler(move, detail, *row);
    x.result = kTemporaryRegister;
    emit(x);
    emit(y);
    emit(move);
  }
  return {};
}

} // namespace rubia::emulator
