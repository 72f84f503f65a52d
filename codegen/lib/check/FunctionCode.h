// SPDX-License-Identifier: Apache-2.0
// The machine code of a linked code object, function by function.
#pragma once

#include "codegen/lib/Disassembler.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/MC/MCInst.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rubia::codegen {

struct FunctionCode {
  std::string name;
  uint64_t address = 0; ///< virtual address in the code object
  llvm::ArrayRef<uint8_t> bytes;
  std::optional<uint32_t>
      computePgmRsrc1; ///< of the kernel descriptor; a function that is no kernel has none
};

struct ProgramCode {
  std::string processor;
  bool isWave64 = false; ///< of the kernels; RDNA has both
  std::vector<FunctionCode>
      functions; ///< by address; code without a symbol is a function of its own
};

/// The bytes stay those of the code object.
llvm::Expected<ProgramCode> readProgramCode(llvm::ArrayRef<uint8_t> codeObject);

struct DecodedInstruction {
  uint64_t address;
  uint32_t size; ///< 0: there is none, and the next one is sought 4 bytes behind
  llvm::MCInst inst;
};

/// A program with what LLVM's disassembler makes of it. The checks share it: decoding takes longer
/// than they do.
struct DecodedProgram {
  ProgramCode code;
  std::shared_ptr<const Disassembler> disassembler;
  std::vector<std::vector<DecodedInstruction>> instructions; ///< of each function
};

/// Kept for the thread's next program: to make one takes as long as to decode 1,000 instructions.
llvm::Expected<std::shared_ptr<const Disassembler>> disassemblerFor(const std::string &processor,
                                                                    bool isWave64);

llvm::Expected<DecodedProgram> decodeProgram(llvm::ArrayRef<uint8_t> codeObject);

// The checks of codegen/ModeChecker.h, ExecChecker.h and WholeWaveChecker.h.
llvm::Error checkMode(const DecodedProgram &program);
llvm::Error checkExec(const DecodedProgram &program);
llvm::Error checkWholeWaves(const DecodedProgram &program);

} // namespace rubia::codegen
