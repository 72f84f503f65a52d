// Special registers. PTX ISA: special-registers.
#include "lowering/lib/FunctionLowering.h"
#include "lowering/lib/UnitLowering.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {

using Special = ptx::SpecialRegister;

// A 64-bit counter of cycles. gfx11 has only 20 bits of them, so there it is the constant 100 MHz
// counter; PTX ISA: special-registers-clock promises a counter, not its rate.
static Value *cycles(FunctionLowering &fn) {
  bool steady = fn.target().isGfx11Plus() && !fn.target().isGfx12Plus();
  return fn.builder().CreateIntrinsic(
      fn.intType(64), steady ? Intrinsic::readsteadycounter : Intrinsic::readcyclecounter, {});
}

// s_memrealtime counts at 100 MHz on every target; %globaltimer is in nanoseconds.
static Value *nanoseconds(FunctionLowering &fn) {
  Value *ticks = fn.builder().CreateIntrinsic(fn.intType(64), Intrinsic::readsteadycounter, {});
  return fn.builder().CreateMul(ticks, fn.builder().getInt64(10));
}

static Value *half(FunctionLowering &fn, Value *value, bool high) {
  return fn.builder().CreateTrunc(high ? fn.builder().CreateLShr(value, 32) : value,
                                  fn.intType(32));
}

Value *FunctionLowering::specialRegister(Special special, uint8_t component) {
  LaunchState &launch = launchState;
  IRBuilder<> &b = prologueBuilder; // what does not change during a launch is known from the start
  auto vector = [&](Value *(LaunchState::*get)(unsigned), uint32_t beyond) -> Value * {
    if (component == 0xff)
      component = 0; // PTX ISA 1.x wrote %tid for %tid.x
    return component < 3 ? (launch.*get)(component) : b.getInt32(beyond);
  };
  auto bit = [&] { return b.CreateShl(b.getInt32(1), b.CreateAnd(launch.laneIndex(), 31)); };
  auto below = [&] { return b.CreateSub(bit(), b.getInt32(1)); };

  switch (special) {
  case Special::Tid:
    return vector(&LaunchState::threadIndex, 0);
  case Special::NTid:
    return vector(&LaunchState::ctaSize, 1);
  case Special::CtaId:
    return vector(&LaunchState::ctaIndex, 0);
  case Special::NCtaId:
    return vector(&LaunchState::gridSize, 1);
  case Special::LaneId:
    return launch.laneIndex();
  case Special::WarpId:
    return b.CreateLShr(launch.linearThreadIndex(), 5);
  case Special::NWarpId:
    return b.getInt32(32); // 1024 threads
  case Special::GridId:
    return launch.argument(offsetof(abi::LaunchArguments, gridId), 64);
  case Special::LaneMaskEq:
    return bit();
  case Special::LaneMaskLt:
    return below();
  case Special::LaneMaskLe:
    return b.CreateOr(below(), bit());
  case Special::LaneMaskGe:
    return b.CreateNot(below());
  case Special::LaneMaskGt:
    return b.CreateNot(b.CreateOr(below(), bit()));
  case Special::Clock:
    return half(*this, cycles(*this), false);
  case Special::ClockHi:
    return half(*this, cycles(*this), true);
  case Special::Clock64:
    return cycles(*this);
  case Special::GlobalTimer:
    return nanoseconds(*this);
  case Special::GlobalTimerLo:
    return half(*this, nanoseconds(*this), false);
  case Special::GlobalTimerHi:
    return half(*this, nanoseconds(*this), true);
  case Special::TotalSmemSize: {
    // A function does not know which kernel it runs for.
    if (!source_.isKernel && unitLowering.unit.kernels.size() != 1)
      break;
    const ptx::Function &kernel = source_.isKernel ? source_ : *unitLowering.unit.kernels[0];
    uint64_t fixed = staticSharedBytes(unitLowering.ptxModule, kernel);
    return b.CreateAdd(launch.argument(offsetof(abi::LaunchArguments, dynamicSharedBytes), 32),
                       b.getInt32(uint32_t(fixed)));
  }
  case Special::DynamicSmemSize:
    return launch.argument(offsetof(abi::LaunchArguments, dynamicSharedBytes), 32);
  case Special::WarpSize:
    return b.getInt32(32);
  case Special::EnvReg1:
    return b.CreateTrunc(
        b.CreateLShr(launch.argument(offsetof(abi::LaunchArguments, gridWorkspace), 64), 32),
        b.getInt32Ty());
  case Special::EnvReg2:
    return b.CreateTrunc(launch.argument(offsetof(abi::LaunchArguments, gridWorkspace), 64),
                         b.getInt32Ty());
  default: // %smid: which compute unit this is has no portable answer; clusters, counters
    break;
  }
  ptx::Operand here{};
  problem(here, "this special register is not supported", true);
  return nullptr;
}

} // namespace rubia::lowering
