// SPDX-License-Identifier: Apache-2.0
// MFMA, SMFMAC, WMMA and SWMMAC: operands that are wide groups of registers, and control fields
// that no other vector instruction has.
//
// A scaled MFMA is two operations: V_MFMA_LD_SCALE_B32 gathers the scales of A and B into the
// decoder's own register, from which the product reads them as a fourth source.
#include "emulator/lib/decode/Decoder.h"
#include "emulator/lib/decode/Instructions.h"
#include "emulator/lib/machine/MatrixUnit.h"
#include "emulator/lib/machine/Semantics.h"
#include "emulator/lib/machine/WaveFunctions.h"

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact productsFlush16;
} // namespace rubia::targets::Fact

namespace rubia::emulator {

/// Without what LLVM's names say of register classes: _vgprcd is a destination in VGPRs, f8_f6 are
/// the widths that CBSZ and BLGP choose.
static StringRef rowName(StringRef name) {
  while (name.consume_back("_vgprcd") || name.consume_back("_mac"))
    ;
  constexpr StringLiteral kSelected = "_F8F6F4";
  const size_t at = name.find(kSelected);
  return at == StringRef::npos ? name : name.take_front(at + kSelected.size());
}

bool Decoder::isMatrixInstruction() const {
  return name.starts_with("V_MFMA_") || name.starts_with("V_SMFMAC_") ||
         name.starts_with("V_WMMA_") || name.starts_with("V_SWMMAC_");
}

/// A source of a function on the wave's operands: a register or group of registers, or the same
/// value in all lanes.
Diagnostic Decoder::matrixSource(MicroOp &op, unsigned i, OperandName operand) {
  const int at = index(operand);
  if (at < 0)
    return "unexpected operands";
  if (this->at(unsigned(at)).isReg() && registerAt(unsigned(at)).kind == RegisterOperand::Vector) {
    uint32_t offset;
    if (Diagnostic diagnostic = vectorRegister(unsigned(at), offset); !diagnostic.empty())
      return diagnostic;
    op.kind[i] = OperandKind::Vector;
    op.source[i] = offset;
    return {};
  }
  if (Diagnostic diagnostic = scalarSource(op, i, unsigned(at)); !diagnostic.empty())
    return diagnostic;
  if (op.kind[i] == OperandKind::Constant)
    op.source[i] = reinterpret_cast<uint64_t>(program.constants.get(op.source[i], 2));
  return {};
}

Diagnostic Decoder::emitMatrixOperation(StringRef key, MicroOp &op, const VectorDetail &detail) {
  const Semantics *row = findVectorAlu(key);
  if (!row || !row->operation.function)
    return "no semantics for " + key.str();
  program.details.push_back(detail);
  noteApproximation(*row, program.details.back());
  op.detail = &program.details.back();
  op.function = row->operation.function;
  op.immediate = int32_t(target.row().productSum);
  if (target.row().isa < 10)
    op.special |= kGprIndex;
  op.handler = callWaveFunction;
  emit(op);
  return {};
}

Diagnostic Decoder::decodeMatrix() {
  const StringRef key = rowName(name);
  const bool selectsFormats = key.ends_with("_F8F6F4"), isScaled = key.starts_with("V_MFMA_SCALE_");
  VectorDetail detail;
  detail.sourceCount = 3;
  detail.clamp = immediate(OperandName::clamp) & 1;
  MatrixControl &control = detail.matrix;
  control.cbsz = uint8_t(immediate(OperandName::cbsz));
  control.abid = uint8_t(immediate(OperandName::abid));
  control.blgp = uint8_t(immediate(OperandName::blgp));
  for (OperandName indexKey : {OperandName::index_key_16bit, OperandName::index_key_8bit})
    control.indexKey |= uint8_t(immediate(indexKey));
  control.packedHalves = target.row().matrix == targets::Matrix::WmmaPacked;
  control.fnuz = target.row().float8 == targets::Float8::Fnuz;
  control.flush16 = targets::Fact::productsFlush16(target.row());
  if (selectsFormats && (control.cbsz > 4 || control.blgp > 4))
    return "matrix format " + std::to_string(std::max(control.cbsz, control.blgp)) +
           " is not defined";
  const Semantics *row = findVectorAlu(key);
  if (row && key.starts_with("V_MFMA_") && !selectsFormats) {
    if (1u << control.cbsz > row->operation.blocks)
      return "cbsz " + std::to_string(control.cbsz) + " of an instruction that broadcasts to " +
             std::to_string(row->operation.blocks) + " blocks";
    if (control.cbsz == 0) // without a broadcast it is not used
      control.abid = 0;
    if (control.abid >= 1u << control.cbsz)
      return "abid " + std::to_string(control.abid) + " needs a larger cbsz";
  }

  const int result = index(OperandName::vdst);
  if (result < 0)
    return "unexpected operands";
  MicroOp op = start();
  // V_SMFMAC_*'s src2 is the destination again.
  const OperandName third = index(OperandName::idx) >= 0 ? OperandName::idx : OperandName::src2;
  const OperandName sources[] = {OperandName::src0, OperandName::src1, third};
  static constexpr OperandName kModifiers[] = {
      OperandName::src0_modifiers, OperandName::src1_modifiers, OperandName::src2_modifiers};
  for (unsigned i = 0; i < 3; ++i) {
    if (Diagnostic diagnostic = matrixSource(op, i, sources[i]); !diagnostic.empty())
      return diagnostic;
    if (i < 2 && op.kind[i] != OperandKind::Vector)
      return "expected a vector register";
    if (isScaled) // the modifiers are those of the scales
      continue;
    constexpr uint32_t kNegHigh = 2, kOpSel = 4;
    detail.modifiers[i] = uint32_t(immediate(kModifiers[i]));
    if (i < 2 && detail.modifiers[i] & kOpSel)
      return "op_sel of a matrix that is multiplied";
    if (key.contains("_I32_"))
      detail.modifiers[i] &= ~kNegHigh;
  }
  if (Diagnostic diagnostic = vectorRegister(unsigned(result), op.result); !diagnostic.empty())
    return diagnostic;
  SmallVector<unsigned, 3> operands;
  for (OperandName source : sources)
    operands.push_back(unsigned(index(source)));
  noteRegisters(operands, result, op, detail);
  detail.tiedSource = VectorDetail::kNone; // src2 has a field of its own

  if (isScaled) {
    MicroOp load = start();
    VectorDetail loadDetail;
    loadDetail.sourceCount = 2;
    static constexpr OperandName kScales[] = {OperandName::scale_src0, OperandName::scale_src1};
    for (unsigned i = 0; i < 2; ++i) {
      if (Diagnostic diagnostic = matrixSource(load, i, kScales[i]); !diagnostic.empty())
        return diagnostic;
      loadDetail.registers[i] = load.kind[i] == OperandKind::Vector;
      loadDetail.modifiers[i] = uint32_t(immediate(kModifiers[i]));
    }
    load.result = kTemporaryRegister;
    if (Diagnostic diagnostic = emitMatrixOperation("V_MFMA_LD_SCALE_B32", load, loadDetail);
        !diagnostic.empty())
      return diagnostic;
    op.kind[3] = OperandKind::Vector;
    op.source[3] = kTemporaryRegister;
    detail.sourceCount = 4;
  }
  return emitMatrixOperation(key, op, detail);
}

} // namespace rubia::emulator
