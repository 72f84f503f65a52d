// SPDX-License-Identifier: Apache-2.0
// Relaxed loads and stores of 16 bytes. LLVM has no atomics of that size for AMDGPU, and would
// split one that it has. A volatile access of <4 x i32> stays one instruction as it is: nothing
// splits, narrows, joins or repeats it. What its scope is cannot be said of a volatile access; its
// type for alias analysis (TBAA) says it to codegen, which makes the machine instruction an atomic
// one of that scope (codegen/lib/errata/WholeAccesses.cpp).
//
// The types lie in a tree of their own, so that the access may be to anything. The wider scope is
// the parent: where LLVM makes one access of two, it takes the nearest type that both descend from.
#include "lowering/lib/instructions/Atomics.h"
#include "llvm/IR/MDBuilder.h"

using namespace llvm;

namespace rubia::lowering {

static MDNode *tagOf(LLVMContext &context, ptx::Modifier scope) {
  MDBuilder metadata(context);
  MDNode *type = metadata.createTBAARoot("rubia.whole");
  const SyncScope::ID wanted = syncScopeOf(context, scope);
  for (const char *name : {"rubia.whole.", "rubia.whole.agent", "rubia.whole.workgroup"}) {
    type = metadata.createTBAAScalarTypeNode(name, type);
    if (context.getOrInsertSyncScopeID(StringRef(name).substr(strlen("rubia.whole."))) == wanted)
      break;
  }
  return metadata.createTBAAStructTagNode(type, type, 0);
}

// Memory that was never written is any value, not undefined behaviour: hence the freeze.
Value *loadWhole(FunctionLowering &fn, Value *pointer, ptx::Modifier scope) {
  IRBuilder<> &b = fn.builder();
  LoadInst *load = b.CreateAlignedLoad(wholeType(b), pointer, Align(kWholeBytes), true);
  load->setMetadata(LLVMContext::MD_tbaa, tagOf(fn.context(), scope));
  return b.CreateFreeze(load);
}

void storeWhole(FunctionLowering &fn, Value *value, Value *pointer, ptx::Modifier scope) {
  fn.builder()
      .CreateAlignedStore(value, pointer, Align(kWholeBytes), true)
      ->setMetadata(LLVMContext::MD_tbaa, tagOf(fn.context(), scope));
}

} // namespace rubia::lowering
