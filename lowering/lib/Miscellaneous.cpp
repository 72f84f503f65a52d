// trap, brkpt, nanosleep. PTX ISA: miscellaneous-instructions.
#include "lowering/lib/FunctionLowering.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include <algorithm>

using namespace llvm;

namespace rubia::lowering {

// trap   ends the launch with an error.
Expected<Value *> lowerTrap(FunctionLowering &fn, const ptx::Instruction &) {
  fn.branchToTrap();
  return nullptr;
}

// brkpt   s_trap 3: a debugger stops here; without one nothing happens. AMDGPUUsage "Trap Handler
// ABI".
Expected<Value *> lowerBrkpt(FunctionLowering &fn, const ptx::Instruction &) {
  fn.builder().CreateIntrinsic(fn.builder().getVoidTy(), Intrinsic::debugtrap, {});
  return nullptr;
}

// nanosleep.u32 t   suspends for a time between 0 and 2t. s_sleep takes a constant number of 64
// clocks, about 32 ns; a time that is not constant gets the shortest sleep.
Expected<Value *> lowerNanosleep(FunctionLowering &fn, const ptx::Instruction &) {
  uint64_t nanoseconds = fn.sourceConstant(0).value_or(0);
  uint32_t units = uint32_t(std::clamp<uint64_t>(nanoseconds / 32, 1, 127));
  fn.builder().CreateIntrinsic(fn.builder().getVoidTy(), Intrinsic::amdgcn_s_sleep,
                               {fn.builder().getInt32(units)});
  return nullptr;
}

} // namespace rubia::lowering
