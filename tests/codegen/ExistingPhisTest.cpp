// SPDX-License-Identifier: Apache-2.0
// The search for phis that SSAUpdater could use again.
#include "codegen/lib/ExistingPhis.h"
#include "tests/codegen/ModuleFromText.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ValueSymbolTable.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

// %value is made in a loop, behind which some threads go round once more. Behind both, %x has it
// wherever it was made last.
constexpr StringRef kText = R"(
define void @f(i32 %first, i1 %c, i1 %d) {
entry:
  br label %outer
outer:
  %outer.x = phi i32 [ %first, %entry ], [ %end.x, %end ]
  br i1 %c, label %make, label %skip
make:
  %value = add i32 %first, 1
  br label %end
skip:
  br label %end
end:
  %other = phi i32 [ 7, %make ], [ 8, %skip ]
  %end.x = phi i32 [ %value, %make ], [ %outer.x, %skip ]
  br i1 %d, label %outer, label %out
out:
  ret void
}
)";

class ExistingPhis : public testing::Test {
protected:
  void SetUp() override {
    searchForPhisByUses();
    module = source.parse(kText);
    ASSERT_TRUE(module);
    function = module->getFunction("f");
  }

  BasicBlock *block(StringRef name) {
    for (BasicBlock &candidate : *function)
      if (candidate.getName() == name)
        return &candidate;
    return nullptr;
  }
  Value *named(StringRef name) { return function->getValueSymbolTable()->lookup(name); }

  /// What block `out` gets of a value of entry and one of block `make`.
  Value *atOut(Value *ofEntry, Value *ofMake) {
    SSAUpdater updater(&added);
    updater.Initialize(ofEntry->getType(), "new");
    updater.AddAvailableValue(block("entry"), ofEntry);
    updater.AddAvailableValue(block("make"), ofMake);
    const uint64_t before = searchesForPhis();
    Value *result = updater.GetValueAtEndOfBlock(block("out"));
    EXPECT_GT(searchesForPhis(), before) << "LLVM has a search of its own";
    return result;
  }

  ModuleSource source;
  std::unique_ptr<Module> module;
  Function *function = nullptr;
  SmallVector<PHINode *> added;
};

TEST_F(ExistingPhis, AreFoundByTheValuesThatTheyGet) {
  EXPECT_EQ(atOut(named("first"), named("value")), named("end.x"));
  EXPECT_TRUE(added.empty());
}

TEST_F(ExistingPhis, WithOtherValuesAreNot) {
  // In each block one of the values would be another.
  Value *constant = ConstantInt::get(Type::getInt32Ty(module->getContext()), 7);
  Value *result = atOut(constant, named("value"));
  EXPECT_NE(result, named("end.x"));
  ASSERT_EQ(added.size(), 2u);
  PHINode *ofOuter = added[added[0]->getParent() == block("outer") ? 0 : 1];
  ASSERT_EQ(ofOuter->getParent(), block("outer"));
  EXPECT_EQ(ofOuter->getIncomingValueForBlock(block("entry")), constant);
  EXPECT_EQ(ofOuter->getIncomingValueForBlock(block("end")), result);
  EXPECT_EQ(cast<PHINode>(result)->getIncomingValueForBlock(block("make")), named("value"));
  EXPECT_EQ(cast<PHINode>(result)->getIncomingValueForBlock(block("skip")), ofOuter);
}

TEST_F(ExistingPhis, OfOtherBlocksAreNotFollowed) {
  // Behind, the value goes on through a hundred phis.
  BasicBlock *last = block("out");
  last->getTerminator()->eraseFromParent();
  Value *value = named("end.x");
  for (unsigned i = 0; i < 100; ++i) {
    BasicBlock *next = BasicBlock::Create(module->getContext(), "", function);
    BranchInst::Create(next, last);
    PHINode *phi = PHINode::Create(value->getType(), 1, "", next);
    phi->addIncoming(value, last);
    value = phi, last = next;
  }
  ReturnInst::Create(module->getContext(), last);
  const uint64_t before = phisOfSearches();
  EXPECT_EQ(atOut(named("first"), named("value")), named("end.x"));
  EXPECT_LE(phisOfSearches() - before, 3u);
}

TEST_F(ExistingPhis, OfConstantsAreFound) {
  Type *type = Type::getInt32Ty(module->getContext());
  Value *seven = ConstantInt::get(type, 7), *eight = ConstantInt::get(type, 8);
  SSAUpdater updater(&added);
  updater.Initialize(type, "new");
  updater.AddAvailableValue(block("make"), seven);
  updater.AddAvailableValue(block("skip"), eight);
  EXPECT_EQ(updater.GetValueAtEndOfBlock(block("out")), named("other"));
  EXPECT_TRUE(added.empty());
}

} // namespace
