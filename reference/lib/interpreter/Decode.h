// SPDX-License-Identifier: Apache-2.0
// Decoding one instruction: what the families of instructions have at hand.
#pragma once

#include "reference/lib/interpreter/Code.h"
#include <unordered_map>

namespace rubia::reference::interpreter {

class Decoder {
public:
  Decoder(const ptx::Module &module, KernelCode &code, FunctionCode &function,
          const GlobalAddresses &globals)
      : module(module), code(code), function(function), globals(globals) {}

  /// Appends an instruction; one that is not supported becomes one that fails.
  void decode(const ptx::Instruction &inst);
  /// Appends a jump to an instruction of the body.
  void jumpTo(uint32_t instruction);
  /// Appends the return at the function's end.
  void returnAtEnd();
  /// Labels and jumps become indices: where each instruction of the body stands.
  void resolve(llvm::ArrayRef<uint32_t> pcs);

  // ---------- For families

  const ptx::Instruction &inst() const { return *instruction; }
  const ptx::Spelling &spelling() const { return *instruction->spelling; }
  /// Appends the rows of an operand as sources; `type` is what constants are converted to. An
  /// address has an offset.
  void source(const ptx::Operand &operand, ptx::Type type);
  void source(uint64_t constant);
  /// Appends the rows of an operand as destinations; `_` has `sinks` rows.
  void destination(const ptx::Operand &operand, unsigned sinks = 1);
  /// The instruction is done by this.
  void execute(Execute function, Flow flow = Flow::Straight) {
    micro.execute = function;
    micro.flow = flow;
  }
  void unsupported(const llvm::Twine &reason);
  Micro micro;
  llvm::SmallVector<Source, 8> sources;
  llvm::SmallVector<Destination, 8> destinations;

  /// Where a variable lies: a constant, or an offset in the frame's memory.
  Source addressOf(const ptx::Variable &variable, int64_t offset);
  uint32_t constantRow(uint64_t value);
  Source registerSource(const ptx::Operand &operand);
  Destination registerDestination(ptx::RegisterId reg, unsigned component = 0);
  unsigned bitsOf(ptx::RegisterId reg) const;

  const ptx::Module &module;
  KernelCode &code;
  FunctionCode &function;
  const GlobalAddresses &globals;

private:
  void finish();
  struct Jump {
    uint32_t pc, instruction;
  };
  const ptx::Instruction *instruction = nullptr;
  std::string reason; // why it is not supported
  std::vector<Jump> jumps;
  std::unordered_map<uint64_t, uint32_t> constantRows;
  llvm::SmallVector<uint32_t> labelTargets;
};

/// Decodes the instruction that the decoder is at: operands, and what executes it.
using DecodeFunction = void (*)(Decoder &);

/// One row for each operation that is no scalar arithmetic.
struct Family {
  const ptx::Operation &op;
  DecodeFunction decode;
};
llvm::ArrayRef<Family> controlFlow();  // ControlFlow.cpp
llvm::ArrayRef<Family> moves();        // Moves.cpp
llvm::ArrayRef<Family> memoryAccess(); // MemoryAccess.cpp
llvm::ArrayRef<Family> atomics();      // Atomics.cpp
llvm::ArrayRef<Family> warps();        // WarpInstructions.cpp
llvm::ArrayRef<Family> barriers();     // Barriers.cpp
llvm::ArrayRef<Family> mbarriers();    // Mbarriers.cpp
llvm::ArrayRef<Family> asyncCopies();  // AsyncCopies.cpp
llvm::ArrayRef<Family> matrices();     // Matrix.cpp
llvm::ArrayRef<Family> warpgroups();   // Wgmma.cpp
llvm::ArrayRef<Family> tensorCopies(); // TensorCopies.cpp
llvm::ArrayRef<Family> textures();     // Textures.cpp
llvm::ArrayRef<Family> surfaces();     // Surfaces.cpp

/// What is pure arithmetic on scalars. Scalar.cpp
void decodeScalar(Decoder &decoder);
/// What computes an instruction for all lanes at once, in the host's arithmetic; null if there is
/// nothing. FastScalar.cpp
Execute fastScalar(llvm::StringRef mnemonic);
/// A call of a function that CUDA's driver defines; false: it is none. SystemCalls.cpp
bool decodeSystemCall(Decoder &decoder, llvm::StringRef name, const ptx::Operand *results,
                      const ptx::Operand *arguments);

/// The word that the reference evaluator knows the instruction by.
std::string mnemonicOf(const ptx::Instruction &inst);

} // namespace rubia::reference::interpreter
