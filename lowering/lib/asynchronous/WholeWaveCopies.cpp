// SPDX-License-Identifier: Apache-2.0
// LLVM has no loads and stores for lanes that are idle. So each step is assembly that sets EXEC
// itself: each lane copies 16 bytes four times, and those beyond the end copy the last ones again.
//
// Its registers must be no others' in idle lanes. LLVM gives such ones to what it computes with all
// lanes on (llvm.amdgcn.strict.wwm), but not to results of assembly. So each is tied to a zero,
// which is computed there. That EXEC is set to all lanes a second time tells codegen's checks that
// this is meant (codegen/ExecChecker.h).
//
// In the packed form the lanes of the other warp stay idle: they are no threads of this one, and
// what they store would not be ordered by what this one does next.
#include "lowering/lib/asynchronous/WholeWaveCopies.h"
#include "lowering/lib/asynchronous/BulkCopies.h"
#include "lowering/lib/frame/AsyncNotes.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace rubia::lowering {

namespace {

constexpr unsigned kPiece = 16, kAtOnce = 4; // bytes; pieces of a lane

/// One step: operands are the pieces' offsets, the pieces, the saved EXEC and SCC; the source, the
/// destination, the last piece's offset, and of the packed form the warp's lanes. SCC comes back:
/// saying that it is written would cost some milliseconds, in which LLVM compares its name with
/// those of all classes of registers.
std::string textOfStep(const Target &target) {
  const bool isWide = target.waveSize == 64;
  const unsigned isa = target.row->isa, lanes = target.isPacked ? 32 : target.waveSize;
  const char *width = isWide ? "b64" : "b32", *exec = isWide ? "exec" : "exec_lo";
  const char *add = isa == 9 ? "v_add_u32" : "v_add_nc_u32";
  std::string text = "; rubia.accesses 4c4c4c4ccccccccc\n"; // loads; stores of a copy
  if (isa == 12)
    text += "s_wait_alu 0x0\n";
  text += "s_cselect_b32 $9, 1, 0\n";
  text += asyncNoteText(AsyncMark::ByWarp);
  text += formatv("s_or_saveexec_{0} $8, -1\nv_mbcnt_lo_u32_b32 $0, -1, 0\n", width);
  if (isWide)
    text += "v_mbcnt_hi_u32_b32 $0, -1, $0\n";
  if (target.isPacked)
    text += "v_and_b32 $0, 31, $0\ns_and_b64 exec, exec, $13\n";
  text += "v_lshlrev_b32 $0, 4, $0\n";
  for (unsigned i = 1; i < kAtOnce; ++i)
    text += formatv("{0} ${1}, {2}, $0\n", add, i, i * lanes * kPiece);
  for (unsigned i = 0; i < kAtOnce; ++i)
    text += formatv("v_min_u32 ${0}, $12, ${0}\n", i);
  for (unsigned i = 0; i < kAtOnce; ++i)
    text += formatv("global_load_dwordx4 ${0}, ${1}, $10\n", kAtOnce + i, i);
  for (unsigned i = 0; i < kAtOnce; ++i)
    text += formatv("{0} ${1}, $11, ${1}\n", add, i);
  text += isa == 12 ? "s_wait_loadcnt 0x0\n" : "s_waitcnt vmcnt(0)\n";
  for (unsigned i = 0; i < kAtOnce; ++i)
    text += formatv("ds_write_b128 ${0}, ${1}\n", i, kAtOnce + i);
  text += isa == 12 ? "s_wait_dscnt 0x0\n" : "s_waitcnt lgkmcnt(0)\n";
  text += asyncMarkText(AsyncMark::HandedOver);
  return text + formatv("\ns_mov_{0} {1}, $8\ns_cmp_lg_u32 $9, 0", width, exec).str();
}

void copyStep(FunctionLowering &fn, ArrayRef<Value *> scalars) {
  IRBuilder<> &b = fn.builder();
  Type *word = b.getInt32Ty(), *piece = FixedVectorType::get(word, kPiece / 4);
  SmallVector<Type *> results(kAtOnce, word), types;
  results.append(kAtOnce, piece);
  std::string outputs = "=&v,=&v,=&v,=&v,=&v,=&v,=&v,=&v,=&s,=&s", inputs;
  SmallVector<Value *> arguments(scalars);
  for (size_t i = 0; i < scalars.size(); ++i)
    inputs += ",s";
  for (auto [i, type] : enumerate(results)) {
    inputs += "," + std::to_string(i);
    arguments.push_back(Constant::getNullValue(type));
  }
  results.push_back(fn.intType(fn.target().waveSize));
  results.push_back(word);
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  auto *type = FunctionType::get(StructType::get(fn.context(), results), types, false);
  CallInst *call =
      b.CreateCall(InlineAsm::get(type, textOfStep(fn.target()), outputs + inputs + ",~{memory}",
                                  /*hasSideEffects=*/true),
                   arguments);
  // What all lanes have computed must be used.
  Value *whole =
      b.CreateIntrinsic(Intrinsic::amdgcn_strict_wwm, {word}, {b.CreateExtractValue(call, 0)});
  b.CreateCall(InlineAsm::get(FunctionType::get(b.getVoidTy(), {word}, false), "", "v",
                              /*hasSideEffects=*/true),
               whole);
}

} // namespace

void copyByWholeWave(FunctionLowering &fn, Value *shared, Value *from, Value *bytes) {
  IRBuilder<> &b = fn.builder();
  const Target &target = fn.target();
  Value *lane = b.CreateIntrinsic(Intrinsic::amdgcn_mbcnt_lo, {}, {b.getInt32(~0u), b.getInt32(0)});
  if (target.waveSize == 64)
    lane = b.CreateIntrinsic(Intrinsic::amdgcn_mbcnt_hi, {}, {b.getInt32(~0u), lane});
  BasicBlock *turn = fn.newBlock("bulk.turn"), *done = fn.newBlock("bulk.turns.done");
  b.CreateBr(turn);
  b.SetInsertPoint(turn);
  // LLVM computes what a step depends on with all lanes on, as far back as such values. It would
  // take one of equal values for the same in all lanes.
  auto ofActive = [&](Value *value) {
    Type *type = value->getType();
    value = b.CreateCall(InlineAsm::get(FunctionType::get(type, {type}, false), "", "=v,0",
                                        /*hasSideEffects=*/false),
                         value);
    return b.CreateIntrinsic(Intrinsic::amdgcn_set_inactive, {type},
                             {value, Constant::getNullValue(type)});
  };
  Value *isActive = b.CreateICmpNE(ofActive(b.getInt32(1)), b.getInt32(0));
  Type *mask = fn.intType(target.waveSize);
  Value *active = b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {mask}, {isActive});
  Value *first = b.CreateZExtOrTrunc(b.CreateBinaryIntrinsic(Intrinsic::cttz, active, b.getTrue()),
                                     b.getInt32Ty());
  auto ofFirst = [&](Value *value) {
    return b.CreateIntrinsic(Intrinsic::amdgcn_readlane, {value->getType()},
                             {ofActive(value), first});
  };
  Value *source = ofFirst(from), *place = ofFirst(shared), *size = ofFirst(bytes);
  const unsigned lanes = target.isPacked ? 32 : target.waveSize;
  forEachStep(fn, size, lanes * kAtOnce * kPiece, [&](Value *offset) {
    SmallVector<Value *, 4> scalars = {b.CreateAdd(source, b.CreateZExt(offset, b.getInt64Ty())),
                                       b.CreateAdd(place, offset),
                                       b.CreateSub(b.CreateSub(size, offset), b.getInt32(kPiece))};
    if (target.isPacked)
      scalars.push_back(b.CreateShl(
          b.getInt64(~0u), b.CreateZExt(b.CreateAnd(first, b.getInt32(32)), b.getInt64Ty())));
    copyStep(fn, scalars);
  });
  b.CreateCondBr(b.CreateICmpEQ(lane, first), done, turn);
  b.SetInsertPoint(done);
}

} // namespace rubia::lowering
