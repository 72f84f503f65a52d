// SPDX-License-Identifier: Apache-2.0
// PTX ISA: data-movement-and-conversion-instructions: mov, cvta, isspacep, mapa, getctarank,
// createpolicy.
#include "ptx-frontend/SpecialRegisters.h"
#include "reference/lib/interpreter/Cta.h"
#include "reference/lib/interpreter/Decode.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Createpolicy, Cvta, Getctarank, Isspacep, Mapa, Mov;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier To;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {
namespace {

namespace Mod = ptx::Mod;
using ptx::StateSpace;

void copyOne(Warp &warp, const Micro &micro) {
  const uint64_t *from = warp.source(micro, 0), *active = warp.activeRow();
  uint64_t *to = warp.destination(micro, 0);
  const uint64_t mask = micro.destinations[0].mask;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    to[lane] = (to[lane] & ~active[lane]) | (from[lane] & mask & active[lane]);
}

// The bits of all sources, low ones first, become those of all destinations; detail: bits of a
// source, and of a destination above them.
void repack(Warp &warp, const Micro &micro) {
  using Wide = unsigned __int128;
  const unsigned sourceBits = unsigned(micro.detail & 0xff), bits = unsigned(micro.detail >> 8);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    Wide value = 0;
    for (unsigned i = 0; i < micro.sources.size(); ++i)
      value |= Wide(warp.source(micro, i)[lane] & maskOf(sourceBits)) << (i * sourceBits);
    for (unsigned i = 0; i < micro.destinations.size(); ++i)
      warp.write(micro, i, lane, uint64_t(value >> (i * bits)) & maskOf(bits));
  }
}

void moveVector(Warp &warp, const Micro &micro) {
  uint64_t values[8];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    for (unsigned i = 0; i < micro.sources.size(); ++i)
      values[i] = warp.source(micro, i)[lane];
    for (unsigned i = 0; i < micro.destinations.size(); ++i)
      warp.write(micro, i, lane, values[i]);
  }
}

// A clock is the number of instructions that the warp has executed.
void moveClock(Warp &warp, const Micro &micro) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.write(micro, 0, lane, micro.detail ? 0 : warp.clock());
}

void decodeMov(Decoder &decoder) {
  using Special = ptx::SpecialRegister;
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  const ptx::Type type = decoder.spelling().type();
  const unsigned width = decoder.spelling().vectorWidth();
  const bool isPacked = operands[0].kind == ptx::Operand::Kind::Vector ||
                        operands[1].kind == ptx::Operand::Kind::Vector || type == ptx::Type::B128;
  const ptx::Operand &from = operands[1];
  if (from.kind == ptx::Operand::Kind::SpecialRegister) {
    if (is_contained({Special::Clock, Special::Clock64, Special::GlobalTimer,
                      Special::GlobalTimerLo, Special::ClockHi, Special::GlobalTimerHi},
                     from.special)) {
      decoder.destination(operands[0]);
      decoder.micro.detail =
          from.special == Special::ClockHi || from.special == Special::GlobalTimerHi;
      return decoder.execute(moveClock);
    }
    if (from.special >= Special::Pm0 && from.special <= Special::Pm7_64)
      return decoder.unsupported("a performance counter");
  }
  if (width > 1) {
    decoder.destination(operands[0]);
    if (from.kind == ptx::Operand::Kind::SpecialRegister && from.component == 0xff)
      for (unsigned i = 0; i < width; ++i) {
        ptx::Operand element = from;
        element.component = uint8_t(i);
        decoder.source(element, type);
      }
    else
      decoder.source(from, type);
    if (decoder.sources.size() != decoder.destinations.size())
      return decoder.unsupported("a vector move of another shape");
    return decoder.execute(moveVector);
  }
  decoder.destination(operands[0]);
  decoder.source(from,
                 isPacked && from.kind == ptx::Operand::Kind::Vector ? ptx::Type::None : type);
  if (!isPacked)
    return decoder.execute(copyOne);
  const unsigned bits = ptx::sizeInBits(type);
  if (decoder.sources.empty() || decoder.destinations.empty())
    return decoder.unsupported("a move of another shape");
  decoder.micro.detail = bits / decoder.sources.size() | bits / decoder.destinations.size() << 8;
  decoder.execute(repack);
}

// ---------- Generic addresses

template <uint64_t window> void toGeneric(Warp &warp, const Micro &micro) {
  const uint64_t *from = warp.source(micro, 0);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) {
      const bool isParameter = (from[lane] & kWindowMask) == kParamWindow;
      warp.write(micro, 0, lane, isParameter ? from[lane] : from[lane] | window);
    }
}
void fromGeneric(Warp &warp, const Micro &micro) {
  const uint64_t *from = warp.source(micro, 0);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) {
      const uint64_t window = from[lane] & kWindowMask;
      const bool isLocal = window == kSharedWindow || window == kLocalWindow;
      warp.write(micro, 0, lane, isLocal ? from[lane] & ~kWindowMask : from[lane]);
    }
}

void constantToGeneric(Warp &warp, const Micro &micro) {
  const uint64_t *from = warp.source(micro, 0);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.write(micro, 0, lane, warp.cta.grid.constantAddress(from[lane]));
}

void decodeCvta(Decoder &decoder) {
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  if (decoder.spelling().type() != ptx::Type::U64)
    return decoder.unsupported("generic addresses of 32 bits");
  decoder.destination(operands[0]);
  decoder.source(operands[1], ptx::Type::U64);
  switch (decoder.spelling().space()) {
  case StateSpace::Global:
    return decoder.execute(copyOne);
  case StateSpace::Const:
    return decoder.execute(decoder.spelling().has(Mod::To) ? copyOne : constantToGeneric);
  case StateSpace::Shared:
    return decoder.execute(decoder.spelling().has(Mod::To) ? fromGeneric
                                                           : toGeneric<kSharedWindow>);
  case StateSpace::Local:
  case StateSpace::Param:
    return decoder.execute(decoder.spelling().has(Mod::To) ? fromGeneric : toGeneric<kLocalWindow>);
  case StateSpace::None:
  case StateSpace::Reg:
  case StateSpace::SReg:
  case StateSpace::Tex:
    break;
  }
  decoder.unsupported("a generic address of this space");
}

// detail: the window; 0: global; 1: constant
void isSpace(Warp &warp, const Micro &micro) {
  const uint64_t *address = warp.source(micro, 0);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    const uint64_t window = address[lane] & kWindowMask;
    const bool isConstant = any_of(warp.cta.grid.constants, [&](const MemoryRange &range) {
      return address[lane] - range.address < range.bytes.size();
    });
    // Parameters are in global memory too, as on an H100.
    const bool isOther =
        window == kSharedWindow || window == kLocalWindow || window == kFunctionWindow;
    const bool holds = micro.detail > 1    ? window == micro.detail
                       : micro.detail == 1 ? isConstant
                                           : !isOther && !isConstant;
    warp.write(micro, 0, lane, holds);
  }
}
void decodeIsspacep(Decoder &decoder) {
  decoder.destination(decoder.inst().operands[0]);
  decoder.source(decoder.inst().operands[1], ptx::Type::U64);
  const StateSpace space = decoder.spelling().space();
  decoder.micro.detail = space == StateSpace::Shared  ? kSharedWindow
                         : space == StateSpace::Local ? kLocalWindow
                         : space == StateSpace::Param ? kParamWindow
                         : space == StateSpace::Const ? 1
                                                      : 0;
  decoder.execute(isSpace);
}

// A cluster is one CTA.
void mapShared(Warp &warp, const Micro &micro) {
  const uint64_t *rank = warp.source(micro, 1);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1 && rank[lane])
      return warp.fail("CTA " + Twine(rank[lane]) + " of a cluster of one", lane);
  copyOne(warp, micro);
}
void decodeMapa(Decoder &decoder) {
  decoder.destination(decoder.inst().operands[0]);
  decoder.source(decoder.inst().operands[1], decoder.spelling().type());
  decoder.source(decoder.inst().operands[2], ptx::Type::U32);
  decoder.execute(mapShared);
}
void decodeGetctarank(Decoder &decoder) {
  decoder.destination(decoder.inst().operands[0]);
  decoder.source(0);
  decoder.execute(copyOne);
}
// A policy is an opaque number that only cache hints take.
void decodeCreatepolicy(Decoder &decoder) {
  decoder.destination(decoder.inst().operands[0]);
  decoder.source(1);
  decoder.execute(copyOne);
}

constexpr Family kFamilies[] = {
    {ptx::Op::Mov, decodeMov},
    {ptx::Op::Cvta, decodeCvta},
    {ptx::Op::Isspacep, decodeIsspacep},
    {ptx::Op::Mapa, decodeMapa},
    {ptx::Op::Getctarank, decodeGetctarank},
    {ptx::Op::Createpolicy, decodeCreatepolicy},
};

} // namespace

ArrayRef<Family> moves() { return kFamilies; }

} // namespace rubia::reference::interpreter
