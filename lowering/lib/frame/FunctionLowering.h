// SPDX-License-Identifier: Apache-2.0
// The context of lowering one PTX function: where an instruction's lowering function reads its
// operands, builds its instructions and leaves its results.
//
// Dispatch (Dispatch.cpp) does once for all instructions: guards, debug locations, conversion of
// results to the registers' representation, collection of errors. A PTX register is an alloca of an
// integer type (i1 for .pred), promoted to SSA form by the optimiser; values of floating-point
// types exist only between source() and the result.
#pragma once

#include "lowering/Lowering.h"
#include "lowering/lib/analysis/Contraction.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/HeldCopies.h"
#include "lowering/lib/analysis/Target.h"
#include "lowering/lib/frame/LaunchState.h"
#include "ptx-frontend/Module.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>

namespace rubia::lowering {

class AcceptedInstructions;
class UnitLowering;

class FunctionLowering {
public:
  FunctionLowering(UnitLowering &unit, const ptx::Function &function, llvm::Function &llvmFunction,
                   llvm::DISubprogram *subprogram);

  /// Builds the whole body; problems are collected.
  void lowerBody();
  std::vector<ptx::Diagnostic> takeDiagnostics() { return std::move(diagnostics); }

  // ---------- Building

  llvm::IRBuilder<> &builder() { return irBuilder; }
  llvm::LLVMContext &context() { return irBuilder.getContext(); }
  llvm::Module &module();
  UnitLowering &unit() { return unitLowering; }
  llvm::Function &llvmFunction() { return function; }
  const ptx::Function &ptxFunction() const { return source_; }
  const Options &options() const;
  const Target &target() const;
  /// A new block of this function; does not move the builder.
  llvm::BasicBlock *newBlock(const llvm::Twine &name);
  /// A variable of this function that becomes a value in SSA form, as registers do.
  llvm::AllocaInst *newSlot(llvm::Type *type);

  /// The LLVM type of values of a PTX type: i1 for Pred, iN for bits and integers (fp8 formats are
  /// bits too), float (also tf32), double, half, bfloat, vectors of two of those for the packed
  /// types.
  llvm::Type *typeOf(ptx::Type type);
  llvm::IntegerType *intType(unsigned bits);
  llvm::ConstantInt *constant(unsigned bits, uint64_t value);
  /// The mask (i32) of the warp's active lanes in which a condition holds.
  llvm::Value *ballot(llvm::Value *condition);

  // ---------- Operands of the instruction that is being lowered

  /// The n-th source operand (0: the first after the destination, if there is one) as a value of
  /// the type that the table gives it, or of `type`. Registers wider than the type are truncated
  /// (PTX ISA: operand-size-exceeding-instruction-type-size), immediates converted, `!p` negated.
  /// Never null: a problem is recorded, reported by dispatch, and poison returned.
  llvm::Value *source(unsigned n);
  llvm::Value *source(unsigned n, ptx::Type type);
  bool hasSource(unsigned n) const; // for optional operands
  ptx::Type sourceType(unsigned n) const;
  /// The value of an operand that is an integer constant, as an immLut.
  std::optional<uint64_t> sourceConstant(unsigned n) const;
  /// Also of a register that only ever gets one constant.
  std::optional<uint64_t> knownConstant(unsigned n) const;
  const Definitions &registerDefinitions() const { return definitions; }
  /// Whether an operand is a predicate register, where it may be something else.
  bool isPredicate(const ptx::Operand &operand) const {
    return operand.kind == ptx::Operand::Kind::Register &&
           source_.registers[operand.reg].type == ptx::Type::Pred;
  }
  const ptx::Operand &sourceOperand(unsigned n) const;

  /// Any operand as a value of a type; what source() is made of.
  llvm::Value *read(const ptx::Operand &operand, ptx::Type type);
  /// The elements of a vector operand: those in braces, or the first `count` components of a vector
  /// register (`.reg .v4 .f32 %v`) or special register; of any other operand itself.
  llvm::SmallVector<ptx::Operand, 8> elementsOf(const ptx::Operand &operand, unsigned count) const;
  /// Whether the operand is all of a vector register (`.reg .v4 .f32 %v`).
  bool isWholeVector(const ptx::Operand &operand) const;
  /// A vector register as UnitLowering::passedType has it, for calls, and the reverse.
  llvm::Value *passVector(ptx::RegisterId reg, llvm::Type *passed);
  void takeVector(ptx::RegisterId reg, llvm::Value *passed);
  /// As it lies in the register (an integer of the register's width).
  llvm::Value *readRegister(ptx::RegisterId reg, uint8_t component = 0xff);

  // ---------- Results

  /// The type of the destination's value: that of the table. A lowering function's return value has
  /// this type (or an integer type of the same width); dispatch bitcasts it and extends it to wider
  /// registers: by sign for signed types, else by zero.
  ptx::Type destinationType() const;
  /// For `d|p`: the second destination (n = 1), an i1. Ignored if the instruction has none, as in
  /// `setp` without `|q`.
  void setDestination(unsigned n, llvm::Value *value);
  bool hasDestination(unsigned n) const;
  /// Writes to any destination operand: register, component, `_`; a value of `type`.
  void write(const ptx::Operand &operand, llvm::Value *value, ptx::Type type);

  // ---------- State and facts

  /// PTX ISA: extended-precision-arithmetic-instructions: CC.CF, an i1. Undefined at first, as in
  /// PTX.
  llvm::Value *conditionCode();
  void setConditionCode(llvm::Value *carry);

  /// Whether plain f32 instructions of this unit flush denormal inputs and results
  /// ("denormal-fp-math-f32"="preserve-sign"; all kernels and functions of a unit agree): only
  /// where all of its f32 instructions are .ftz. Otherwise who has .ftz flushes by itself.
  bool flushesF32Denormals() const;

  /// What the sum that is being lowered is fused with; null: nothing.
  const Contraction::Fused *fusedProduct() const { return contraction.ofSum(currentIndex()); }
  /// Keeps the factors of the product that is being lowered, if a sum will need them, and gives
  /// those of a product that was lowered before.
  void keepFactors(llvm::Value *first, llvm::Value *second);
  std::array<llvm::Value *, 2> factorsOf(uint32_t product);

  /// Copies of cp.async that waits finish, and what is kept of one: whether it is on its way, its
  /// bytes and where they go, which is in LDS.
  const HeldCopies &heldCopies() const { return copies; }
  struct HeldCopy {
    llvm::AllocaInst *isOn = nullptr, *value = nullptr, *place = nullptr;
  };
  const HeldCopy &heldCopy(uint32_t copy, llvm::Type *value);
  uint32_t currentIndex() const { return uint32_t(current - source_.body.data()); }

  /// A special register's value, with the width that it has. Null, with a recorded problem, for
  /// those that cannot be right yet.
  llvm::Value *specialRegister(ptx::SpecialRegister special, uint8_t component);
  LaunchState &launch() { return launchState; }

  // ---------- Memory

  /// A pointer to what an address operand names, in the address space of `space` (None: generic).
  /// A variable named directly is reached in its own space. Null, with a recorded problem, if it
  /// cannot be.
  llvm::Value *pointer(const ptx::Operand &address, ptx::StateSpace space);
  /// Where the current instruction's `.param` lies if a register has the address: parameters of
  /// kernels in .const, those of functions and arguments for them in .local. Other spaces are
  /// themselves.
  ptx::StateSpace memoryOf(ptx::StateSpace space);
  /// The memory that an address operand of an instruction with this state space names: that of a
  /// variable named directly.
  ptx::StateSpace spaceOf(const ptx::Operand &address, ptx::StateSpace space) const;
  /// A register's value as a pointer into a state space. Shared memory is not always in LLVM's
  /// address space 3: this, pointer() and variablePointer() know.
  llvm::Value *toPointer(llvm::Value *address, ptx::StateSpace space);
  /// A pointer that is known to point to shared memory, also a generic one, in the address space of
  /// shared memory.
  llvm::Value *intoShared(llvm::Value *pointer);
  /// Where a pointer that intoShared() gave points to, in 32 bits: from sharedBase() on, where
  /// shared memory lies in device memory, else in LDS.
  llvm::Value *sharedAddress(llvm::Value *pointer);
  /// Whether a generic pointer points to shared memory, of any CTA of the cluster.
  llvm::Value *isShared(llvm::Value *pointer);
  /// The same of this CTA's.
  llvm::Value *isOwnShared(llvm::Value *pointer);
  /// Where the CTA's shared memory starts, if UnitLowering::sharedInMemory().
  llvm::Value *sharedSlot();
  /// The same, or where that of the cluster starts.
  llvm::Value *sharedBase();
  /// %cluster_ctarank, if UnitLowering::isForClusters().
  llvm::Value *clusterRank();
  /// The .shared address (i32) of what lies `offset` (i32) behind sharedBase().
  llvm::Value *clusterAddress(llvm::Value *offset);
  /// The address of a variable in its own state space, as an i64: what `mov` gives.
  llvm::Value *addressOf(const ptx::Variable &variable);
  /// The generic address that corresponds to an address (i64) in a state space.
  llvm::Value *toGeneric(llvm::Value *address, ptx::StateSpace space);
  /// Where the module's .local variables lie, if functions are told by their callers.
  llvm::Value *moduleLocals();
  /// A pointer to a variable: into its own address space.
  llvm::Value *variablePointer(const ptx::Variable &variable);

  // ---------- Control flow

  llvm::BasicBlock *blockOf(ptx::LabelId label);
  /// Ends the current block by leaving the function with its results; `exits`: the thread ends.
  void leave(bool exits);
  /// Ends the kernel here.
  void trap();
  /// Whether there are waiting loops. Others of a thread's warp may wait for it there, so that what
  /// the hardware refuses ends the kernel by emitTrapInPlace().
  bool waits() const { return waits_; }

  // ---------- Errors: legal PTX that is not supported, and illegal PTX that got this far

  llvm::Error unsupported(const ptx::Instruction &inst, const llvm::Twine &message) const;
  llvm::Error malformed(const ptx::Instruction &inst, const llvm::Twine &message) const;

  /// A problem found where no Error can be returned.
  void problem(const ptx::Operand &operand, const llvm::Twine &message, bool unsupported = false);

  // ---------- For MeetingPlaces and DividedWarps: what is lowered for or before an instruction

  /// Moves on to an instruction: operands and results are its own from now on.
  void begin(const ptx::Instruction &inst);
  /// Whether the guard of an instruction, which has one, holds.
  llvm::Value *guardOf(const ptx::Instruction &inst);
  /// Calls lower() with the builder where the guard holds, and leaves it behind both ways.
  void lowerGuarded(const ptx::Instruction &inst, llvm::function_ref<void()> lower);
  /// Lowers the current instruction, without guard, reading and writing slots in place of these
  /// operands. A slot has the width of the type that the table gives the operand. Sources without
  /// one are constants.
  void lowerWithSlots(const ptx::Instruction &inst,
                      const llvm::DenseMap<const ptx::Operand *, llvm::AllocaInst *> &slots);
  /// Of the current instruction: `d`, or `d` and `p` of `d|p`.
  llvm::ArrayRef<ptx::Operand> destinationOperands() const;

private:
  bool reachesCluster() const;
  llvm::Value *isWithinShared(llvm::Value *pointer, llvm::Value *start, llvm::Value *bytes);
  void lowerInstruction(const ptx::Instruction &inst);
  /// The same, but that one is passed over which was accepted before.
  void judgeInstruction(const ptx::Instruction &inst, AcceptedInstructions &accepted);
  AcceptedInstructions *acceptedInstructions() const; // null: nothing is judged
  void lowerOperation(const ptx::Instruction &inst, llvm::Value *selectIf);
  void checkWrite(const ptx::Instruction &inst);
  void collect(llvm::Error error);
  /// Ends the kernel with TrapReason::Unsupported if it comes here.
  void refuse(const ptx::Instruction &inst, llvm::StringRef why);
  /// Where the lowered instructions are.
  struct Places {
    llvm::BasicBlock *body;                 // the first block
    std::vector<llvm::BasicBlock *> starts; // by instruction
    llvm::DenseMap<uint32_t, llvm::BasicBlock *>
        behind;                               // a block of its own behind each marked one
    std::vector<llvm::BasicBlock *> meetings; // MeetingPlaces::blocks
  };
  Places lowerInstructions(const llvm::DenseSet<uint32_t> &marked);
  void prepareEntry();
  void findParameterAddresses();
  void finishEntry(llvm::BasicBlock *body);
  llvm::AllocaInst *registerSlot(ptx::RegisterId reg, uint8_t component);
  llvm::AllocaInst *slotFor(const ptx::Operand &operand) const;
  llvm::Value *parameterSlot(const ptx::Variable &variable);
  llvm::Value *pack(llvm::ArrayRef<ptx::Operand> elements, ptx::Type type);
  void unpack(llvm::ArrayRef<ptx::Operand> elements, llvm::Value *bits);
  llvm::Value *undefinedBits(llvm::Type *type);
  llvm::Value *fromBits(const ptx::Operand &operand, llvm::Value *bits, ptx::Type type);
  llvm::Value *immediate(const ptx::Operand &operand, ptx::Type type);
  void writeBits(const ptx::Operand &operand, llvm::Value *bits, bool isSigned);

  UnitLowering &unitLowering;
  const ptx::Function &source_;
  const Definitions definitions;
  const Contraction contraction;
  const HeldCopies copies;
  llvm::Function &function;
  llvm::DISubprogram *subprogram;

  /// Three builders: `entry` holds the registers and their initial values, `prologue` what the
  /// launch makes known, and irBuilder is at the instruction that is being lowered.
  llvm::IRBuilder<> entryBuilder, prologueBuilder, irBuilder;
  LaunchState launchState;
  llvm::BasicBlock *prologue = nullptr; // the first of its blocks

  const ptx::Instruction *current = nullptr;
  const llvm::BasicBlock *checkedBlock = nullptr; // whose start has passed checkWrite()
  const llvm::DenseMap<const ptx::Operand *, llvm::AllocaInst *> *operandSlots = nullptr;
  llvm::Value *selectCondition = nullptr;    // writes keep the old value where this is false
  std::vector<llvm::AllocaInst *> registers; // the first component of each
  llvm::DenseMap<uint32_t, std::array<llvm::AllocaInst *, 2>> factors; // of fused products
  std::map<uint32_t, HeldCopy> heldParts;                              // by copy
  llvm::DenseMap<std::pair<ptx::RegisterId, uint8_t>, llvm::AllocaInst *> components;
  llvm::DenseMap<llvm::Type *, llvm::Value *> undefined;
  llvm::DenseMap<const ptx::Variable *, llvm::Value *> variables;
  llvm::Value *moduleLocalFrame = nullptr;
  llvm::Value *slot = nullptr, *base = nullptr, *rank = nullptr;
  llvm::DenseMap<const ptx::Variable *, uint32_t> kernelParameters; // offset
  std::vector<llvm::BasicBlock *> labels;
  /// Of a kernel: whether it takes the address of parameters of its own, and of arguments for
  /// others.
  bool takesParameterAddress = false, takesArgumentAddress = false;
  llvm::BasicBlock *trapBlock = nullptr; // the one of the function, if not in place
  bool waits_ = false;
  llvm::PHINode *refusedPlace = nullptr;  // in the block that ends the kernel for all of them
  llvm::BasicBlock *leaveBlock = nullptr; // of a kernel with a slot, or with loops that wait
  llvm::AllocaInst *carry = nullptr;
  std::vector<ptx::Diagnostic> diagnostics;
};

/// Stores the copies of cp.async that are held back to the current instruction: a wait, or the copy
/// itself, whether its guard holds or not.
void finishEarlierCopies(FunctionLowering &fn);

} // namespace rubia::lowering
