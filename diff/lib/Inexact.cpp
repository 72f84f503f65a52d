// SPDX-License-Identifier: Apache-2.0
#include "diff/lib/Inexact.h"
#include "ptx-frontend/SpecialRegisters.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Acquire, Approx, Cas, Exch, Full, Relaxed, Volatile;
} // namespace rubia::ptx::Mod

namespace Mod = rubia::ptx::Mod;
using rubia::ptx::Operation;
using rubia::ptx::StateSpace;
using rubia::ptx::Type;

namespace rubia::ptx::Op {
extern const Operation Activemask, Atom, ClusterQueryCancel, CpReduceAsyncBulk,
    CpReduceAsyncBulkTensor, Elect, FCos, FEx2, FLg2, FRsqrt, FSin, FTanh, Ld, Mma, MmaBlockScale,
    MmaSp, MmaSpBlockScale, MultimemCpReduceAsyncBulk, MultimemLdReduce, MultimemRed, Red, RedAsync,
    Sured, TcMma, TcMmaWs, Tex, Wgmma, WgmmaSp, WmmaMma;
} // namespace rubia::ptx::Op
namespace Op = rubia::ptx::Op;

namespace rubia::capsule {

static bool isFloat(Type type) { return ptx::classOf(type) == ptx::TypeClass::Float; }

bool hasFloat(const ptx::Spelling &spelling) {
  for (unsigned i = 0; spelling.type(i) != Type::None; ++i)
    if (isFloat(spelling.type(i)))
      return true;
  return false;
}

/// Whether sums of floating-point numbers, or exchanges, in an order that is open make what it
/// writes to memory.
bool isMemoryInexact(const ptx::Spelling &spelling) {
  const Operation kReducing[] = {Op::Atom,
                                 Op::Red,
                                 Op::RedAsync,
                                 Op::CpReduceAsyncBulk,
                                 Op::CpReduceAsyncBulkTensor,
                                 Op::MultimemRed,
                                 Op::MultimemCpReduceAsyncBulk,
                                 Op::Sured};
  return is_contained(kReducing, spelling.op) &&
         (hasFloat(spelling) || spelling.has(Mod::Exch) || spelling.has(Mod::Cas));
}

/// Whether others may write at the same time what is read: programs wait with it, or look back.
static bool isTimed(const ptx::Spelling &spelling) {
  const StateSpace space = spelling.space();
  return spelling.op == Op::Ld && (space == StateSpace::Global || space == StateSpace::None) &&
         (spelling.has(Mod::Volatile) || spelling.has(Mod::Relaxed) || spelling.has(Mod::Acquire));
}

/// Whether the result of the instruction may be another on another processor, for the same inputs.
bool isInexact(const ptx::Instruction &instruction) {
  const ptx::Spelling &spelling = *instruction.spelling;
  if (spelling.has(Mod::Approx) || spelling.has(Mod::Full) || isTimed(spelling))
    return true;
  // Those that have no word for it; and atomics, whose results depend on the order of threads.
  const Operation kAlways[] = {Op::FSin,
                               Op::FCos,
                               Op::FLg2,
                               Op::FEx2,
                               Op::FTanh,
                               Op::FRsqrt,
                               Op::Atom,
                               Op::Activemask,
                               Op::Elect,
                               Op::MultimemLdReduce,
                               Op::ClusterQueryCancel};
  // Sums in an order that is open; that of f64 is a chain.
  const Operation kOfFloats[] = {Op::Mma,           Op::MmaSp,           Op::WmmaMma,
                                 Op::MmaBlockScale, Op::MmaSpBlockScale, Op::Wgmma,
                                 Op::WgmmaSp,       Op::TcMma,           Op::TcMmaWs};
  return is_contained(kAlways, spelling.op) ||
         (is_contained(kOfFloats, spelling.op) && hasFloat(spelling) &&
          spelling.type(0) != Type::F64);
}

bool isOfOrder(const ptx::Spelling &spelling) {
  return isMemoryInexact(spelling) || isTimed(spelling) || spelling.op == Op::Atom;
}

bool mayFilter(const ptx::Spelling &spelling) {
  return spelling.op == Op::Tex && spelling.type(1) == Type::F32; // of the coordinates
}

/// The processor's own: no two have the same.
bool isOwn(ptx::SpecialRegister special) {
  switch (special) {
  case ptx::SpecialRegister::WarpId:
  case ptx::SpecialRegister::NWarpId:
  case ptx::SpecialRegister::TotalSmemSize:
  case ptx::SpecialRegister::AggrSmemSize:
  case ptx::SpecialRegister::ReservedSmemOffsetBegin:
  case ptx::SpecialRegister::ReservedSmemOffsetEnd:
  case ptx::SpecialRegister::ReservedSmemOffsetCap:
  case ptx::SpecialRegister::ReservedSmemOffset0:
  case ptx::SpecialRegister::ReservedSmemOffset1:
  case ptx::SpecialRegister::CurrentGraphExec:
  case ptx::SpecialRegister::SmId:
  case ptx::SpecialRegister::NSmId:
  case ptx::SpecialRegister::GridId:
  case ptx::SpecialRegister::Clock:
  case ptx::SpecialRegister::ClockHi:
  case ptx::SpecialRegister::Clock64:
  case ptx::SpecialRegister::GlobalTimer:
  case ptx::SpecialRegister::GlobalTimerLo:
  case ptx::SpecialRegister::GlobalTimerHi:
    return true;
  default:
    return (special >= ptx::SpecialRegister::Pm0 && special <= ptx::SpecialRegister::Pm7_64) ||
           (special >= ptx::SpecialRegister::EnvReg0 && special <= ptx::SpecialRegister::EnvReg31);
  }
}

} // namespace rubia::capsule
