// SPDX-License-Identifier: Apache-2.0
#include "Rows.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <array>

using namespace llvm;

namespace rubia::random_kernels {
namespace {

// A line stands for all combinations of its alternatives: "(a|b|)" is a, b, or nothing.
struct Line {
  Topic topic;
  const char *word, *destinations, *sources;
};

constexpr Line kLines[] = {
    {Topic::Arithmetic, "add.(u16|s16)", "h", "hh"},
    {Topic::Arithmetic, "add.(u32|s32)", "r", "rr"},
    {Topic::Arithmetic, "add.(u64|s64)", "d", "dd"},
    {Topic::Arithmetic, "(add|sub).sat.s32", "r", "rr"},
    {Topic::Arithmetic, "sub.(u16|s16)", "h", "hh"},
    {Topic::Arithmetic, "sub.(u32|s32)", "r", "rr"},
    {Topic::Arithmetic, "sub.(u64|s64)", "d", "dd"},
    {Topic::Arithmetic, "mul.(lo|hi).(u16|s16)", "h", "hh"},
    {Topic::Arithmetic, "mul.(lo|hi).(u32|s32)", "r", "rr"},
    {Topic::Arithmetic, "mul.(lo|hi).(u64|s64)", "d", "dd"},
    {Topic::Arithmetic, "mad.(lo|hi).(u16|s16)", "h", "hhh"},
    {Topic::Arithmetic, "mad.(lo|hi).(u32|s32)", "r", "rrr"},
    {Topic::Arithmetic, "mad.(lo|hi).(u64|s64)", "d", "ddd"},
    {Topic::Arithmetic, "mad.hi.sat.s32", "r", "rrr"},
    {Topic::Arithmetic, "(mul24.(lo|hi)).(u32|s32)", "r", "rr"},
    {Topic::Arithmetic, "(mad24.(lo|hi)).(u32|s32)", "r", "rrr"},
    {Topic::Arithmetic, "sad.(u16|s16)", "h", "hhh"},
    {Topic::Arithmetic, "sad.(u32|s32)", "r", "rrr"},
    {Topic::Arithmetic, "sad.(u64|s64)", "d", "ddd"},
    {Topic::Arithmetic, "(abs|neg).s16", "h", "h"},
    {Topic::Arithmetic, "(abs|neg).s32", "r", "r"},
    {Topic::Arithmetic, "(abs|neg).s64", "d", "d"},
    {Topic::Arithmetic, "(min|max).(u16|s16)", "h", "hh"},
    {Topic::Arithmetic, "(min|max).(u32|s32|relu.s32)", "r", "rr"},
    {Topic::Arithmetic, "(min|max).(u64|s64)", "d", "dd"},
    {Topic::Division, "(div|rem).(u16|s16)", "h", "hh"},
    {Topic::Division, "(div|rem).(u32|s32)", "r", "rr"},
    {Topic::Division, "(div|rem).(u64|s64)", "d", "dd"},
    {Topic::Wide, "mul.wide.(u16|s16)", "r", "hh"},
    {Topic::Wide, "mul.wide.(u32|s32)", "d", "rr"},
    {Topic::Wide, "mad.wide.(u16|s16)", "r", "hhr"},
    {Topic::Wide, "mad.wide.(u32|s32)", "d", "rrd"},
    {Topic::Bits, "popc.b32", "r", "r"},
    {Topic::Bits, "popc.b64", "r", "d"},
    {Topic::Bits, "clz.b32", "r", "r"},
    {Topic::Bits, "clz.b64", "r", "d"},
    {Topic::Bits, "bfind(.shiftamt|).(u32|s32)", "r", "r"},
    {Topic::Bits, "bfind(.shiftamt|).(u64|s64)", "r", "d"},
    {Topic::Bits, "brev.b32", "r", "r"},
    {Topic::Bits, "brev.b64", "d", "d"},
    {Topic::Bits, "bfe.(u32|s32)", "r", "ruv"},
    {Topic::Bits, "bfe.(u64|s64)", "d", "dtt"},
    {Topic::Bits, "bfi.b32", "r", "rruv"},
    {Topic::Bits, "bfi.b64", "d", "ddtt"},
    {Topic::Bits, "fns.b32", "r", "rtr"},
    {Topic::Bits, "szext.(clamp|wrap).(u32|s32)", "r", "rs"},
    {Topic::Bits, "bmsk.(clamp|wrap).b32", "r", "ss"},
    {Topic::Logic, "(and|or|xor).b16", "h", "hh"},
    {Topic::Logic, "(and|or|xor).b32", "r", "rr"},
    {Topic::Logic, "(and|or|xor).b64", "d", "dd"},
    {Topic::Logic, "(not|cnot).b16", "h", "h"},
    {Topic::Logic, "(not|cnot).b32", "r", "r"},
    {Topic::Logic, "(not|cnot).b64", "d", "d"},
    {Topic::Logic, "(and|or|xor).pred", "p", "qq"},
    {Topic::Logic, "not.pred", "p", "p"},
    {Topic::Logic, "lop3.b32", "r", "rrrk"},
    {Topic::Logic, "shl.b16", "h", "hs"},
    {Topic::Logic, "shl.b32", "r", "rs"},
    {Topic::Logic, "shl.b64", "d", "ds"},
    {Topic::Logic, "shr.(b16|u16|s16)", "h", "hs"},
    {Topic::Logic, "shr.(b32|u32|s32)", "r", "rs"},
    {Topic::Logic, "shr.(b64|u64|s64)", "d", "ds"},
    {Topic::Logic, "shf.(l|r).(clamp|wrap).b32", "r", "rrs"},
    {Topic::Logic, "prmt.b32", "r", "rrr"},
    {Topic::Logic, "prmt.b32.(f4e|b4e|rc8|ecl|ecr|rc16)", "r", "rrt"},
    {Topic::Packed, "add.(u16x2|s16x2)", "r", "rr"},
    {Topic::Packed, "(min|max).(u16x2|s16x2|relu.s16x2)", "r", "rr"},
    {Topic::Packed, "dp4a.(u32|s32).(u32|s32)", "r", "rrr"},
    {Topic::Packed, "dp2a.(lo|hi).(u32|s32).(u32|s32)", "r", "rrr"},
    {Topic::Packed, "cvt.pack.sat.(s16|u16).s32", "r", "rr"},
    {Topic::Packed, "cvt.pack.sat.(s8|u8|s4|u4|s2|u2).s32.b32", "r", "rrr"},
    {Topic::Video, "(vadd|vsub|vabsdiff|vmin|vmax).(u32|s32).(u32|s32).(u32|s32)(.sat|)", "r",
     "rr"},
    {Topic::Video,
     "(vadd|vsub|vabsdiff|vmin|vmax).(u32|s32).(u32|s32).(u32|s32)(.sat|).(add|min|max)", "r",
     "rrr"},
    {Topic::Video, "(vshl|vshr).(u32|s32).(u32|s32).u32(.sat|).(clamp|wrap)", "r", "rr"},
    {Topic::Video, "vmad.(s32.s32.s32|s32.u32.s32|s32.s32.u32|u32.u32.u32)", "r", "rrr"},
    {Topic::Video, "vset.(u32|s32).(u32|s32).(eq|lt|ge)", "r", "rr"},
    {Topic::Video, "(vadd|vsub|vavrg|vabsdiff|vmin|vmax)(2|4).(u32|s32).(u32|s32).(u32|s32)(.sat|)",
     "r", "rrr"},
    {Topic::Video, "(vadd|vsub|vabsdiff|vmin|vmax)(2|4).(u32|s32).(u32|s32).(u32|s32).add", "r",
     "rrr"},
    {Topic::Video, "vset(2|4).(u32|s32).(u32|s32).(eq|ne|lt|le|gt|ge)", "r", "rrr"},
    {Topic::Single, "(add|sub).(rn|rz|rm|rp)(.ftz|)(.sat|).f32", "f", "ff"},
    {Topic::Single, "mul.(rn|rz|rm|rp)(.ftz|)(.sat|).f32", "f", "ff"},
    {Topic::Single, "(fma|mad).(rn|rz|rm|rp)(.ftz|)(.sat|).f32", "f", "fff"},
    {Topic::Single, "(add|sub|mul).rn.f32", "f", "ff"},
    {Topic::Single, "fma.rn.f32", "f", "fff"},
    {Topic::Single, "(min|max)(.ftz|)(.NaN|).f32", "f", "ff"},
    {Topic::Single, "(min|max)(.ftz|)(.NaN|).xorsign.abs.f32", "f", "rr"},
    {Topic::Single, "(abs|neg)(.ftz|).f32", "f", "f"},
    {Topic::Single, "copysign.f32", "f", "rf"},
    {Topic::Double, "(add|sub).(rn|rz|rm|rp).f64", "e", "ee"},
    {Topic::Double, "mul.(rn|rz|rm|rp).f64", "e", "ee"},
    {Topic::Double, "(fma|mad).(rn|rz|rm|rp).f64", "e", "eee"},
    {Topic::Double, "(add|sub|mul).rn.f64", "e", "ee"},
    {Topic::Double, "(min|max).f64", "e", "ee"},
    {Topic::Double, "(abs|neg).f64", "e", "e"},
    {Topic::Double, "copysign.f64", "e", "de"},
    {Topic::Slow, "div.(rn|rz|rm|rp)(.ftz|).f32", "f", "ff"},
    {Topic::Slow, "(rcp|sqrt).(rn|rz|rm|rp)(.ftz|).f32", "f", "f"},
    {Topic::Slow, "div.(rn|rz|rm|rp).f64", "e", "ee"},
    {Topic::Slow, "(rcp|sqrt).(rn|rz|rm|rp).f64", "e", "e"},
    {Topic::Half, "(add|sub|mul).rn(.ftz|)(.sat|).f16", "x", "xx"},
    {Topic::Half, "(add|sub|mul).rn(.ftz|)(.sat|).f16x2", "y", "yy"},
    {Topic::Half, "fma.rn(.ftz|)(.sat|.relu|).f16", "x", "xxx"},
    {Topic::Half, "fma.rn(.ftz|)(.sat|.relu|).f16x2", "y", "yyy"},
    {Topic::Half, "(min|max)(.ftz|)(.NaN|).f16", "x", "xx"},
    {Topic::Half, "(min|max)(.ftz|)(.NaN|).f16x2", "y", "yy"},
    {Topic::Half, "(min|max)(.ftz|)(.NaN|).xorsign.abs.f16", "x", "hh"},
    {Topic::Half, "(min|max)(.ftz|)(.NaN|).xorsign.abs.f16x2", "y", "rr"},
    {Topic::Half, "(abs|neg)(.ftz|).f16", "x", "x"},
    {Topic::Half, "(abs|neg)(.ftz|).f16x2", "y", "y"},
    {Topic::BFloat, "(add|sub|mul).rn.bf16", "b", "bb"},
    {Topic::BFloat, "(add|sub|mul).rn.bf16x2", "z", "zz"},
    {Topic::BFloat, "fma.rn(.relu|).bf16", "b", "bbb"},
    {Topic::BFloat, "fma.rn(.relu|).bf16x2", "z", "zzz"},
    {Topic::BFloat, "(min|max)(.NaN|).bf16", "b", "bb"},
    {Topic::BFloat, "(min|max)(.NaN|).bf16x2", "z", "zz"},
    {Topic::BFloat, "(abs|neg).bf16", "b", "b"},
    {Topic::BFloat, "(abs|neg).bf16x2", "z", "z"},
    {Topic::Convert, "cvt.(u16|s16).(u32|s32)", "h", "r"},
    {Topic::Convert, "cvt.(u16|s16).(u64|s64)", "h", "d"},
    {Topic::Convert, "cvt.(u32|s32).(u8|s8|u16|s16)", "r", "h"},
    {Topic::Convert, "cvt.(u32|s32).(u8|s8|u64|s64)", "r", "d"},
    {Topic::Convert, "cvt.(u64|s64).(u8|s8|u16|s16)", "d", "h"},
    {Topic::Convert, "cvt.(u64|s64).(u8|s8|u32|s32)", "d", "r"},
    {Topic::Convert, "cvt.(u8|s8).(u32|s32)", "r", "r"},
    {Topic::Convert, "cvt.sat.(u8.s32|s8.s32|u8.u32|s8.u32|u16.s32|s16.u32|u32.s32|s32.u32)", "r",
     "r"},
    {Topic::Convert, "cvt.sat.(u32.s64|s32.s64|s32.u64|u16.s64|s8.s64)", "r", "d"},
    {Topic::Convert, "cvt.sat.(u64.s32|u64.s16)", "d", "r"},
    {Topic::Convert, "cvt.(rni|rzi|rmi|rpi)(.ftz|).(u32|s32|u16|s16|u8|s8).f32", "r", "f"},
    {Topic::Convert, "cvt.(rni|rzi|rmi|rpi)(.ftz|).(u64|s64).f32", "d", "f"},
    {Topic::Convert, "cvt.(rni|rzi|rmi|rpi).(u32|s32|u16|s16).f64", "r", "e"},
    {Topic::Convert, "cvt.(rni|rzi|rmi|rpi).(u64|s64).f64", "d", "e"},
    {Topic::Convert, "cvt.(rni|rzi|rmi|rpi).(u32|s32|u16|s16).f16", "r", "x"},
    {Topic::Convert, "cvt.(rni|rzi|rmi|rpi).(u32|s32).bf16", "r", "b"},
    {Topic::Convert, "cvt.(rni|rzi|rmi|rpi).(u16|s16).bf16", "h", "b"},
    {Topic::Convert, "cvt.(rn|rz|rm|rp)(.sat|).f32.(u32|s32|u16|s16|u8|s8)", "f", "r"},
    {Topic::Convert, "cvt.(rn|rz|rm|rp).f32.(u64|s64)", "f", "d"},
    {Topic::Convert, "cvt.(rn|rz|rm|rp).f64.(u32|s32|u16|s16)", "e", "r"},
    {Topic::Convert, "cvt.(rn|rz|rm|rp).f64.(u64|s64)", "e", "d"},
    {Topic::Convert, "cvt.(rn|rz|rm|rp).f16.(u32|s32|u16|s16)", "x", "r"},
    {Topic::Convert, "cvt.(rn|rz|rm|rp).f16.(u64|s64)", "x", "d"},
    {Topic::Convert, "cvt.(rn|rz|rm|rp).bf16.(u32|s32)", "b", "r"},
    {Topic::Convert, "cvt.(rn|rz|rm|rp).bf16.(u16|s16)", "b", "h"},
    {Topic::Convert, "cvt.(rn|rz|rm|rp)(.ftz|)(.sat|).f16.f32", "x", "f"},
    {Topic::Convert, "cvt.(rn|rz|rm|rp)(.sat|).f16.f64", "x", "e"},
    {Topic::Convert, "cvt.(rn|rz|rm|rp)(.ftz|)(.sat|).f32.f64", "f", "e"},
    {Topic::Convert, "cvt(.ftz|)(.sat|).f32.f16", "f", "x"},
    {Topic::Convert, "cvt(.sat|).f64.f16", "e", "x"},
    {Topic::Convert, "cvt(.ftz|)(.sat|).f64.f32", "e", "f"},
    {Topic::Convert, "cvt(.rni|.rzi|.rmi|.rpi)(.ftz|)(.sat|).f32.f32", "f", "f"},
    {Topic::Convert, "cvt(.rni|.rzi|.rmi|.rpi)(.sat|).f64.f64", "e", "e"},
    {Topic::Convert, "cvt(.rni|.rzi|.rmi|.rpi)(.sat|).f16.f16", "x", "x"},
    {Topic::Convert, "cvt(.rni|.rzi|.rmi|.rpi).bf16.bf16", "b", "b"},
    {Topic::Convert, "cvt.(rn|rz)(.relu|)(.satfinite|).bf16.f32", "b", "f"},
    {Topic::Convert, "cvt.f32.bf16", "f", "b"},
    {Topic::Convert, "cvt.(rn|rz).bf16.f16", "b", "x"},
    {Topic::Convert, "cvt.(rn|rz|rm|rp).bf16.f64", "b", "e"},
    {Topic::Convert, "cvt.(rn|rz)(.relu|)(.satfinite|).f16x2.f32", "y", "ff"},
    {Topic::Convert, "cvt.(rn|rz)(.relu|)(.satfinite|).bf16x2.f32", "z", "ff"},
    {Topic::Convert, "cvt.(rn|rz).tf32.f32", "f", "f"},
    {Topic::Compare, "setp.(eq|ne|lt|le|gt|ge).s16", "p", "hh"},
    {Topic::Compare, "setp.(eq|ne|lt|le|gt|ge|lo|ls|hi|hs).(u32|u64)", "p", "#"},
    {Topic::Compare, "setp.(eq|ne|lt|le|gt|ge).(s32|s64)", "p", "#"},
    {Topic::Compare, "setp.(eq|ne|lt|le|gt|ge|lo|ls|hi|hs).u16", "p", "hh"},
    {Topic::Compare, "setp.(eq|lt|ge|ne).(and|or|xor).(s32|u32)", "p", "#q"},
    {Topic::Compare, "setp.(eq|lt|gt|ne).(and|or|xor).(s32|u32)", "pp", "#q"},
    {Topic::Compare, "setp.(lt|ge|equ|neu|ltu|leu|gtu|geu|num|nan|eq|gt)(.ftz|).f32", "p", "ff"},
    {Topic::Compare, "setp.(lt|ge|equ|neu|ltu|leu|gtu|geu|num|nan|eq|gt).f64", "p", "ee"},
    {Topic::Compare, "setp.(lt|ge|equ|neu|ltu|num|nan)(.ftz|).f16", "p", "xx"},
    {Topic::Compare, "setp.(lt|ge|equ|neu|ltu|num|nan)(.ftz|).f16x2", "pp", "yy"},
    {Topic::Compare, "setp.(lt|ge|equ|neu|ltu|num|nan).bf16", "p", "bb"},
    {Topic::Compare, "setp.(lt|gtu|ne).(and|or|xor)(.ftz|).f32", "pp", "ffq"},
    {Topic::Compare, "set.(eq|ne|lt|le|gt|ge).(u32|s32).(u32|s32)", "r", "rr"},
    {Topic::Compare, "set.(eq|ne|lt|ge).(and|or|xor).(u32|s32).s32", "r", "rrq"},
    {Topic::Compare, "set.(lt|ge|equ|neu|nan)(.ftz|).(u32|s32).f32", "r", "ff"},
    {Topic::Compare, "set.(lt|ge|equ|neu|nan)(.ftz|).f32.f32", "f", "ff"},
    {Topic::Compare, "set.(lt|ge|equ|neu|nan).(u32|s32).f64", "r", "ee"},
    {Topic::Compare, "set.(lt|ge|equ|neu|nan)(.ftz|).(u32|s32).f16", "r", "xx"},
    {Topic::Compare, "set.(lt|ge|equ|neu|nan)(.ftz|).f16x2.f16x2", "y", "yy"},
    {Topic::Compare, "set.(lt|ge|equ|neu|nan)(.ftz|).(u32|s32).f16x2", "r", "yy"},
    {Topic::Compare, "set.(lt|ge|equ|neu|nan).bf16x2.bf16x2", "z", "zz"},
    {Topic::Compare, "testp.(finite|infinite|number|notanumber|normal|subnormal).f32", "p", "f"},
    {Topic::Compare, "testp.(finite|infinite|number|notanumber|normal|subnormal).f64", "p", "e"},
    {Topic::Select, "selp.(b16|u16|s16)", "h", "hhq"},
    {Topic::Select, "selp.(b32|u32|s32)", "r", "rrq"},
    {Topic::Select, "selp.(b64|u64|s64)", "d", "ddq"},
    {Topic::Select, "selp.f32", "f", "ffq"},
    {Topic::Select, "selp.f64", "e", "eeq"},
    {Topic::Select, "selp.b16", "x", "xxq"},
    {Topic::Select, "selp.b32", "y", "yyq"},
    {Topic::Select, "slct.(b16|u16).s32", "h", "hhr"},
    {Topic::Select, "slct.(b32|u32).s32", "r", "rrr"},
    {Topic::Select, "slct.(b64|u64).s32", "d", "ddr"},
    {Topic::Select, "slct(.ftz|).(b32|s32).f32", "r", "rrf"},
    {Topic::Select, "slct(.ftz|).f32.f32", "f", "fff"},
    {Topic::Select, "slct(.ftz|).f64.f32", "e", "eef"},
    {Topic::Move, "mov.(b32|u32)", "r", "r"},
    {Topic::Move, "mov.(b64|u64)", "d", "d"},
    {Topic::Move, "mov.b32", "f", "r"},
    {Topic::Move, "mov.b64", "e", "d"},
    {Topic::Move, "mov.b16", "x", "h"},
    {Topic::Move, "mov.b16", "b", "h"},
    {Topic::Move, "mov.b32", "y", "r"},
    {Topic::Move, "mov.b32", "z", "r"},
    {Topic::Fused, "(add|sub|mul)(.ftz|).f32", "f", "ff"},
    {Topic::Fused, "(mul|add|sub).f32", "f", "ff"},
    {Topic::Fused, "mul.f32", "f", "ff"},
    {Topic::Fused, "(add|sub).sat.f32", "f", "ff"},
    {Topic::Fused, "(add|sub|mul).f64", "e", "ee"},
    {Topic::Fused, "mul.f64", "e", "ee"},
    {Topic::Fused, "(add|sub|mul).f16", "x", "xx"},
    {Topic::Fused, "(add|sub|mul).f16x2", "y", "yy"},
    {Topic::Fused, "mul.f16x2", "y", "yy"},
    {Topic::Fused, "neg.f32", "f", "f"},
    {Topic::NanBits, "mov.b32", "r", "f"},
    {Topic::NanBits, "mov.b64", "d", "e"},
    {Topic::NanBits, "mov.b16", "h", "x"},
    {Topic::NanBits, "mov.b16", "h", "b"},
    {Topic::NanBits, "mov.b32", "r", "y"},
    {Topic::NanBits, "mov.b32", "r", "z"},
    {Topic::NanBits, "copysign.f32", "f", "ff"},
    {Topic::NanBits, "(min|max)(.ftz|)(.NaN|).xorsign.abs.f32", "f", "ff"},
    {Topic::NanBits, "cvt.rn.satfinite(.relu|).(e4m3x2|e5m2x2).f32", "h", "ff"},
    {Topic::NanBits, "cvt.rn.satfinite(.relu|).(e4m3x2|e5m2x2).f16x2", "h", "y"},
    {Topic::NanBits, "cvt.rn(.relu|).f16x2.(e4m3x2|e5m2x2)", "y", "h"},
};

// All texts that a pattern stands for.
std::vector<std::string> expand(const std::string &pattern) {
  size_t open = pattern.find('(');
  if (open == std::string::npos)
    return {pattern};
  size_t close = open;
  std::vector<size_t> bars = {open};
  for (int depth = 0;; ++close) {
    depth += pattern[close] == '(' ? 1 : pattern[close] == ')' ? -1 : 0;
    if (pattern[close] == '|' && depth == 1)
      bars.push_back(close);
    if (depth == 0)
      break;
  }
  bars.push_back(close);
  std::vector<std::string> all;
  for (size_t i = 0; i + 1 < bars.size(); ++i) {
    std::string choice = pattern.substr(bars[i] + 1, bars[i + 1] - bars[i] - 1);
    for (std::string &text : expand(pattern.substr(0, open) + choice + pattern.substr(close + 1)))
      all.push_back(std::move(text));
  }
  return all;
}

// "#" stands for two operands of the word's last type.
std::string operandsOf(StringRef letters, StringRef word) {
  if (!letters.consume_front("#"))
    return letters.str();
  return (word.ends_with("64") ? "dd" : "rr") + letters.str();
}

} // namespace

Kind kindOf(char letter) {
  switch (letter) {
  case 'p':
  case 'q':
    return Kind::Pred;
  case 'h':
    return Kind::B16;
  case 'd':
    return Kind::B64;
  case 'f':
    return Kind::F32;
  case 'e':
    return Kind::F64;
  case 'x':
    return Kind::F16;
  case 'b':
    return Kind::BF16;
  case 'y':
    return Kind::F16x2;
  case 'z':
    return Kind::BF16x2;
  default: // r s t u v k
    return Kind::B32;
  }
}

const std::vector<std::vector<Row>> &rowsOf(Topic topic) {
  static const auto kAll = [] {
    std::array<std::vector<std::vector<Row>>, kTopicCount> all;
    for (const Line &line : kLines) {
      std::vector<Row> &rows = all[unsigned(line.topic)].emplace_back();
      for (const std::string &word : expand(line.word))
        rows.push_back({line.topic, word, line.destinations, operandsOf(line.sources, word)});
    }
    return all;
  }();
  return kAll[unsigned(topic)];
}

} // namespace rubia::random_kernels
