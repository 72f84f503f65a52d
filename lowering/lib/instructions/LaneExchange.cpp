// SPDX-License-Identifier: Apache-2.0
// Which instruction moves values between lanes, by generation. DPP and PERMLANE take some cycles of
// the vector ALU; DS_BPERMUTE and DS_SWIZZLE go through LDS's crossbar, with its latency, and the
// former needs an address in a register.
//
// DPP controls: RDNA3 ISA and CDNA3 ISA, "DPP_CTRL". A row has 16 lanes.
#include "lowering/lib/instructions/LaneExchange.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact hasRowShare, hasRowXmask;
} // namespace rubia::targets::Fact

namespace rubia::lowering {
namespace {

enum DppControl : unsigned {
  kQuadPermute = 0x000,   // | selector of each of the four lanes, two bits
  kRowShiftDown = 0x100,  // row_shl | n: from lane + n
  kRowShiftUp = 0x110,    // row_shr | n: from lane - n
  kRowRotate = 0x120,     // row_ror | n
  kWaveShiftDown = 0x130, // wave_shl:1, gfx9: from lane + 1
  kWaveShiftUp = 0x138,   // wave_shr:1, gfx9
  kRowMirror = 0x140,     // from lane ^ 15
  kRowHalfMirror = 0x141, // from lane ^ 7
  kRowBroadcast = 0x150,  // | n; row_share of RDNA, row_newbcast of CDNA
  kRowXor = 0x160,        // row_xmask | n, RDNA
};

// `old` is what lanes get whose source is outside of the row; null: any value.
Value *moveDpp(FunctionLowering &fn, Value *value, unsigned control, Value *old = nullptr) {
  IRBuilder<> &b = fn.builder();
  Type *type = value->getType();
  return b.CreateIntrinsic(Intrinsic::amdgcn_update_dpp, {type},
                           {old ? old : PoisonValue::get(type), value, b.getInt32(control),
                            b.getInt32(15), b.getInt32(15), b.getInt1(!old)});
}

// From lane ^ 4, where no control does that: each four lanes of a row, a bank, from the next bank
// or the one before.
Value *exchangeBanks(FunctionLowering &fn, Value *value) {
  IRBuilder<> &b = fn.builder();
  auto move = [&](Value *old, unsigned control, unsigned banks) {
    return b.CreateIntrinsic(
        Intrinsic::amdgcn_update_dpp, {value->getType()},
        {old, value, b.getInt32(control), b.getInt32(15), b.getInt32(banks), b.getTrue()});
  };
  Value *even = move(PoisonValue::get(value->getType()), kRowShiftDown | 4, 0b0101);
  return move(even, kRowShiftUp | 4, 0b1010);
}

unsigned quadPermute(function_ref<unsigned(unsigned)> sourceOf) {
  unsigned control = kQuadPermute;
  for (unsigned lane = 0; lane < 4; ++lane)
    control |= (sourceOf(lane) & 3) << (2 * lane);
  return control;
}

// RDNA: from the other row of the warp's two, lane sourceOf(lane of the row).
Value *fromOtherRow(FunctionLowering &fn, Value *value, function_ref<unsigned(unsigned)> sourceOf) {
  IRBuilder<> &b = fn.builder();
  uint64_t selectors = 0;
  for (unsigned lane = 0; lane < 16; ++lane)
    selectors |= uint64_t(sourceOf(lane) & 15) << (4 * lane);
  return b.CreateIntrinsic(Intrinsic::amdgcn_permlanex16, {value->getType()},
                           {PoisonValue::get(value->getType()), value,
                            b.getInt32(uint32_t(selectors)), b.getInt32(uint32_t(selectors >> 32)),
                            b.getFalse(), b.getTrue()});
}

} // namespace

Value *pullFromLane(FunctionLowering &fn, Value *value, Value *lane) {
  IRBuilder<> &b = fn.builder();
  if (fn.target().isPacked)
    lane = b.CreateOr(lane, b.CreateAnd(fn.launch().laneInWave(), 32));
  // ds_bpermute_b32 takes byte addresses.
  return b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_ds_bpermute,
                           {b.CreateShl(lane, 2), value});
}

// One instruction takes each value all the way: a lane on it may be elsewhere.
Value *exchangeByXor(FunctionLowering &fn, Value *value, unsigned mask) {
  IRBuilder<> &b = fn.builder();
  if (mask < 4)
    return moveDpp(fn, value, quadPermute([&](unsigned lane) { return lane ^ mask; }));
  if (targets::Fact::hasRowXmask(*fn.target().row)) {
    if (mask < 16)
      return moveDpp(fn, value, kRowXor | mask);
    return fromOtherRow(fn, value, [&](unsigned lane) { return lane ^ mask; });
  }
  switch (mask) {
  case 4:
    return exchangeBanks(fn, value);
  case 7:
    return moveDpp(fn, value, kRowHalfMirror);
  case 8:
    return moveDpp(fn, value, kRowRotate | 8);
  case 15:
    return moveDpp(fn, value, kRowMirror);
  default: // ds_swizzle_b32 needs no address. CDNA3 ISA, "DS_SWIZZLE_B32": and, or, xor masks
    return b.CreateIntrinsic(fn.intType(32), Intrinsic::amdgcn_ds_swizzle,
                             {value, b.getInt32(mask << 10 | 31)});
  }
}

Value *permuteQuads(FunctionLowering &fn, Value *value, std::array<unsigned, 4> sources) {
  return moveDpp(fn, value, quadPermute([&](unsigned lane) { return sources[lane]; }));
}

Value *shiftLanes(FunctionLowering &fn, Value *value, int distance) {
  const unsigned lanes = unsigned(std::abs(distance));
  const bool down = distance > 0;
  if (lanes == 16)
    return exchangeByXor(fn, value, 16);
  if (!targets::Fact::hasRowXmask(*fn.target().row))
    return lanes == 1 ? moveDpp(fn, value, down ? kWaveShiftDown : kWaveShiftUp) : nullptr;
  Value *other = fromOtherRow(fn, value, [&](unsigned lane) { return lane + unsigned(distance); });
  return lanes > 16 ? other
                    : moveDpp(fn, value, (down ? kRowShiftDown : kRowShiftUp) | lanes, other);
}

Value *broadcastLane(FunctionLowering &fn, Value *value, unsigned lane, unsigned width) {
  IRBuilder<> &b = fn.builder();
  auto read = [&](unsigned from) {
    return b.CreateIntrinsic(Intrinsic::amdgcn_readlane, {value->getType()},
                             {value, b.getInt32(from)});
  };
  switch (width) {
  case 4:
    return moveDpp(fn, value, quadPermute([&](unsigned) { return lane; }));
  case 16:
    if (!targets::Fact::hasRowShare(*fn.target().row))
      return nullptr;
    return moveDpp(fn, value, kRowBroadcast | lane);
  case 32:
    if (!fn.target().isPacked)
      return read(lane);
    return b.CreateSelect(fn.launch().isUpperWarp(), read(lane + 32), read(lane));
  default:
    return nullptr;
  }
}

} // namespace rubia::lowering
