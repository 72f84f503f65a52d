// SPDX-License-Identifier: Apache-2.0
// LLVM's machine-code layer for one processor: bytes -> MCInst -> text, and what the checker asks
// about an opcode.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <string>

namespace llvm {
class MCInst;
class MCInstrDesc;
class MCRegister;
} // namespace llvm

namespace rubia::codegen {

/// Registers of 32 bits that an operand consists of. Scalar ones have the numbers that operands
/// have in the encoding (RDNA3 ISA document, "Scalar Operands").
struct RegisterRange {
  enum File : uint8_t { Other, Scalar, Vector, Accumulation };
  File file = Other;
  uint16_t first = 0, count = 0;

  bool operator==(const RegisterRange &) const = default;
  bool overlaps(File other, unsigned from, unsigned size) const {
    return file == other && first < from + size && from < unsigned(first) + count;
  }
};
constexpr unsigned kVcc = 106, kM0 = 124, kExec = 126, kFlatScratch = 128, kScalarRegisters = 130;

class Disassembler {
public:
  static llvm::Expected<std::unique_ptr<Disassembler>> create(llvm::StringRef processor,
                                                              bool isWave64);
  virtual ~Disassembler() = default;

  /// The size of the instruction in bytes, 0 if there is none at the start of `bytes`.
  virtual uint64_t decode(llvm::ArrayRef<uint8_t> bytes, uint64_t address,
                          llvm::MCInst &inst) const = 0;
  /// Assembly on one line, operands separated by one space.
  virtual std::string print(const llvm::MCInst &inst, uint64_t address) const = 0;
  /// LLVM's name of the opcode, "V_ADD_F32_e32_gfx11".
  virtual llvm::StringRef name(unsigned opcode) const = 0;
  virtual bool isVectorAlu(unsigned opcode) const = 0;
  /// True if the result depends on the MODE register, or the instruction writes it.
  virtual bool usesMode(unsigned opcode) const = 0;
  virtual const llvm::MCInstrDesc &description(unsigned opcode) const = 0;
  virtual RegisterRange range(llvm::MCRegister reg) const = 0;

  /// All registers that an instruction writes, implicit ones included.
  void forEachWritten(const llvm::MCInst &inst,
                      llvm::function_ref<void(RegisterRange)> action) const;
  /// All that it reads. `isTied`: the operand is the result's register too.
  void forEachRead(const llvm::MCInst &inst,
                   llvm::function_ref<void(RegisterRange, bool isTied)> action) const;

protected:
  bool isWave32 = false;
};

} // namespace rubia::codegen
