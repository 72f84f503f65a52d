// SPDX-License-Identifier: Apache-2.0
// cp.async: each thread copies 4, 8 or 16 bytes from global into shared memory.
// PTX ISA: data-movement-and-conversion-instructions-cp-async.
//
// PTX says only that a copy is done when the thread has waited for its group. Where all ways lead
// to such a wait, the copy is loaded at once and stored at the wait, or where the thread comes to
// the copy again (analysis/HeldCopies.h); else it is done at once. Either way it lies in shared
// memory behind the wait, in the order of the thread's own accesses. Other threads see it as they
// see any store. Notes tell the emulator's check what the program relies on too early. Cache
// operators, policies and prefetch sizes are hints.
#include "lowering/lib/frame/AsyncNotes.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/UnitLowering.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Selp;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier L2CacheHint;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

namespace {

Type *typeOfCopy(IRBuilder<> &b, unsigned bytes) {
  return bytes == 4 ? cast<Type>(b.getInt32Ty()) : FixedVectorType::get(b.getInt32Ty(), bytes / 4);
}

// A copy of which some bytes come from global memory and the rest is zero.
class AsyncCopy {
public:
  AsyncCopy(FunctionLowering &fn, Value *from, unsigned bytes)
      : fn(fn), b(fn.builder()), from(from), bytes(bytes), type(typeOfCopy(b, bytes)) {}

  Value *zeros() { return Constant::getNullValue(type); }
  Value *all() { return b.CreateAlignedLoad(type, from, Align(bytes)); }
  // All bytes or none: nothing is read where the condition is false, since the address may be
  // anything there.
  Value *allIf(Value *condition);
  // The first bytes of a number that is known, or not.
  Value *first(uint64_t count);
  Value *first(Value *count, bool isAllOrNothing);

private:
  Value *word(Value *words, unsigned index) {
    return bytes == 4 ? words : b.CreateExtractElement(words, index);
  }
  Value *withWord(Value *words, unsigned index, Value *value) {
    return bytes == 4 ? value : b.CreateInsertElement(words, value, index);
  }
  Value *place(unsigned offset) { return b.CreateConstGEP1_64(b.getInt8Ty(), from, offset); }
  Value *byteByByte(Value *count);

  FunctionLowering &fn;
  IRBuilder<> &b;
  Value *from;
  unsigned bytes;
  Type *type;
};

Value *AsyncCopy::allIf(Value *condition) {
  BasicBlock *before = b.GetInsertBlock(), *read = fn.newBlock("copy.read"),
             *next = fn.newBlock("copy.next");
  b.CreateCondBr(condition, read, next);
  b.SetInsertPoint(read);
  Value *loaded = all();
  b.CreateBr(next);
  b.SetInsertPoint(next);
  PHINode *value = b.CreatePHI(type, 2);
  value->addIncoming(zeros(), before);
  value->addIncoming(loaded, read);
  return value;
}

Value *AsyncCopy::first(uint64_t count) {
  if (count >= bytes)
    return all();
  Value *value = zeros();
  for (unsigned at = 0; at < count;) {
    unsigned part = count - at >= 4 ? 4 : 1;
    Value *loaded = b.CreateZExt(b.CreateAlignedLoad(fn.intType(part * 8), place(at), Align(part)),
                                 b.getInt32Ty());
    value =
        withWord(value, at / 4, b.CreateOr(word(value, at / 4), b.CreateShl(loaded, at % 4 * 8)));
    at += part;
  }
  return value;
}

// Rare: the end of a row whose length is no multiple of the copy. Bytes that are not asked for may
// lie outside of any allocation.
Value *AsyncCopy::byteByByte(Value *count) {
  BasicBlock *before = b.GetInsertBlock(), *head = fn.newBlock("copy.byte"),
             *body = fn.newBlock("copy.byte.read"), *done = fn.newBlock("copy.bytes");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  PHINode *index = b.CreatePHI(b.getInt32Ty(), 2), *words = b.CreatePHI(type, 2);
  index->addIncoming(b.getInt32(0), before);
  words->addIncoming(zeros(), before);
  b.CreateCondBr(b.CreateICmpULT(index, count), body, done);
  b.SetInsertPoint(body);
  Value *byte =
      b.CreateAlignedLoad(b.getInt8Ty(), b.CreateGEP(b.getInt8Ty(), from, index), Align(1));
  Value *shifted =
      b.CreateShl(b.CreateZExt(byte, b.getInt32Ty()), b.CreateShl(b.CreateAnd(index, 3), 3));
  Value *more = words;
  for (unsigned at = 0; at < bytes / 4; ++at) {
    Value *isHere = b.CreateICmpEQ(b.CreateLShr(index, 2), b.getInt32(at));
    Value *old = word(words, at);
    more = withWord(more, at, b.CreateSelect(isHere, b.CreateOr(old, shifted), old));
  }
  index->addIncoming(b.CreateAdd(index, b.getInt32(1)), b.GetInsertBlock());
  words->addIncoming(more, b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(done);
  return words;
}

Value *AsyncCopy::first(Value *count, bool isAllOrNothing) {
  Value *isAll = b.CreateICmpUGE(count, b.getInt32(bytes));
  if (isAllOrNothing)
    return allIf(isAll);
  BasicBlock *whole = fn.newBlock("copy.whole"), *part = fn.newBlock("copy.part"),
             *next = fn.newBlock("copy.next");
  b.CreateCondBr(isAll, whole, part);
  b.SetInsertPoint(whole);
  Value *loaded = all();
  b.CreateBr(next);
  b.SetInsertPoint(part);
  Value *gathered = byteByByte(count);
  part = b.GetInsertBlock();
  b.CreateBr(next);
  b.SetInsertPoint(next);
  PHINode *value = b.CreatePHI(type, 2);
  value->addIncoming(loaded, whole);
  value->addIncoming(gathered, part);
  return value;
}

// Whether src-size is one of two constants, of which one is 0 and the other the whole:
// `selp.b32 n, 16, 0, p`, which is how predicated copies are written.
bool isAllOrNothing(const Definitions &definitions, const ptx::Function &function,
                    const ptx::Operand &operand, unsigned bytes) {
  if (operand.kind != ptx::Operand::Kind::Register || operand.component != 0xff)
    return false;
  ArrayRef<uint32_t> writers = definitions.of(operand.reg);
  if (writers.size() != 1 || writers[0] >= function.body.size())
    return false;
  const ptx::Instruction &writer = function.body[writers[0]];
  if (writer.op() != ptx::Op::Selp || writer.guard.reg != ptx::kNone)
    return false;
  return all_of(writer.operands.drop_front().take_front(2), [&](const ptx::Operand &choice) {
    std::optional<uint64_t> value = definitions.constant(choice);
    return value && (uint32_t(*value) == 0 || uint32_t(*value) >= bytes);
  });
}

// Shared memory that lies in device memory is as far away as what is copied.
bool isHeld(FunctionLowering &fn, uint32_t copy) {
  return fn.heldCopies().isHeld(copy) && !fn.unit().sharedInMemory();
}

void holdBack(FunctionLowering &fn, Value *value, Value *place, unsigned bytes) {
  IRBuilder<> &b = fn.builder();
  markHeldCopy(b, place, bytes);
  const FunctionLowering::HeldCopy &part = fn.heldCopy(fn.currentIndex(), value->getType());
  b.CreateStore(b.getTrue(), part.isOn);
  b.CreateStore(value, part.value);
  b.CreateStore(place, part.place);
}

// The store of a copy, if the thread has come by the copy.
void finish(FunctionLowering &fn, uint32_t copy) {
  IRBuilder<> &b = fn.builder();
  const uint64_t bytes =
      fn.registerDefinitions().constant(fn.ptxFunction().body[copy].operands[2]).value_or(4);
  const FunctionLowering::HeldCopy &part = fn.heldCopy(copy, typeOfCopy(b, unsigned(bytes)));
  const DebugLoc here = b.getCurrentDebugLocation();
  BasicBlock *store = fn.newBlock("copy.finish"), *next = fn.newBlock("copy.finished");
  b.CreateCondBr(b.CreateLoad(b.getInt1Ty(), part.isOn), store, next);
  b.SetInsertPoint(store);
  b.SetCurrentDebugLocation(fn.unit().debugInfo.locationOf(fn.ptxFunction().body[copy],
                                                           fn.llvmFunction().getSubprogram()));
  markAsyncStore(b.CreateAlignedStore(b.CreateLoad(part.value->getAllocatedType(), part.value),
                                      b.CreateLoad(part.place->getAllocatedType(), part.place),
                                      Align(bytes)));
  b.SetCurrentDebugLocation(here);
  b.CreateStore(b.getFalse(), part.isOn);
  b.CreateBr(next);
  b.SetInsertPoint(next);
}

} // namespace

void finishEarlierCopies(FunctionLowering &fn) {
  for (uint32_t copy : fn.heldCopies().finishedBy(fn.currentIndex()))
    if (isHeld(fn, copy))
      finish(fn, copy);
}

// cp.async.(ca|cg).shared.global{.L2::cache_hint}{.level::prefetch} [a], [b], size{, src-size |
// ignore-src}{, policy}
// Bytes from src-size on, or all where ignore-src is true, are zero and not read.
Expected<Value *> lowerCpAsync(FunctionLowering &fn, const ptx::Instruction &inst) {
  Value *to = fn.pointer(inst.operands[0], ptx::StateSpace::Shared);
  Value *from = fn.pointer(inst.operands[1], ptx::StateSpace::Global);
  std::optional<uint64_t> size = fn.sourceConstant(2);
  if (!to || !from)
    return nullptr;
  if (!size)
    return fn.malformed(inst, "the size is not a constant");
  const unsigned bytes = unsigned(*size);
  AsyncCopy copy(fn, from, bytes);
  const unsigned policies = inst.spelling->has(ptx::Mod::L2CacheHint) ? 1 : 0;
  Value *value;
  if (inst.operands.size() == 3 + policies) {
    value = copy.all();
  } else if (const ptx::Operand &limit = inst.operands[3]; fn.isPredicate(limit)) {
    value = copy.allIf(fn.builder().CreateNot(fn.read(limit, ptx::Type::Pred)));
  } else if (std::optional<uint64_t> known = fn.knownConstant(3)) {
    value = copy.first(uint32_t(*known));
  } else {
    value = copy.first(fn.read(limit, ptx::Type::U32),
                       isAllOrNothing(fn.registerDefinitions(), fn.ptxFunction(), limit, bytes));
  }
  if (isHeld(fn, fn.currentIndex()))
    holdBack(fn, value, to, bytes);
  else
    markAsyncStore(fn.builder().CreateAlignedStore(value, to, Align(bytes)));
  return nullptr;
}

// cp.async.commit_group   All copies are done already.
Expected<Value *> lowerCpAsyncCommitGroup(FunctionLowering &fn, const ptx::Instruction &) {
  markAsync(fn.builder(), AsyncMark::Commit);
  return nullptr;
}

// cp.async.wait_group n; cp.async.wait_all
Expected<Value *> lowerCpAsyncWait(FunctionLowering &fn, const ptx::Instruction &inst) {
  finishEarlierCopies(fn);
  if (inst.operands.empty()) {
    markAsync(fn.builder(), AsyncMark::WaitAll);
    return nullptr;
  }
  std::optional<uint64_t> groups = fn.sourceConstant(0);
  if (!groups)
    return fn.malformed(inst, "the number of groups is not a constant");
  markAsync(fn.builder(), AsyncMark::WaitGroup, unsigned(*groups));
  return nullptr;
}

} // namespace rubia::lowering
