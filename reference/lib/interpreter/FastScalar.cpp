// SPDX-License-Identifier: Apache-2.0
// Common scalar instructions for all lanes at once, in the host's arithmetic: loops that compilers
// make vector instructions of. A row is an instruction's word and what it computes; operands are
// 64-bit rows whose upper bits are zero, and results are cut to the destination's width.
//
// Where the host's arithmetic is not NVIDIA's (NaN bits, what is flushed at the edge of the normal
// numbers, division by zero) a lane is asked of the reference evaluator. Tests compare every row
// with what an H100 gave.
#include "reference/lib/interpreter/Decode.h"
#include "reference/lib/interpreter/Warp.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/bit.h"
#include <bit>
#include <cmath>
#include <type_traits>

using namespace llvm;

namespace rubia::reference::interpreter {
namespace {

using Word = uint64_t;
using Table = StringMap<Execute>;

// ---------- Loops

void blend(Warp &warp, const Micro &micro, const Word *results) {
  const Word *active = warp.activeRow();
  Word *to = warp.destination(micro, 0);
  const Word mask = micro.destinations[0].mask;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    to[lane] = (results[lane] & mask & active[lane]) | (to[lane] & ~active[lane]);
}

template <auto compute> void all(Warp &warp, const Micro &micro) {
  alignas(64) Word results[kLanes];
  if constexpr (std::is_invocable_v<decltype(compute), Word, Word, Word>) {
    const Word *a = warp.source(micro, 0), *b = warp.source(micro, 1), *c = warp.source(micro, 2);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      results[lane] = compute(a[lane], b[lane], c[lane]);
  } else if constexpr (std::is_invocable_v<decltype(compute), Word, Word>) {
    const Word *a = warp.source(micro, 0), *b = warp.source(micro, 1);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      results[lane] = compute(a[lane], b[lane]);
  } else {
    const Word *a = warp.source(micro, 0);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      results[lane] = compute(a[lane]);
  }
  blend(warp, micro, results);
}

// What a computation gives where the reference evaluator must be asked. It is no result: a NaN that
// no instruction makes, and beyond 32 bits.
constexpr Word kAsk = 0xfff0'0000'0badbad1;

void ask(Warp &warp, const Micro &micro, Word *results) {
  const auto &reference = *static_cast<const Reference *>(micro.data);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (results[lane] != kAsk || !(warp.active >> lane & 1))
      continue;
    ReferenceInputs inputs;
    for (unsigned i = 0; i < micro.sources.size(); ++i)
      inputs.source[i] = warp.source(micro, i)[lane];
    results[lane] = reference(inputs).bits;
  }
}

template <auto compute> void mostly(Warp &warp, const Micro &micro) {
  alignas(64) Word results[kLanes];
  Word asks = 0;
  const size_t count = micro.sources.size();
  const Word *a = warp.source(micro, 0), *b = warp.source(micro, count > 1 ? 1 : 0),
             *c = warp.source(micro, count > 2 ? 2 : 0);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if constexpr (std::is_invocable_v<decltype(compute), Word, Word, Word>)
      results[lane] = compute(a[lane], b[lane], c[lane]);
    else if constexpr (std::is_invocable_v<decltype(compute), Word, Word>)
      results[lane] = compute(a[lane], b[lane]);
    else
      results[lane] = compute(a[lane]);
    asks |= results[lane] == kAsk ? warp.activeRow()[lane] : 0;
  }
  if (asks)
    ask(warp, micro, results);
  blend(warp, micro, results);
}

// ---------- Integers

template <typename T> Word extended(T value) {
  return std::is_signed_v<T> ? Word(int64_t(value)) : Word(value);
}

template <typename T> void comparisons(Table &rows, const std::string &type) {
  auto add = [&](const char *name, Execute execute) {
    rows[std::string("setp.") + name + "." + type] = execute;
  };
  add("eq", all<[](Word a, Word b) { return Word(T(a) == T(b)); }>);
  add("ne", all<[](Word a, Word b) { return Word(T(a) != T(b)); }>);
  add("lt", all<[](Word a, Word b) { return Word(T(a) < T(b)); }>);
  add("le", all<[](Word a, Word b) { return Word(T(a) <= T(b)); }>);
  add("gt", all<[](Word a, Word b) { return Word(T(a) > T(b)); }>);
  add("ge", all<[](Word a, Word b) { return Word(T(a) >= T(b)); }>);
}

template <typename T> void integers(Table &rows, const std::string &type) {
  constexpr unsigned kBits = 8 * sizeof(T);
  auto add = [&](const char *name, Execute execute) { rows[name + ("." + type)] = execute; };
  add("add", all<[](Word a, Word b) { return a + b; }>);
  add("sub", all<[](Word a, Word b) { return a - b; }>);
  add("mul.lo", all<[](Word a, Word b) { return a * b; }>);
  add("mad.lo", all<[](Word a, Word b, Word c) { return a * b + c; }>);
  if constexpr (kBits < 64) {
    add("mul.wide", all<[](Word a, Word b) { return extended(T(a)) * extended(T(b)); }>);
    add("mad.wide",
        all<[](Word a, Word b, Word c) { return extended(T(a)) * extended(T(b)) + c; }>);
  }
  add("mul.hi", all<[](Word a, Word b) {
        using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
        return Word((Wide(T(a)) * Wide(T(b))) >> kBits);
      }>);
  add("min", all<[](Word a, Word b) { return extended(T(a) < T(b) ? T(a) : T(b)); }>);
  add("max", all<[](Word a, Word b) { return extended(T(a) > T(b) ? T(a) : T(b)); }>);
  add("shr", all<[](Word a, Word b) {
        if (b >= kBits)
          return std::is_signed_v<T> && T(a) < T(0) ? ~Word(0) : Word(0);
        return extended(T(T(a) >> b));
      }>);
  // The quotient may be the word that asks: then it is asked, which gives the same.
  add("div", mostly<[](Word a, Word b) {
        if (T(b) == 0 || (std::is_signed_v<T> && T(b) == T(-1)))
          return kAsk;
        return extended(T(T(a) / T(b)));
      }>);
  add("rem", mostly<[](Word a, Word b) {
        if (T(b) == 0 || (std::is_signed_v<T> && T(b) == T(-1)))
          return kAsk;
        return extended(T(T(a) % T(b)));
      }>);
  if constexpr (std::is_signed_v<T>) {
    add("neg", all<[](Word a) { return Word(0) - a; }>);
    add("abs", all<[](Word a) { return T(a) < 0 ? Word(0) - a : a; }>);
  }
  comparisons<T>(rows, type);
}

template <typename T> void bits(Table &rows, const std::string &type) {
  constexpr unsigned kBits = 8 * sizeof(T);
  auto add = [&](const char *name, Execute execute) { rows[name + ("." + type)] = execute; };
  add("and", all<[](Word a, Word b) { return a & b; }>);
  add("or", all<[](Word a, Word b) { return a | b; }>);
  add("xor", all<[](Word a, Word b) { return a ^ b; }>);
  add("not", all<[](Word a) { return ~a; }>);
  add("shl", all<[](Word a, Word b) { return b >= kBits ? 0 : a << b; }>);
  add("shr", all<[](Word a, Word b) { return b >= kBits ? 0 : a >> b; }>);
  add("setp.eq", all<[](Word a, Word b) { return Word(T(a) == T(b)); }>);
  add("setp.ne", all<[](Word a, Word b) { return Word(T(a) != T(b)); }>);
  if constexpr (kBits >= 32) {
    add("popc", all<[](Word a) { return Word(std::popcount(T(a))); }>);
    add("clz", all<[](Word a) { return Word(std::countl_zero(T(a))); }>);
  }
}

template <typename To, typename From>
void conversion(Table &rows, const std::string &to, const std::string &from) {
  rows["cvt." + to + "." + from] = all<[](Word a) { return extended(To(From(a))); }>;
}
template <typename To> void conversionsTo(Table &rows, const std::string &to) {
  conversion<To, uint8_t>(rows, to, "u8");
  conversion<To, uint16_t>(rows, to, "u16");
  conversion<To, uint32_t>(rows, to, "u32");
  conversion<To, uint64_t>(rows, to, "u64");
  conversion<To, int8_t>(rows, to, "s8");
  conversion<To, int16_t>(rows, to, "s16");
  conversion<To, int32_t>(rows, to, "s32");
  conversion<To, int64_t>(rows, to, "s64");
}

// ---------- Floating point. The host rounds to nearest and keeps denormals.

float single(Word bits) { return std::bit_cast<float>(uint32_t(bits)); }
Word bitsOf(float value) { return std::bit_cast<uint32_t>(value); }
double wide(Word bits) { return std::bit_cast<double>(bits); }

// Every NaN of f32 has these bits.
Word finished(float value) { return value != value ? 0x7fffffff : bitsOf(value); }
// An operand of .ftz.
Word flushed(Word bits) { return bits & 0x7f800000 ? bits : bits & 0x80000000; }
// A result of .ftz: at the smallest normal number it depends on bits that are rounded off.
Word finishedFlushed(float value) {
  const Word bits = finished(value), magnitude = bits & 0x7fffffff;
  return magnitude == 0x00800000 ? kAsk : flushed(bits);
}
// f64 keeps a NaN's bits by rules of its own.
Word finished(double value) { return value != value ? kAsk : std::bit_cast<Word>(value); }

void floats(Table &rows) {
  for (const char *rounding : {"", ".rn"}) {
    const std::string r = rounding;
    rows["add" + r + ".f32"] = all<[](Word a, Word b) { return finished(single(a) + single(b)); }>;
    rows["sub" + r + ".f32"] = all<[](Word a, Word b) { return finished(single(a) - single(b)); }>;
    rows["mul" + r + ".f32"] = all<[](Word a, Word b) { return finished(single(a) * single(b)); }>;
    rows["add" + r + ".ftz.f32"] = mostly<[](Word a, Word b) {
      return finishedFlushed(single(flushed(a)) + single(flushed(b)));
    }>;
    rows["sub" + r + ".ftz.f32"] = mostly<[](Word a, Word b) {
      return finishedFlushed(single(flushed(a)) - single(flushed(b)));
    }>;
    rows["mul" + r + ".ftz.f32"] = mostly<[](Word a, Word b) {
      return finishedFlushed(single(flushed(a)) * single(flushed(b)));
    }>;
    rows["add" + r + ".f64"] = mostly<[](Word a, Word b) { return finished(wide(a) + wide(b)); }>;
    rows["sub" + r + ".f64"] = mostly<[](Word a, Word b) { return finished(wide(a) - wide(b)); }>;
    rows["mul" + r + ".f64"] = mostly<[](Word a, Word b) { return finished(wide(a) * wide(b)); }>;
  }
  rows["fma.rn.f32"] = all<[](Word a, Word b, Word c) {
    return finished(std::fma(single(a), single(b), single(c)));
  }>;
  rows["fma.rn.ftz.f32"] = mostly<[](Word a, Word b, Word c) {
    return finishedFlushed(std::fma(single(flushed(a)), single(flushed(b)), single(flushed(c))));
  }>;
  rows["fma.rn.f64"] =
      mostly<[](Word a, Word b, Word c) { return finished(std::fma(wide(a), wide(b), wide(c))); }>;
  rows["div.rn.f32"] = all<[](Word a, Word b) { return finished(single(a) / single(b)); }>;
  rows["div.rn.f64"] = mostly<[](Word a, Word b) { return finished(wide(a) / wide(b)); }>;
  rows["rcp.rn.f32"] = all<[](Word a) { return finished(1.0f / single(a)); }>;
  rows["rcp.rn.f64"] = mostly<[](Word a) { return finished(1.0 / wide(a)); }>;
  rows["sqrt.rn.f32"] = all<[](Word a) { return finished(std::sqrt(single(a))); }>;
  rows["sqrt.rn.f64"] = mostly<[](Word a) { return finished(std::sqrt(wide(a))); }>;
}

template <typename T> T floatOf(Word bits) {
  if constexpr (sizeof(T) == 4)
    return single(bits);
  else
    return wide(bits);
}
template <typename T> void floatComparisons(Table &rows, const std::string &type) {
  auto add = [&](const char *name, Execute execute) {
    rows[std::string("setp.") + name + "." + type] = execute;
  };
  add("eq", all<[](Word a, Word b) { return Word(floatOf<T>(a) == floatOf<T>(b)); }>);
  add("lt", all<[](Word a, Word b) { return Word(floatOf<T>(a) < floatOf<T>(b)); }>);
  add("le", all<[](Word a, Word b) { return Word(floatOf<T>(a) <= floatOf<T>(b)); }>);
  add("gt", all<[](Word a, Word b) { return Word(floatOf<T>(a) > floatOf<T>(b)); }>);
  add("ge", all<[](Word a, Word b) { return Word(floatOf<T>(a) >= floatOf<T>(b)); }>);
  add("neu", all<[](Word a, Word b) { return Word(!(floatOf<T>(a) == floatOf<T>(b))); }>);
  add("ltu", all<[](Word a, Word b) { return Word(!(floatOf<T>(a) >= floatOf<T>(b))); }>);
  add("leu", all<[](Word a, Word b) { return Word(!(floatOf<T>(a) > floatOf<T>(b))); }>);
  add("gtu", all<[](Word a, Word b) { return Word(!(floatOf<T>(a) <= floatOf<T>(b))); }>);
  add("geu", all<[](Word a, Word b) { return Word(!(floatOf<T>(a) < floatOf<T>(b))); }>);
}

void floatConversions(Table &rows) {
  rows["cvt.rn.f32.s32"] = all<[](Word a) { return bitsOf(float(int32_t(a))); }>;
  rows["cvt.rn.f32.u32"] = all<[](Word a) { return bitsOf(float(uint32_t(a))); }>;
  rows["cvt.rn.f32.s64"] = all<[](Word a) { return bitsOf(float(int64_t(a))); }>;
  rows["cvt.rn.f32.u64"] = all<[](Word a) { return bitsOf(float(a)); }>;
  rows["cvt.rn.f64.s32"] = all<[](Word a) { return std::bit_cast<Word>(double(int32_t(a))); }>;
  rows["cvt.rn.f64.u32"] = all<[](Word a) { return std::bit_cast<Word>(double(uint32_t(a))); }>;
  rows["cvt.rn.f64.s64"] = all<[](Word a) { return std::bit_cast<Word>(double(int64_t(a))); }>;
  rows["cvt.rn.f64.u64"] = all<[](Word a) { return std::bit_cast<Word>(double(a)); }>;
  rows["cvt.f64.f32"] = mostly<[](Word a) { return finished(double(single(a))); }>;
  rows["cvt.rn.f32.f64"] =
      mostly<[](Word a) { return wide(a) != wide(a) ? kAsk : bitsOf(float(wide(a))); }>;
  // Numbers that fit, towards zero; the rest is saturated.
  rows["cvt.rzi.s32.f32"] = mostly<[](Word a) {
    return std::fabs(single(a)) < 0x1p31f ? Word(int64_t(int32_t(single(a)))) : kAsk;
  }>;
  rows["cvt.rzi.u32.f32"] = mostly<[](Word a) {
    return single(a) >= 0 && single(a) < 0x1p32f ? Word(uint32_t(single(a))) : kAsk;
  }>;
  rows["cvt.rzi.s32.f64"] = mostly<[](Word a) {
    return std::fabs(wide(a)) < 0x1p31 ? Word(int64_t(int32_t(wide(a)))) : kAsk;
  }>;
}

Table table() {
  Table rows;
  integers<uint16_t>(rows, "u16");
  integers<uint32_t>(rows, "u32");
  integers<uint64_t>(rows, "u64");
  integers<int16_t>(rows, "s16");
  integers<int32_t>(rows, "s32");
  integers<int64_t>(rows, "s64");
  bits<uint16_t>(rows, "b16");
  bits<uint32_t>(rows, "b32");
  bits<uint64_t>(rows, "b64");
  rows["and.pred"] = all<[](Word a, Word b) { return a & b; }>;
  rows["or.pred"] = all<[](Word a, Word b) { return a | b; }>;
  rows["xor.pred"] = all<[](Word a, Word b) { return a ^ b; }>;
  rows["not.pred"] = all<[](Word a) { return ~a; }>;
  for (const char *type :
       {"b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"})
    rows[std::string("selp.") + type] = all<[](Word a, Word b, Word p) { return p & 1 ? a : b; }>;
  conversionsTo<uint8_t>(rows, "u8");
  conversionsTo<uint16_t>(rows, "u16");
  conversionsTo<uint32_t>(rows, "u32");
  conversionsTo<uint64_t>(rows, "u64");
  conversionsTo<int8_t>(rows, "s8");
  conversionsTo<int16_t>(rows, "s16");
  conversionsTo<int32_t>(rows, "s32");
  conversionsTo<int64_t>(rows, "s64");
  floats(rows);
  floatComparisons<float>(rows, "f32");
  floatComparisons<double>(rows, "f64");
  floatConversions(rows);
  return rows;
}

} // namespace

Execute fastScalar(StringRef mnemonic) {
  static const auto *rows = new Table(table());
  return rows->lookup(mnemonic);
}

} // namespace rubia::reference::interpreter
