// SPDX-License-Identifier: Apache-2.0
// Special registers. PTX ISA: special-registers.
#include "ptx-frontend/SpecialRegisters.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact hasCycleCounter;
} // namespace rubia::targets::Fact

namespace rubia::lowering {

using Special = ptx::SpecialRegister;

// A 64-bit counter of cycles. RDNA 3 has only 20 bits of them, so there it is the constant 100 MHz
// counter; PTX ISA: special-registers-clock promises a counter, not its rate.
static Value *cycles(FunctionLowering &fn) {
  return fn.builder().CreateIntrinsic(fn.intType(64),
                                      targets::Fact::hasCycleCounter(*fn.target().row)
                                          ? Intrinsic::readcyclecounter
                                          : Intrinsic::readsteadycounter,
                                      {});
}

// s_memrealtime counts at 100 MHz on every target; %globaltimer is in nanoseconds.
static Value *nanoseconds(FunctionLowering &fn) {
  Value *ticks = fn.builder().CreateIntrinsic(fn.intType(64), Intrinsic::readsteadycounter, {});
  return fn.builder().CreateMul(ticks, fn.builder().getInt64(10));
}

static Value *half(IRBuilder<> &b, Value *value, bool high) {
  return b.CreateTrunc(high ? b.CreateLShr(value, 32) : value, b.getInt32Ty());
}

// A field of a hardware register. AMDGPUOperandSyntax "hwreg".
static Value *hardwareRegister(FunctionLowering &fn, unsigned id, unsigned offset, unsigned width) {
  return fn.builder().CreateIntrinsic(fn.intType(32), Intrinsic::amdgcn_s_getreg,
                                      {fn.constant(32, id | offset << 6 | (width - 1) << 11)});
}

namespace {
// Where the hardware says on which compute unit (RDNA: workgroup processor, which is what HIP
// counts as a multiprocessor) a wave runs: fields of hardware registers, the lowest first.
struct Location {
  struct Field {
    unsigned id, offset, width;
  };
  SmallVector<Field, 3> fields;
  unsigned width() const {
    unsigned sum = 0;
    for (const Field &field : fields)
      sum += field.width;
    return sum;
  }
};
} // namespace

// HW_ID (4): compute unit 11:8, shader array 12, shader engine from 13 on; XCC_ID (20). HW_ID1
// (23): WGP 13:10, shader array 16, shader engine 20:18. CDNA3 ISA, RDNA3 ISA "Hardware registers";
// docs/hardware-assumptions.md.
static Location locationOn(const Target &target) {
  switch (target.row->hardwareId) {
  case targets::HardwareId::Id7:
    return {{{4, 8, 7}}};
  case targets::HardwareId::Id8:
    return {{{4, 8, 8}}};
  case targets::HardwareId::IdXcc:
    return {{{4, 8, 7}, {20, 0, 4}}};
  case targets::HardwareId::Id1:
    return {{{23, 10, 4}, {23, 16, 1}, {23, 18, 3}}};
  }
  llvm_unreachable("a value that the enumeration does not have");
}

static Value *multiprocessor(FunctionLowering &fn) {
  IRBuilder<> &b = fn.builder();
  Value *all = nullptr;
  unsigned at = 0;
  for (auto [id, offset, width] : locationOn(fn.target()).fields) {
    Value *field = hardwareRegister(fn, id, offset, width);
    all = all ? b.CreateOr(all, b.CreateShl(field, at)) : field;
    at += width;
  }
  return all;
}

// NVIDIA's libraries keep scratch of their own there: cooperative_groups, for tiles of more than a
// warp, up to 288 bytes at %reserved_smem_offset_1.
static Value *reservedSharedOffset(FunctionLowering &fn, unsigned beyond) {
  IRBuilder<> &b = fn.builder();
  if (fn.unit().sharedInMemory()) {
    Value *offset = b.getInt32(fn.unit().sharedLayout.reserved + beyond);
    if (!fn.unit().isForClusters())
      return offset;
    return b.CreateOr(b.CreateShl(fn.clusterRank(), abi::kClusterRankAt), offset);
  }
  Value *start = b.CreatePtrToInt(fn.unit().reservedShared(), b.getInt32Ty());
  return b.CreateAdd(start, b.getInt32(beyond));
}

Value *FunctionLowering::specialRegister(Special special, uint8_t component) {
  LaunchState &launch = launchState;
  IRBuilder<> &b = prologueBuilder; // what does not change during a launch is known from the start
  auto vector = [&](Value *(LaunchState::*get)(unsigned)) -> Value * {
    if (component == 0xff)
      component = 0; // PTX ISA 1.x wrote %tid for %tid.x
    return component < 3 ? (launch.*get)(component) : b.getInt32(0);
  };
  auto bit = [&] { return b.CreateShl(b.getInt32(1), b.CreateAnd(launch.laneIndex(), 31)); };
  auto below = [&] { return b.CreateSub(bit(), b.getInt32(1)); };

  auto among = [&](Special first, Special last) { return special >= first && special <= last; };

  if (special == Special::EnvReg1 || special == Special::EnvReg2) {
    Value *workspace = launch.argument(offsetof(abi::LaunchArguments, gridWorkspace), 64);
    return half(b, workspace, special == Special::EnvReg1);
  }
  // What the driver hands over is in the two above; nobody counts anything for %pm.
  if (among(Special::EnvReg0, Special::EnvReg31) || among(Special::Pm0, Special::Pm7))
    return b.getInt32(0);
  if (among(Special::Pm0_64, Special::Pm7_64))
    return b.getInt64(0);

  switch (special) {
  case Special::Tid:
    return vector(&LaunchState::threadIndex);
  case Special::NTid:
    return vector(&LaunchState::ctaSize);
  case Special::CtaId:
    return vector(&LaunchState::ctaIndex);
  case Special::NCtaId:
    return vector(&LaunchState::gridSize);
  case Special::ClusterId:
    return vector(&LaunchState::clusterIndex);
  case Special::NClusterId:
    return vector(&LaunchState::clustersInGrid);
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
    return half(builder(), cycles(*this), false);
  case Special::ClockHi:
    return half(builder(), cycles(*this), true);
  case Special::Clock64:
    return cycles(*this);
  case Special::GlobalTimer:
    return nanoseconds(*this);
  case Special::GlobalTimerLo:
    return half(builder(), nanoseconds(*this), false);
  case Special::GlobalTimerHi:
    return half(builder(), nanoseconds(*this), true);
  case Special::SmId:
    return multiprocessor(*this);
  case Special::NSmId: // more than any %smid; not each of them exists
    return b.getInt32(1u << locationOn(target()).width());
  case Special::ClusterCtaId:
    return vector(&LaunchState::indexInCluster);
  case Special::ClusterCtaRank:
    return unit().isForClusters() ? clusterRank() : b.getInt32(0);
  case Special::ClusterNCtaId:
    return vector(&LaunchState::clusterSize);
  case Special::ClusterNCtaRank:
    return launch.clusterCtas();
  case Special::IsExplicitCluster: {
    Value *flags = launch.argument(offsetof(abi::LaunchArguments, flags), 32);
    Value *given = b.CreateTrunc(flags, b.getInt1Ty()); // abi::kExplicitCluster is bit 0
    const ptx::KernelAttributes &attributes = source_.attributes;
    return attributes.explicitCluster || attributes.requiredCluster[0] ? b.getTrue() : given;
  }
  case Special::TotalSmemSize:
    return launch.argument(offsetof(abi::LaunchArguments, totalSharedBytes), 32);
  case Special::AggrSmemSize: { // in bytes, with what is reserved for libraries
    Value *rounding = b.CreateLShr(launch.argument(offsetof(abi::LaunchArguments, flags), 32),
                                   abi::kSharedRoundingShift);
    rounding = b.CreateAnd(rounding, abi::kSharedAllocationUnit - 1);
    Value *total = launch.argument(offsetof(abi::LaunchArguments, totalSharedBytes), 32);
    return b.CreateSub(b.CreateAdd(total, b.getInt32(kReservedSharedBytes)), rounding);
  }
  case Special::ReservedSmemOffsetBegin:
  case Special::ReservedSmemOffset0:
    return reservedSharedOffset(*this, 0);
  case Special::ReservedSmemOffset1:
    return reservedSharedOffset(*this, kReservedSharedBytes / 2);
  case Special::ReservedSmemOffsetEnd:
    return reservedSharedOffset(*this, kReservedSharedBytes);
  case Special::ReservedSmemOffsetCap:
    return b.getInt32(kReservedSharedBytes);
  case Special::CurrentGraphExec: // no graph is launched from the device
    return b.getInt64(0);
  case Special::DynamicSmemSize:
    return launch.argument(offsetof(abi::LaunchArguments, dynamicSharedBytes), 32);
  case Special::WarpSize:
    return b.getInt32(32);
  default: // the ranges above
    break;
  }
  ptx::Operand here{};
  problem(here, "this special register is not supported", true);
  return nullptr;
}

} // namespace rubia::lowering
