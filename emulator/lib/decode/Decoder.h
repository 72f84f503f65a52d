// SPDX-License-Identifier: Apache-2.0
// One instruction to one or more operations. The families are in DecodeScalar.cpp,
// DecodeVector.cpp, DecodeMemory.cpp and DecodeImage.cpp.
#pragma once

#include "emulator/lib/machine/Program.h"
#include "llvm/MC/MCInstrDesc.h"
#include <optional>

namespace rubia::emulator {

/// Why an instruction cannot be executed; empty: it can.
using Diagnostic = std::string;

class Decoder {
public:
  Decoder(const Target &target, Program &program, unsigned waveSize)
      : target(target), program(program), waveSize(waveSize) {}

  /// Appends the operations of `inst`, which lies at `pc` in the image and `address` in memory.
  Diagnostic decode(const llvm::MCInst &inst, uint64_t pc, uint64_t address, uint64_t size);

  /// Branches to resolve once all code is decoded: operation index and target pc.
  std::vector<std::pair<uint32_t, uint64_t>> branches;

private:
  Diagnostic decodeByEncoding();
  Diagnostic decodeScalar();
  Diagnostic decodeScalarMemory();
  Diagnostic decodeVector();
  Diagnostic decodeDual();
  bool isMatrixInstruction() const;
  Diagnostic decodeMatrix();
  Diagnostic matrixSource(MicroOp &op, unsigned i, OperandName operand);
  Diagnostic emitMatrixOperation(llvm::StringRef key, MicroOp &op, const VectorDetail &detail);
  Diagnostic decodeFlat(llvm::StringRef prefix);
  Diagnostic decodeLocal();
  Diagnostic decodeBuffer();
  Diagnostic decodeImage();
  Diagnostic imageAddresses(MicroOp &op, unsigned end);

  /// One vector operation. `sources` are MCInst operand indices; `named` false: no modifiers
  /// (VOPD).
  Diagnostic makeVector(llvm::StringRef name, int result, llvm::ArrayRef<unsigned> sources,
                        bool plain, MicroOp &op);
  void noteRegisters(llvm::ArrayRef<unsigned> sources, int result, const MicroOp &op,
                     VectorDetail &detail) const;
  const struct Semantics *findRow(const std::string &key) const;
  Diagnostic readMasks(const Shape &shape, bool writesExec, int sdst,
                       llvm::SmallVectorImpl<unsigned> &sources, MicroOp &op, VectorDetail &detail);
  Diagnostic readSources(const struct Semantics &row, llvm::ArrayRef<unsigned> sources, MicroOp &op,
                         const VectorDetail &detail);
  void readModes(const struct Semantics &row, bool plain, MicroOp &op) const;
  Diagnostic readModifiers(const struct Semantics &row, llvm::ArrayRef<unsigned> sources,
                           VectorDetail &detail);
  void readResultPlace(const struct Semantics &row, bool named, bool highRegister,
                       VectorDetail &detail);
  void noteApproximation(const struct Semantics &row, VectorDetail &detail) const;
  Diagnostic readDpp(VectorDetail &detail);
  Handler chooseHandler(MicroOp &op, const VectorDetail &detail, const Semantics &row) const;

  MicroOp start() const;
  void emit(const MicroOp &op) { program.operations.push_back(op); }
  int index(OperandName name) const { return target.operand(*inst, name); }
  const llvm::MCOperand &at(unsigned i) const { return inst->getOperand(i); }
  int64_t immediate(OperandName name, int64_t fallback = 0) const;
  uint64_t flags() const;
  /// Sets source `i` of a scalar operation.
  Diagnostic scalarSource(MicroOp &op, unsigned i, unsigned operand);
  Diagnostic scalarResult(MicroOp &op, unsigned operand);
  /// Sets source `i` to a vector register operand, counting its use.
  Diagnostic vectorRegister(unsigned operand, uint32_t &offset);
  /// Source `i` from a vector register operand, if the instruction has it.
  Diagnostic vectorSource(MicroOp &op, unsigned i, OperandName operand);
  RegisterOperand registerAt(unsigned operand) const;
  uint16_t maskIndex(unsigned operand) const;

  const Target &target;
  Program &program;
  unsigned waveSize;
  llvm::MCInst plain;
  const llvm::MCInst *inst = nullptr;
  llvm::StringRef name;
  uint64_t pc = 0, address = 0, size = 0;
};

/// LLVM's SIInstrFlags, the bits of MCInstrDesc::TSFlags.
enum InstructionFlags : uint64_t {
  kFlagSalu = 1ull << 0,
  kFlagValu = 1ull << 1,
  kFlagSopp = 1ull << 6,
  kFlagVop3 = 1ull << 10,
  kFlagVop3p = 1ull << 12,
  kFlagSdwa = 1ull << 14,
  kFlagDpp = 1ull << 15,
  kFlagMubuf = 1ull << 17,
  kFlagSmrd = 1ull << 19,
  kFlagImage = 7ull << 20, // MIMG, VIMAGE, VSAMPLE
  kFlagFlat = 1ull << 24,
  kFlagDs = 1ull << 25,
  kFlagFpDpRounding = 1ull << 52,
};

} // namespace rubia::emulator
