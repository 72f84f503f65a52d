// SPDX-License-Identifier: Apache-2.0
// Marks of asynchronous copies, from lowering through codegen to the check that reads them.
#include "lowering/lib/frame/AsyncNotes.h"
#include "codegen/Codegen.h"
#include "emulator/Emulator.h"
#include "tests/Targets.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <gtest/gtest.h>

using namespace llvm;

namespace rubia::emulator {
namespace {

struct Kernel {
  bool isCopy = true;    // the store is marked
  bool waits = true;     // with a mark behind
  bool isHeld = false;   // the copy begins before its store, as one that is held back
  bool isLate = false;   // the store is behind the wait
  unsigned allowed = 0;  // groups that may still be on their way
  unsigned repeated = 1; // how often all this is done, in a loop that LLVM unrolls
};

/// Each thread stores to its place of LDS and reads that of its neighbour.
std::unique_ptr<Module> makeModule(LLVMContext &context, const Kernel &kernel) {
  auto module = std::make_unique<Module>("async", context);
  IRBuilder<> b(context);
  Type *i32 = b.getInt32Ty();
  auto *lds =
      new GlobalVariable(*module, ArrayType::get(i32, 64), false, GlobalValue::InternalLinkage,
                         PoisonValue::get(ArrayType::get(i32, 64)), "lds", nullptr,
                         GlobalValue::NotThreadLocal, /*AddressSpace=*/3);
  auto *type = FunctionType::get(b.getVoidTy(), {PointerType::get(context, 1)}, false);
  Function *function = Function::Create(type, GlobalValue::ExternalLinkage, "k", *module);
  function->setCallingConv(CallingConv::AMDGPU_KERNEL);
  BasicBlock *entry = BasicBlock::Create(context, "", function),
             *loop = BasicBlock::Create(context, "", function),
             *end = BasicBlock::Create(context, "", function);
  b.SetInsertPoint(entry);
  Value *thread = b.CreateIntrinsic(i32, Intrinsic::amdgcn_workitem_id_x, ArrayRef<Value *>());
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  PHINode *i = b.CreatePHI(i32, 2);
  auto placeOf = [&](Value *index) { return b.CreateGEP(i32, lds, index); };
  auto store = [&] {
    StoreInst *copy = b.CreateStore(b.CreateAdd(thread, i), placeOf(thread));
    if (kernel.isCopy)
      lowering::markAsyncStore(copy);
  };
  if (kernel.isHeld)
    lowering::markHeldCopy(b, placeOf(thread), 4);
  else
    store();
  lowering::markAsync(b, lowering::AsyncMark::Commit);
  if (kernel.isHeld && !kernel.isLate)
    store();
  if (kernel.waits)
    lowering::markAsync(b, lowering::AsyncMark::WaitGroup, kernel.allowed);
  if (kernel.isLate)
    store();
  Value *read = b.CreateLoad(i32, placeOf(b.CreateXor(thread, 1)));
  b.CreateStore(read, b.CreateGEP(i32, function->getArg(0), thread));
  Value *next = b.CreateAdd(i, b.getInt32(1));
  i->addIncoming(b.getInt32(0), entry);
  i->addIncoming(next, loop);
  b.CreateCondBr(b.CreateICmpULT(next, b.getInt32(kernel.repeated)), loop, end);
  b.SetInsertPoint(end);
  b.CreateRetVoid();
  return module;
}

/// What the check says of a workgroup of one warp, or "" if nothing.
std::string reportOf(const char *arch, const Kernel &kernel) {
  LLVMContext context;
  codegen::Options options;
  options.arch = arch;
  auto object = codegen::compile(makeModule(context, kernel), options);
  if (!object)
    return "codegen: " + toString(object.takeError());
  Memory memory;
  auto code = CodeObject::load(object->bytes, memory);
  if (!code)
    return "not loaded: " + toString(code.takeError());
  void *out = cantFail(memory.allocate(256, MemoryKind::Device));
  Launch launch;
  launch.kernel = (*code)->kernel("k");
  launch.grid = {1};
  launch.block = {32};
  launch.kernarg = {reinterpret_cast<const uint8_t *>(&out), sizeof out};
  launch.checks = Checks();
  launch.checks->races = true;
  auto result = run(launch, memory);
  return result ? "" : toString(result.takeError());
}

TEST(AsyncNotes, AMissingWaitIsReported) {
  for (const char *arch : rubia::test::testTargets()) {
    EXPECT_EQ(reportOf(arch, {}), "") << arch;
    const std::string report = reportOf(arch, {.waits = false});
    EXPECT_NE(report.find("an asynchronous copy, which has not been waited for"), std::string::npos)
        << arch << ": " << report;
  }
}

TEST(AsyncNotes, AWaitForFewerGroupsIsNone) {
  EXPECT_NE(reportOf("gfx1100", {.allowed = 1}), "");
  EXPECT_NE(reportOf("gfx942", {.allowed = 2, .repeated = 2}), "");
}

TEST(AsyncNotes, APlainStoreNeedsNoWait) {
  for (const char *arch : {"gfx1100", "gfx942"})
    EXPECT_EQ(reportOf(arch, {.isCopy = false, .waits = false}), "") << arch;
}

TEST(AsyncNotes, AHeldCopyIsStoredBeforeItsWait) {
  for (const char *arch : {"gfx1100", "gfx942"}) {
    EXPECT_EQ(reportOf(arch, {.isHeld = true}), "") << arch;
    const std::string report = reportOf(arch, {.isHeld = true, .isLate = true});
    EXPECT_NE(report.find("this wait covers an asynchronous copy that Rubia still holds back"),
              std::string::npos)
        << arch << ": " << report;
    // A wait that leaves its group alone says nothing; the read behind it does.
    EXPECT_NE(reportOf(arch, {.isHeld = true, .isLate = true, .allowed = 1})
                  .find("which has not been waited for"),
              std::string::npos);
  }
}

TEST(AsyncNotes, MarksOutliveUnrolling) {
  for (const char *arch : {"gfx1100", "gfx942"})
    EXPECT_EQ(reportOf(arch, {.repeated = 4}), "") << arch;
}

} // namespace
} // namespace rubia::emulator
