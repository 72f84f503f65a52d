// SPDX-License-Identifier: Apache-2.0
// alloca, stacksave, stackrestore. PTX ISA: stack-manipulation-instructions.
//
// Addresses are .local ones, like those of variables. The stack pointer is the wave's: an
// allocation takes the most that any thread asks for.
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/UnitLowering.h"

using namespace llvm;

namespace rubia::lowering {

static Value *toRegister(FunctionLowering &fn, Value *pointer, ptx::Type type) {
  IRBuilder<> &b = fn.builder();
  return b.CreateZExtOrTrunc(b.CreatePtrToInt(pointer, b.getInt32Ty()),
                             fn.intType(ptx::sizeInBits(type)));
}

// alloca.type d, size{, immAlign}   aligned to 8 unless said otherwise
Expected<Value *> lowerAlloca(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  ptx::Type type = inst.spelling->type(0);
  uint64_t alignment = fn.sourceConstant(1).value_or(8);
  if (!isPowerOf2_64(alignment) || alignment > (1 << 23))
    return fn.malformed(inst, "the alignment must be a power of two of at most 2^23");
  Value *size = b.CreateZExtOrTrunc(fn.source(0, type), b.getInt32Ty());
  AllocaInst *memory = b.CreateAlloca(b.getInt8Ty(), kPrivateSpace, b.CreateFreeze(size));
  memory->setAlignment(Align(std::max<uint64_t>(alignment, 4)));
  return toRegister(fn, memory, type);
}

// stacksave.type d   d is good for stackrestore only
Expected<Value *> lowerStacksave(FunctionLowering &fn, const ptx::Instruction &inst) {
  return toRegister(fn, fn.builder().CreateStackSave(), inst.spelling->type(0));
}

// stackrestore.type a
Expected<Value *> lowerStackrestore(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *saved = b.CreateZExtOrTrunc(fn.source(0, inst.spelling->type(0)), b.getInt32Ty());
  b.CreateStackRestore(b.CreateIntToPtr(saved, b.getPtrTy(kPrivateSpace)));
  return nullptr;
}

} // namespace rubia::lowering
