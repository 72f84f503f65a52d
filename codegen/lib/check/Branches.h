// SPDX-License-Identifier: Apache-2.0
// Where the control flow of a function goes on after an instruction.
#pragma once

#include "codegen/lib/Disassembler.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace rubia::codegen {

struct Flow {
  enum class Kind {
    Next,   ///< only to the next instruction
    Branch, ///< to the target
    Either, ///< to the target or to the next instruction
    Call,   ///< into a function, and then to the next instruction
    Leave   ///< out of the function: a return, a tail call, the end of the program
  };
  Kind kind = Kind::Next;
  uint64_t target = 0; ///< of Branch and Either; of Call too, 0 if it is not known

  bool endsBlock() const { return kind != Kind::Next; }
  bool hasTarget() const { return kind == Kind::Branch || kind == Kind::Either; }
  bool fallsThrough() const { return kind != Kind::Branch && kind != Kind::Leave; }
};

/// Follows the instructions of one function in their order, because a far branch is several of
/// them: s_getpc_b64, an addition of a constant to the same registers, s_setpc_b64 of these.
class Branches {
public:
  Branches(const Disassembler &disassembler, uint64_t begin, uint64_t end)
      : disassembler(disassembler), begin(begin), end(end) {}

  /// `bytes` begin with the instruction, which is at `address`.
  Flow flowOf(const llvm::MCInst &inst, uint64_t address, uint64_t size,
              llvm::ArrayRef<uint8_t> bytes);

private:
  /// A pair of scalar registers that holds an address made from the program counter.
  struct CodeAddress {
    unsigned lowRegister;
    uint64_t value;
  };
  CodeAddress *codeAddressIn(unsigned lowRegister);
  void follow(const llvm::MCInst &inst, uint64_t address, uint64_t size,
              llvm::ArrayRef<uint8_t> bytes);

  const Disassembler &disassembler;
  uint64_t begin, end; ///< of the function
  llvm::SmallVector<CodeAddress, 2> codeAddresses;
};

/// An instruction that ends a block.
struct BlockEnd {
  uint64_t next; ///< the address behind it
  Flow flow;
};

struct BasicBlock {
  uint64_t address = 0, end = 0;
  llvm::SmallVector<size_t, 2> successors; ///< where it falls through first
  Flow flow;                               ///< of its last instruction
};

/// Those of a function, by address. `ends` are in the order of addresses.
std::vector<BasicBlock> basicBlocks(uint64_t begin, uint64_t end, llvm::ArrayRef<BlockEnd> ends);

} // namespace rubia::codegen
