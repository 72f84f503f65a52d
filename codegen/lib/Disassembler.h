// LLVM's machine-code layer for one processor: bytes -> MCInst -> text, and what the checker asks
// about an opcode.
#ifndef RUBIA_CODEGEN_LIB_DISASSEMBLER_H
#define RUBIA_CODEGEN_LIB_DISASSEMBLER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <string>

namespace llvm {
class MCInst;
}

namespace rubia::codegen {

class Disassembler {
public:
  static llvm::Expected<std::unique_ptr<Disassembler>> create(llvm::StringRef processor);
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
};

} // namespace rubia::codegen

#endif
