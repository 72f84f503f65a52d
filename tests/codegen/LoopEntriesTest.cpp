// SPDX-License-Identifier: Apache-2.0
// Loops with several entries: no phi is undefined on an edge when control flow is made structured.
#include "codegen/lib/errata/LoopEntries.h"
#include "codegen/lib/errata/FreeValues.h"
#include "tests/codegen/BackEndRun.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Pass.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

struct Phis {
  unsigned all = 0, undefined = 0;
};

class CountPhis : public FunctionPass {
public:
  static char ID;
  explicit CountPhis(Phis &found) : FunctionPass(ID), found(found) {}
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesAll(); }
  bool runOnFunction(Function &function) override {
    for (BasicBlock &block : function)
      for (PHINode &phi : block.phis()) {
        ++found.all;
        found.undefined += any_of(phi.incoming_values(), IsaPred<UndefValue>);
      }
    return false;
  }

private:
  Phis &found;
};
char CountPhis::ID = 0;

class BackEnd : public legacy::PassManager {
public:
  BackEnd(bool isMended, Phis &found) : isMended(isMended), found(found) {}
  void add(Pass *pass) override {
    if (isMended && pass->getPassName() == kFixIrreducible)
      legacy::PassManager::add(makeLoopEntries());
    if (pass->getPassName() == kStructurizer) {
      if (isMended)
        legacy::PassManager::add(makeWholePhis());
      legacy::PassManager::add(new CountPhis(found));
    }
    legacy::PassManager::add(pass);
  }

private:
  bool isMended;
  Phis &found;
};

constexpr StringRef kText = R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %step) {
entry:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %isOdd = trunc i32 %lane to i1
  br i1 %isOdd, label %second, label %first
first:
  %n1 = phi i32 [ 0, %entry ], [ %n4, %second ]
  %n2 = add i32 %n1, %step
  %c = icmp ugt i32 %n2, 40
  br i1 %c, label %done, label %second
second:
  %n3 = phi i32 [ %step, %entry ], [ %n2, %first ]
  %n4 = mul i32 %n3, %lane
  %d = icmp ugt i32 %n4, 90
  br i1 %d, label %done, label %first
done:
  %n = phi i32 [ %n2, %first ], [ %n4, %second ]
  store i32 %n, ptr addrspace(1) %p
  ret void
}
)";

TEST(LoopEntries, PhisHaveAValueOnEachEdge) {
  for (StringRef processor : {"gfx1100", "gfx942"}) {
    Phis found, left;
    BackEnd plain(false, found), mended(true, left);
    runBackEnd(processor, kText, plain);
    runBackEnd(processor, kText, mended);
    EXPECT_NE(found.undefined, 0u) << processor.str(); // else LLVM has changed
    EXPECT_NE(left.all, 0u) << processor.str();
    EXPECT_EQ(left.undefined, 0u) << processor.str();
  }
}

} // namespace
