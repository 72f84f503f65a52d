// SPDX-License-Identifier: Apache-2.0
// PTX ISA: logic-and-shift-instructions, and prmt.
#include "tests/lowering/arithmetic/Harness.h"

using namespace rubia::lowering::test;

static uint64_t maskOf(unsigned bits) { return ~0ull >> (64 - bits); }
static Kind kindOf(unsigned bits) {
  return bits == 16 ? Kind::I16 : bits == 32 ? Kind::I32 : Kind::I64;
}

TEST(Logic, BitwiseOperations) {
  for (unsigned bits : {16u, 32u, 64u}) {
    Kind k = kindOf(bits);
    std::string b = ".b" + std::to_string(bits);
    check({"and" + b + " d, a, b", k, {k, k}, [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
             return a & b;
           }});
    check({"or" + b + " d, a, b", k, {k, k}, [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
             return a | b;
           }});
    check({"xor" + b + " d, a, b", k, {k, k}, [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
             return a ^ b;
           }});
    check({"not" + b + " d, a", k, {k}, [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
             return ~a & maskOf(bits);
           }});
    check({"cnot" + b + " d, a", k, {k}, [](uint64_t a, uint64_t, uint64_t, uint64_t) {
             return a == 0;
           }});
  }
  Kind p = Kind::Pred;
  check({"and.pred d, a, b", p, {p, p}, [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
           return a & b;
         }});
  check({"or.pred d, a, b", p, {p, p}, [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
           return a | b;
         }});
  check({"xor.pred d, a, b", p, {p, p}, [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
           return a ^ b;
         }});
  check({"not.pred d, a", p, {p}, [](uint64_t a, uint64_t, uint64_t, uint64_t) { return a ^ 1; }});
}

TEST(Logic, ShiftsClampAtTheWidth) {
  for (unsigned bits : {16u, 32u, 64u}) {
    Kind k = kindOf(bits);
    std::string b = std::to_string(bits);
    check({"shl.b" + b + " d, a, b",
           k,
           {k, Kind::I32},
           [=](uint64_t a, uint64_t b, uint64_t, uint64_t) {
             return b < bits ? a << b & maskOf(bits) : 0;
           }});
    for (const char *type : {"u", "b"})
      check({"shr." + (type + b) + " d, a, b",
             k,
             {k, Kind::I32},
             [=](uint64_t a, uint64_t b, uint64_t, uint64_t) { return b < bits ? a >> b : 0; }});
    check({"shr.s" + b + " d, a, b",
           k,
           {k, Kind::I32},
           [=](uint64_t a, uint64_t b, uint64_t, uint64_t) {
             int64_t value = int64_t(a << (64 - bits)) >> (64 - bits);
             return uint64_t(value >> std::min<uint64_t>(b, bits - 1)) & maskOf(bits);
           }});
    // A constant amount, as in most programs.
    check({"shr.s" + b + " d, a, 8", k, {k}, [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
             int64_t value = int64_t(a << (64 - bits)) >> (64 - bits);
             return uint64_t(value >> 8) & maskOf(bits);
           }});
  }
}

TEST(Logic, FunnelShift) {
  for (bool left : {false, true})
    for (bool wraps : {false, true})
      check({std::string("shf.") + (left ? "l." : "r.") + (wraps ? "wrap" : "clamp") +
                 ".b32 d, a, b, c",
             Kind::I32,
             {Kind::I32, Kind::I32, Kind::I32},
             [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
               uint64_t amount = wraps ? c & 31 : std::min<uint64_t>(c, 32), pair = b << 32 | a;
               return uint32_t(left ? (amount ? pair << amount >> 32 : b) : pair >> amount);
             }});
}

TEST(Logic, Lop3AllTables) {
  // Eight operations, 32 tables each, so that all 256 are covered without as many kernels: the
  // results are folded by rotation, which no wrong bit survives unnoticed.
  for (unsigned first = 0; first < 256; first += 32) {
    std::string body = ".reg .b32 t, s;\n mov.b32 s, 0;\n";
    for (unsigned table = first; table < first + 32; ++table)
      body += "lop3.b32 t, a, b, c, " + std::to_string(table) +
              ";\n shf.l.wrap.b32 s, s, s, 5;\n xor.b32 s, s, t;\n";
    body += "mov.b32 d, s";
    check({body,
           Kind::I32,
           {Kind::I32, Kind::I32, Kind::I32},
           [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
             uint32_t sum = 0;
             for (unsigned table = first; table < first + 32; ++table) {
               uint32_t word = 0;
               for (unsigned bit = 0; bit < 32; ++bit) {
                 unsigned index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
                 word |= (table >> index & 1) << bit;
               }
               sum = (sum << 5 | sum >> 27) ^ word;
             }
             return sum;
           }});
  }
}

TEST(Logic, Lop3WithPredicate) {
  for (bool isOr : {false, true})
    for (bool negated : {false, true})
      check({std::string(".reg .pred q, p;\n setp.ne.b32 q, c, 0;\n lop3.") +
                 (isOr ? "or" : "and") + ".b32 d|p, a, b, c, 0x6a, " + (negated ? "!q" : "q") +
                 ";\n @p not.b32 d, d",
             Kind::I32,
             {Kind::I32, Kind::I32, Kind::I32},
             [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
               uint32_t result = uint32_t((a & b) ^ c); // 0x6a
               bool q = (c != 0) != negated, p = isOr ? result || q : result && q;
               return p ? ~result : result;
             }});
  // Only the predicate is wanted.
  check({"lop3.and.b32 _|d, a, b, b, 0xc0, c",
         Kind::Pred,
         {Kind::I32, Kind::I32, Kind::Pred},
         [](uint64_t a, uint64_t b, uint64_t c, uint64_t) { return (a & b) != 0 && c; }});
}

static uint32_t byteOf(uint64_t a, uint64_t b, unsigned n) { return (b << 32 | a) >> 8 * n & 0xff; }

TEST(Logic, PermuteBytes) {
  Kind k = Kind::I32;
  auto general = [](uint64_t a, uint64_t b, uint64_t c) {
    uint32_t result = 0;
    for (unsigned n = 0; n < 4; ++n) {
      unsigned selector = c >> 4 * n & 15;
      uint32_t byte = byteOf(a, b, selector & 7);
      if (selector & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= byte << 8 * n;
    }
    return result;
  };
  check({"prmt.b32 d, a, b, c", k, {k, k, k}, [&](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
           return general(a, b, c);
         }});
  for (unsigned constant : {0x3210u, 0x7654u, 0x5410u, 0x0123u, 0x98bau, 0xf7e6u, 0x123450fu})
    check({"prmt.b32 d, a, b, " + std::to_string(constant),
           k,
           {k, k},
           [&](uint64_t a, uint64_t b, uint64_t, uint64_t) { return general(a, b, constant); }});

  // PTX ISA: data-movement-and-conversion-instructions-prmt, the table of modes: byte 3 to byte 0.
  struct Mode {
    const char *name;
    unsigned bytes[4][4];
  };
  const Mode kModes[] = {
      {"f4e", {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}},
      {"b4e", {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}}},
      {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
      {"ecl", {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}}},
      {"ecr", {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}},
      {"rc16", {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}},
  };
  for (const Mode &mode : kModes)
    check({std::string("prmt.b32.") + mode.name + " d, a, b, c",
           k,
           {k, k, k},
           [&](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
             uint32_t result = 0;
             for (unsigned n : mode.bytes[c & 3])
               result = result << 8 | byteOf(a, b, n);
             return result;
           }});
}
