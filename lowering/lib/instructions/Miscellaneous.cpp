// SPDX-License-Identifier: Apache-2.0
// trap, brkpt, nanosleep, pmevent, setmaxnreg, griddepcontrol. PTX ISA: miscellaneous-instructions,
// parallel-synchronization-and-communication-instructions-griddepcontrol.
#include "lowering/lib/frame/FunctionLowering.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Mask;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

// trap   ends the launch with an error.
Expected<Value *> lowerTrap(FunctionLowering &fn, const ptx::Instruction &) {
  fn.trap();
  return nullptr;
}

// brkpt   Without a debugger an H100 ends the launch as it does at a trap.
Expected<Value *> lowerBrkpt(FunctionLowering &fn, const ptx::Instruction &) {
  fn.trap();
  return nullptr;
}

// nanosleep.u32 t   suspends for a time between 0 and 2t, at most a millisecond. s_sleep takes a
// constant number of 64 clocks, which is at most 128 ns at 500 MHz. What is longer than it can
// sleep at once, or not constant, polls the 100 MHz counter between the shortest sleeps.
Expected<Value *> lowerNanosleep(FunctionLowering &fn, const ptx::Instruction &) {
  constexpr uint64_t kLongest = 127 * 64, kMax = 1'000'000;
  IRBuilder<> &b = fn.builder();
  auto sleep = [&](uint64_t units) {
    b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_s_sleep, {b.getInt32(uint32_t(units))});
  };
  std::optional<uint64_t> known = fn.sourceConstant(0);
  if (known && *known <= kLongest) {
    sleep(*known / 64);
    return nullptr;
  }
  auto counter = [&] {
    return b.CreateIntrinsic(b.getInt64Ty(), Intrinsic::readsteadycounter, {});
  };
  Value *time = b.CreateBinaryIntrinsic(Intrinsic::umin, fn.source(0), b.getInt32(kMax));
  Value *ticks = b.CreateZExt(b.CreateUDiv(time, b.getInt32(10)), b.getInt64Ty());
  Value *start = counter();
  sleep(0);
  BasicBlock *check = fn.newBlock("nanosleep"), *body = fn.newBlock("nanosleep.wait"),
             *after = fn.newBlock("nanosleep.end");
  b.CreateBr(check);
  b.SetInsertPoint(check);
  b.CreateCondBr(b.CreateICmpULT(b.CreateSub(counter(), start), ticks), body, after);
  b.SetInsertPoint(body);
  sleep(1);
  b.CreateBr(check);
  b.SetInsertPoint(after);
  return nullptr;
}

// pmevent a   s_incperflevel counts for whoever profiles; without a profiler nothing happens.
// pmevent.mask a   the same for each bit.
Expected<Value *> lowerPmevent(FunctionLowering &fn, const ptx::Instruction &inst) {
  std::optional<uint64_t> event = fn.sourceConstant(0);
  if (!event)
    return fn.malformed(inst, "the event is not a constant");
  IRBuilder<> &b = fn.builder();
  uint64_t mask = inst.spelling->has(ptx::Mod::Mask) ? *event : uint64_t(1) << *event;
  for (uint32_t bit = 0; bit < 16; ++bit)
    if (mask >> bit & 1)
      b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_s_incperflevel, {b.getInt32(bit)});
  return nullptr;
}

// setmaxnreg.(inc|dec).sync.aligned.u32 a   moves registers between the warps of a CTA while it
// runs. A wave of AMD's keeps those that it started with, so there is nothing to hand over.
Expected<Value *> lowerSetmaxnreg(FunctionLowering &, const ptx::Instruction &) { return nullptr; }

// griddepcontrol.wait   waits for the grids before this one in its stream, which have ended and
// written back before this one starts: launches of a stream are serialised.
// griddepcontrol.launch_dependents   allows the next grid to start, which it does at the end.
Expected<Value *> lowerGriddepcontrol(FunctionLowering &, const ptx::Instruction &) {
  return nullptr;
}

} // namespace rubia::lowering
