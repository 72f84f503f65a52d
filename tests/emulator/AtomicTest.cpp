// SPDX-License-Identifier: Apache-2.0
// Atomics in all memories, on every processor.
#include "targets/Generation.h"
#include "tests/emulator/MemoryWave.h"
#include "llvm/ADT/STLExtras.h"
#include <bit>
#include <cmath>
#include <functional>
#include <set>

using llvm::StringRef;

namespace rubia::targets::Fact {
extern const GenerationFact addsF32InMemory;
} // namespace rubia::targets::Fact

namespace rubia::emulator::test {
namespace {

using Compute = uint64_t (*)(uint64_t old, uint64_t a, uint64_t b);

/// An operation under its names in GLOBAL, FLAT, BUFFER and in DS. With two operands, `a` is the
/// new value and `b` what the old one is compared with, or as the computation says.
struct AtomicCase {
  const char *name, *dsName; // null: not there
  unsigned bits;
  unsigned operands;
  Compute compute;
  unsigned first = 9, last = 12; // generations
};

int64_t signedOf(uint64_t value, unsigned bits) {
  return bits == 32 ? int32_t(uint32_t(value)) : int64_t(value);
}

// clang-format off
constexpr AtomicCase kCases[] = {
  {"swap", "wrxchg_rtn_b32", 32, 1, [](uint64_t, uint64_t a, uint64_t) { return a; }},
  {"swap_x2", "wrxchg_rtn_b64", 64, 1, [](uint64_t, uint64_t a, uint64_t) { return a; }},
  {"cmpswap", nullptr, 32, 2, [](uint64_t o, uint64_t a, uint64_t b) { return o == b ? a : o; }},
  {"cmpswap_x2", nullptr, 64, 2, [](uint64_t o, uint64_t a, uint64_t b) { return o == b ? a : o; }},
  {nullptr, "cmpst_b32", 32, 2, [](uint64_t o, uint64_t a, uint64_t b) { return o == a ? b : o; }, 9, 10},
  {nullptr, "cmpst_b64", 64, 2, [](uint64_t o, uint64_t a, uint64_t b) { return o == a ? b : o; }, 9, 10},
  {nullptr, "cmpstore_b32", 32, 2, [](uint64_t o, uint64_t a, uint64_t b) { return o == b ? a : o; }, 11, 12},
  {nullptr, "cmpstore_b64", 64, 2, [](uint64_t o, uint64_t a, uint64_t b) { return o == b ? a : o; }, 11, 12},
  {"add", "add_u32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return o + a; }},
  {"add_x2", "add_u64", 64, 1, [](uint64_t o, uint64_t a, uint64_t) { return o + a; }},
  {"sub", "sub_u32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return o - a; }},
  {"sub_x2", "sub_u64", 64, 1, [](uint64_t o, uint64_t a, uint64_t) { return o - a; }},
  {nullptr, "rsub_u32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return a - o; }},
  {nullptr, "rsub_u64", 64, 1, [](uint64_t o, uint64_t a, uint64_t) { return a - o; }},
  {"smin", "min_i32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return signedOf(o, 32) < signedOf(a, 32) ? o : a; }},
  {"smin_x2", "min_i64", 64, 1, [](uint64_t o, uint64_t a, uint64_t) { return int64_t(o) < int64_t(a) ? o : a; }},
  {"umin", "min_u32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return std::min(o, a); }},
  {"umin_x2", "min_u64", 64, 1, [](uint64_t o, uint64_t a, uint64_t) { return std::min(o, a); }},
  {"smax", "max_i32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return signedOf(o, 32) > signedOf(a, 32) ? o : a; }},
  {"smax_x2", "max_i64", 64, 1, [](uint64_t o, uint64_t a, uint64_t) { return int64_t(o) > int64_t(a) ? o : a; }},
  {"umax", "max_u32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return std::max(o, a); }},
  {"umax_x2", "max_u64", 64, 1, [](uint64_t o, uint64_t a, uint64_t) { return std::max(o, a); }},
  {"and", "and_b32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return o & a; }},
  {"and_x2", "and_b64", 64, 1, [](uint64_t o, uint64_t a, uint64_t) { return o & a; }},
  {"or", "or_b32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return o | a; }},
  {"or_x2", "or_b64", 64, 1, [](uint64_t o, uint64_t a, uint64_t) { return o | a; }},
  {"xor", "xor_b32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return o ^ a; }},
  {"xor_x2", "xor_b64", 64, 1, [](uint64_t o, uint64_t a, uint64_t) { return o ^ a; }},
  {"inc", "inc_u32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return o >= a ? 0 : o + 1; }},
  {"inc_x2", "inc_u64", 64, 1, [](uint64_t o, uint64_t a, uint64_t) { return o >= a ? 0 : o + 1; }},
  {"dec", "dec_u32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return o == 0 || o > a ? a : o - 1; }},
  {"dec_x2", "dec_u64", 64, 1, [](uint64_t o, uint64_t a, uint64_t) { return o == 0 || o > a ? a : o - 1; }},
  {nullptr, "mskor_b32", 32, 2, [](uint64_t o, uint64_t a, uint64_t b) { return (o & ~a) | b; }},
  {nullptr, "mskor_b64", 64, 2, [](uint64_t o, uint64_t a, uint64_t b) { return (o & ~a) | b; }},
  {nullptr, "wrap_rtn_b32", 32, 2, [](uint64_t o, uint64_t a, uint64_t b) { return o >= a ? o - a : o + b; }, 10, 11},
  {"csub", nullptr, 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return o >= a ? o - a : 0; }, 10, 11},
  {"cond_sub_u32", "cond_sub_u32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return o >= a ? o - a : o; }, 12},
  {"sub_clamp_u32", "sub_clamp_u32", 32, 1, [](uint64_t o, uint64_t a, uint64_t) { return o >= a ? o - a : 0; }, 12},
};
// clang-format on

constexpr uint64_t kEdges[] = {0,
                               1,
                               2,
                               0x7fffffff,
                               0x80000000,
                               0xffffffff,
                               0xfffffffe,
                               0x7fffffffffffffff,
                               0x8000000000000000,
                               0xffffffffffffffff,
                               0x123456789abcdef0,
                               41};

uint64_t cut(uint64_t value, unsigned bits) { return bits == 32 ? uint32_t(value) : value; }

std::string registers(unsigned first, unsigned count) {
  return count == 1 ? "v" + std::to_string(first)
                    : "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

/// How an instruction asks for the old value.
std::string returning(const TargetCase &target) {
  if (target.major() == 12)
    return " th:TH_ATOMIC_RETURN";
  return target.row().cachePolicy == targets::CachePolicy::ScBits ? " sc0" : " glc";
}

/// Where an atomic goes, and its text around mnemonic ($), result (%), data (#) and offset (@).
struct Place {
  const char *name, *plain, *returns;
  uint32_t aperture = 0; // 0: global addresses
  bool isLds = false, isBuffer = false;
};
constexpr Place kPlaces[] = {
    {"global", "global_atomic_$ v[2:3], #, off offset:@",
     "global_atomic_$ %, v[2:3], #, off offset:@"},
    {"global with a scalar base", "global_atomic_$ v4, #, s[4:5] offset:@",
     "global_atomic_$ %, v4, #, s[4:5] offset:@"},
    {"flat, global", "flat_atomic_$ v[2:3], # offset:@", "flat_atomic_$ %, v[2:3], # offset:@"},
    {"flat, LDS", "flat_atomic_$ v[6:7], # offset:@", "flat_atomic_$ %, v[6:7], # offset:@",
     kSharedAperture},
    {"flat, private", "flat_atomic_$ v[6:7], # offset:@", "flat_atomic_$ %, v[6:7], # offset:@",
     kPrivateAperture},
    {"buffer", "buffer_atomic_$ #, v4, s[8:11], s7 offen offset:@",
     "buffer_atomic_$ #, v4, s[8:11], s7 offen offset:@", 0, false, true},
    {"LDS", "ds_$ v4, # offset:@", "ds_$ %, v4, # offset:@", kSharedAperture, true},
};

// Case i has registers and a slot of memory of its own.
constexpr unsigned kSlot = 8, kStride = kSlot * std::size(kCases);
constexpr unsigned dataOf(unsigned i) { return 10 + 4 * i; }
constexpr unsigned resultOf(unsigned i) { return dataOf(std::size(kCases)) + 2 * i; }
static_assert(resultOf(std::size(kCases)) <= 256);

bool exists(const AtomicCase &c, const Place &place, bool returns, unsigned major) {
  const char *name = place.isLds ? c.dsName : c.name;
  if (!name || major < c.first || major > c.last)
    return false;
  if (place.aperture == kPrivateAperture && c.bits == 64)
    return false;
  // Exchanges in LDS always return. Assemblers know sub_clamp in some forms only.
  if (place.isLds)
    return returns || !StringRef(name).contains("_rtn");
  const bool isClamped = StringRef(name) == "sub_clamp_u32" || StringRef(name) == "csub";
  return !isClamped || (returns && !StringRef(place.name).starts_with("flat"));
}

std::string textOf(const Place &place, unsigned i, bool returns, const TargetCase &target) {
  const AtomicCase &c = kCases[i];
  const unsigned count = c.bits / 32;
  std::string name = place.isLds ? c.dsName : c.name;
  // DS spells the return in the mnemonic, before the type.
  if (place.isLds && returns && name.find("_rtn") == std::string::npos)
    name.insert(name.rfind('_'), "_rtn");
  std::string data = registers(dataOf(i), place.isLds ? count : count * c.operands);
  if (place.isLds && c.operands == 2)
    data += ", " + registers(dataOf(i) + count, count);
  std::string text;
  for (const char *p = returns ? place.returns : place.plain; *p; ++p)
    if (*p == '$')
      text += name;
    else if (*p == '%')
      text += registers(resultOf(i), count);
    else if (*p == '#')
      text += data;
    else if (*p == '@')
      text += std::to_string(i * kSlot);
    else
      text += *p;
  return text + (returns && !place.isLds ? returning(target) : "") + "\n";
}

uint8_t *placeOf(MemoryWave &w, const Place &place, unsigned lane, unsigned offset) {
  return place.aperture == kSharedAperture    ? &w.lds[lane * kStride + offset]
         : place.aperture == kPrivateAperture ? &w.privateByte(lane, offset)
                                              : w.global + lane * kStride + offset;
}

/// Runs all cases in one place and compares memory and registers with what they compute.
void checkPlace(const TargetCase &target, const Place &place, bool returns) {
  MemoryWave w(target);
  w.s(7) = 0;
  w.exec(0xfffffffb'fffffffdull).addresses(0, place.aperture == kPrivateAperture ? 0 : kStride);
  w.aperture(place.aperture);
  uint64_t old[std::size(kCases)][64], a[std::size(kCases)][64], b[std::size(kCases)][64];
  std::string text;
  for (unsigned i = 0; i < std::size(kCases); ++i) {
    const AtomicCase &c = kCases[i];
    if (!exists(c, place, returns, target.major()))
      continue;
    text += textOf(place, i, returns, target);
    for (unsigned lane = 0; lane < w.lanes(); ++lane) {
      old[i][lane] = cut(kEdges[lane % 12], c.bits);
      a[i][lane] = cut(kEdges[(lane * 5 + lane / 12) % 12], c.bits);
      b[i][lane] = cut(kEdges[lane % 3 ? lane % 12 : lane * 7 % 12], c.bits);
      if (c.dsName && StringRef(c.dsName).starts_with("cmpst_"))
        std::swap(a[i][lane], b[i][lane]);
      std::memcpy(placeOf(w, place, lane, i * kSlot), &old[i][lane], 4);
      if (c.bits == 64)
        std::memcpy(placeOf(w, place, lane, i * kSlot + 4),
                    reinterpret_cast<uint8_t *>(&old[i][lane]) + 4, 4);
      w.setPair(dataOf(i), lane, a[i][lane]);
      if (c.operands == 2)
        w.setPair(dataOf(i) + c.bits / 32, lane, b[i][lane]);
    }
  }
  w.run(text);
  ASSERT_FALSE(w.fault().set) << place.name;
  for (unsigned i = 0; i < std::size(kCases); ++i) {
    const AtomicCase &c = kCases[i];
    if (!exists(c, place, returns, target.major()))
      continue;
    for (unsigned lane = 0; lane < w.lanes(); ++lane) {
      uint64_t now = 0;
      for (unsigned k = 0; k < c.bits / 8; ++k)
        now |= uint64_t(*placeOf(w, place, lane, i * kSlot + k)) << (8 * k);
      const uint64_t expected =
          w.active(lane) ? c.compute(old[i][lane], a[i][lane], b[i][lane]) : old[i][lane];
      ASSERT_EQ(now, cut(expected, c.bits))
          << place.name << ": " << textOf(place, i, returns, target) << "lane " << lane;
      const unsigned result = place.isBuffer ? dataOf(i) : resultOf(i);
      const uint64_t kept = place.isBuffer ? a[i][lane]
                                           : uint64_t(AssemblyWave::start(result + 1, lane)) << 32 |
                                                 AssemblyWave::start(result, lane);
      ASSERT_EQ(cut(w.pair(result, lane), c.bits),
                returns && w.active(lane) ? old[i][lane] : cut(kept, c.bits))
          << place.name << ": " << textOf(place, i, returns, target) << "lane " << lane;
    }
  }
}

class Atomics : public MemoryTest {};

TEST_P(Atomics, IntegerOperationsInEveryMemory) {
  for (const Place &place : kPlaces)
    for (bool returns : {false, true})
      checkPlace(GetParam(), place, returns);
}

TEST_P(Atomics, LanesOfOneAddressTakeTurns) {
  MemoryWave w(GetParam());
  w.at<uint32_t>(0) = 100;
  w.ldsAt<uint32_t>(0) = 200;
  w.addresses(0, 0).set(20, 1).exec(~uint64_t(8));
  w.run("global_atomic_add v21, v[2:3], v20, off" + returning(GetParam()) +
        "\nds_add_rtn_u32 v22, v4, v20");
  const unsigned active = unsigned(std::popcount(w.wave.exec()));
  EXPECT_EQ(w.at<uint32_t>(0), 100 + active);
  EXPECT_EQ(w.ldsAt<uint32_t>(0), 200 + active);
  std::set<uint32_t> seen[2];
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    if (w.active(lane)) {
      seen[0].insert(w.v(21, lane));
      seen[1].insert(w.v(22, lane));
    }
  EXPECT_EQ(seen[0].size(), active);
  EXPECT_EQ(*seen[0].rbegin(), 100 + active - 1);
  EXPECT_EQ(seen[1].size(), active);
}

TEST_P(Atomics, PrivateMemoryTearsWideOnesApart) {
  MemoryWave w(GetParam());
  w.addresses(8, 0).aperture(kPrivateAperture).exec(~uint64_t(3));
  w.run("flat_atomic_add_x2 v[6:7], v[20:21]");
  ASSERT_TRUE(w.fault().set);
  EXPECT_EQ(w.fault().kind, FaultKind::Misaligned);
  EXPECT_EQ(w.fault().lane, 2u);
}

TEST_P(Atomics, MisalignedIsAFault) {
  for (const char *text :
       {"global_atomic_add v[2:3], v20, off", "flat_atomic_or_x2 v[2:3], v[20:21]",
        "ds_add_u32 v4, v20", "ds_max_u64 v4, v[20:21]"}) {
    MemoryWave w(GetParam());
    w.addresses(64, 0);
    w.v(4, 9) += 2;
    w.v(2, 9) += 2;
    w.run(text);
    ASSERT_TRUE(w.fault().set) << text;
    EXPECT_EQ(w.fault().kind, FaultKind::Misaligned) << text;
    EXPECT_EQ(w.fault().lane, 9u) << text;
  }
}

TEST_P(Atomics, BufferRangeIsAllOrNothing) {
  MemoryWave w(GetParam());
  w.s(7) = 0;
  w.resource(12, uint64_t(w.global) + 8, 0, 68, w.rawWord3()).addresses(60, 4);
  const uint64_t at72 = w.at<uint64_t>(72), at76 = w.at<uint64_t>(76);
  w.set(20, 1).set(21, 0).exec(6); // lane 1 at 64 to 72, lane 2 at 68
  w.run("buffer_atomic_add_x2 v[20:21], v4, s[12:15], s7 offen" + returning(GetParam()));
  EXPECT_FALSE(w.fault().set);
  const bool inside = major() == 9; // which looks at the first byte only
  EXPECT_EQ(w.pair(20, 1), inside ? at72 : 0);
  EXPECT_EQ(w.at<uint64_t>(72), at72 + (inside ? 1 : 0));
  EXPECT_EQ(w.pair(20, 2), 0u);
  EXPECT_EQ(w.at<uint32_t>(80), uint32_t(at76 >> 32));
}

INSTANTIATE_TEST_SUITE_P(Targets, Atomics, testing::ValuesIn(kTargetCases), nameOf);

// Floats.

constexpr uint32_t kTiny = 0x00000003, kSmall = 0x00800001, kOne = 0x3f800000, kQuiet = 0x7fc01234,
                   kSignaling = 0x7f801234, kInfinity = 0x7f800000, kMinusZero = 0x80000000;

class FloatAtomics : public MemoryTest {
protected:
  /// One f32 operation on all of LDS and global memory.
  uint32_t single(const std::string &text, uint32_t old, uint32_t value, uint32_t mode,
                  uint32_t second = 0, bool readsLds = true) {
    MemoryWave w(GetParam());
    w.wave.setMode(mode);
    w.addresses(0, 0).set(20, value).set(21, second).exec(1);
    w.ldsAt<uint32_t>(0) = w.at<uint32_t>(0) = old;
    w.run(text);
    EXPECT_FALSE(w.fault().set) << text;
    return readsLds ? w.ldsAt<uint32_t>(0) : w.at<uint32_t>(0);
  }
  static constexpr uint32_t kKeep = 0xf0, kFlushAll = 0, kFlushInputs = 0xe0;
};

TEST_P(FloatAtomics, LdsAddFollowsMode) {
  const std::string add = "ds_add_f32 v4, v20";
  EXPECT_EQ(single(add, kOne, kOne, kKeep), 0x40000000u);
  EXPECT_EQ(single(add, kTiny, kTiny, kKeep), 2 * kTiny);
  EXPECT_EQ(single(add, kTiny | kMinusZero, kTiny | kMinusZero, kFlushAll), kMinusZero);
  EXPECT_EQ(single(add, kSmall, 0x80800000, kKeep), 1u);
  EXPECT_EQ(single(add, kSmall, 0x80800000, kFlushAll), 0u);
  EXPECT_EQ(single(add, kSmall, 0x80800000, kFlushInputs), 1u) << "the result is kept";
  EXPECT_EQ(single(add, kOne, 0x33800000, kKeep | 1), kOne) << "to nearest whatever MODE says";
  EXPECT_EQ(single(add, kQuiet, kSignaling, kKeep), kQuiet);
  EXPECT_EQ(single(add, kOne, kSignaling, kKeep), kSignaling | 0x400000);
  EXPECT_EQ(single(add, kInfinity, kInfinity | kMinusZero, kKeep), 0x7fc00000u);
}

TEST_P(FloatAtomics, MinimumAndMaximum) {
  const std::string min = "ds_min_f32 v4, v20", max = "ds_max_f32 v4, v20";
  const bool number = major() == 12;
  EXPECT_EQ(single(min, kOne, kMinusZero, kKeep), kMinusZero);
  EXPECT_EQ(single(min, 0, kMinusZero, kKeep), kMinusZero);
  EXPECT_EQ(single(max, kMinusZero, 0, kKeep), 0u);
  EXPECT_EQ(single(min, kOne, kQuiet, kKeep), kOne);
  EXPECT_EQ(single(max, kQuiet, kOne, kKeep), kOne);
  EXPECT_EQ(single(min, kOne, kSignaling, kKeep), number ? kOne : kSignaling | 0x400000);
  EXPECT_EQ(single(max, kOne, kInfinity, kKeep), kInfinity);
  // Flushed for the comparison; before gfx12 the result is one of the operands as it was.
  EXPECT_EQ(single(max, kTiny, kMinusZero, kFlushAll), number ? 0 : kTiny);
  EXPECT_EQ(single(min, kTiny, kMinusZero | kTiny, kFlushAll),
            number ? kMinusZero : kMinusZero | kTiny);
  EXPECT_EQ(single(min, kTiny, 2, kKeep), 2u);
}

TEST_P(FloatAtomics, CompareTreatsZerosAsEqual) {
  if (major() == 12)
    return;                           // has none
  const bool swapped = major() == 11; // DS_CMPSTORE: the value first
  const std::string text = swapped ? "ds_cmpstore_f32 v4, v20, v21" : "ds_cmpst_f32 v4, v20, v21";
  auto compare = [&](uint32_t old, uint32_t expected, uint32_t value, uint32_t mode) {
    return swapped ? single(text, old, value, mode, expected)
                   : single(text, old, expected, mode, value);
  };
  EXPECT_EQ(compare(0, kMinusZero, kOne, kKeep), kOne);
  EXPECT_EQ(compare(kQuiet, kQuiet, kOne, kKeep), kQuiet);
  EXPECT_EQ(compare(kOne, kOne, kTiny, kKeep), kTiny);
  EXPECT_EQ(compare(kOne, kOne, kTiny, kFlushAll), 0u) << "the result is flushed too";
  EXPECT_EQ(compare(kTiny, 0, kOne, kFlushAll), kOne);
}

TEST_P(FloatAtomics, MemoryAddFlushesBeforeGfx12) {
  if (major() == 10)
    return; // has none
  const std::string add = "global_atomic_add_f32 v[2:3], v20, off";
  const bool keeps = major() == 12;
  EXPECT_EQ(single(add, kOne, kOne, kKeep, 0, false), 0x40000000u);
  EXPECT_EQ(single(add, kTiny, kTiny, kKeep, 0, false), keeps ? 2 * kTiny : 0);
  EXPECT_EQ(single(add, kTiny, kTiny, kFlushAll, 0, false), keeps ? 2 * kTiny : 0);
}

TEST_P(FloatAtomics, FlatAddInLds) {
  const targets::Target &row = GetParam().row();
  if (!targets::Fact::addsF32InMemory(row) || row.generation == targets::Generation::Cdna2)
    return; // have none
  MemoryWave w(GetParam());
  w.wave.setMode(kFlushAll);
  w.addresses(0, 0).set(20, kTiny).exec(1).aperture(kSharedAperture);
  w.ldsAt<uint32_t>(0) = kTiny;
  w.run("flat_atomic_add_f32 v[6:7], v20");
  EXPECT_EQ(w.ldsAt<uint32_t>(0), major() == 12 ? 2 * kTiny : 0);
}

TEST_P(FloatAtomics, MemoryMinimum) {
  if (major() == 9)
    return;
  const std::string min = "global_atomic_fmin v[2:3], v20, off",
                    max = "buffer_atomic_fmax v20, v4, s[8:11], s7 offen";
  EXPECT_EQ(single(min, kOne, kMinusZero, kKeep, 0, false), kMinusZero);
  EXPECT_EQ(single(min, kTiny, 2, kFlushAll, 0, false), major() == 12 ? 2u : kTiny)
      << "equal when flushed: the old value stays";
  MemoryWave w(GetParam());
  w.s(7) = 0;
  w.addresses(0, 4).set(20, kOne);
  w.at<uint32_t>(4) = kInfinity;
  w.at<uint32_t>(8) = kMinusZero;
  w.run(max);
  EXPECT_EQ(w.at<uint32_t>(4), kInfinity);
  EXPECT_EQ(w.at<uint32_t>(8), kOne);
}

TEST_P(FloatAtomics, DoublesKeepDenormals) {
  MemoryWave w(GetParam());
  w.wave.setMode(kFlushAll);
  w.addresses(0, 8).set(20, 5).set(21, 0);
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    w.ldsAt<uint64_t>(8 * lane) = w.at<uint64_t>(8 * lane) = 7;
  if (major() == 9) {
    w.run("ds_add_f64 v4, v[20:21]\nglobal_atomic_add_f64 v[2:3], v[20:21], off");
    EXPECT_EQ(w.ldsAt<uint64_t>(8), 12u);
    EXPECT_EQ(w.at<uint64_t>(8), 12u);
    w.run("global_atomic_min_f64 v[2:3], v[20:21], off");
    EXPECT_EQ(w.at<uint64_t>(8), 5u) << "memory does not flush";
  }
  w.ldsAt<uint64_t>(0) = 7;
  w.exec(1).run("ds_min_f64 v4, v[20:21]");
  EXPECT_EQ(w.ldsAt<uint64_t>(0), major() == 12 ? 0u : 7u) << "LDS follows MODE";
  w.wave.setMode(kKeep);
  w.run("ds_max_rtn_f64 v[22:23], v4, v[20:21]");
  EXPECT_EQ(w.ldsAt<uint64_t>(0), major() == 12 ? 5u : 7u);
}

TEST_P(FloatAtomics, MemoryCompareAndSwap) {
  if (major() != 10 && major() != 11)
    return; // have none
  MemoryWave w(GetParam());
  w.s(7) = 0;
  w.addresses(0, 8).set(20, kOne).set(21, kMinusZero); // the value, the comparand
  w.at<uint32_t>(0) = w.at<uint32_t>(1024) = w.at<uint32_t>(2000) = 0;
  w.at<uint32_t>(8) = kQuiet;
  w.run("global_atomic_fcmpswap v22, v[2:3], v[20:21], off glc\n"
        "flat_atomic_fcmpswap v[2:3], v[20:21] offset:1024\n"
        "buffer_atomic_fcmpswap v[20:21], v4, s[8:11], s7 offen offset:2000");
  EXPECT_EQ(w.at<uint32_t>(0), kOne);
  EXPECT_EQ(w.at<uint32_t>(1024), kOne);
  EXPECT_EQ(w.at<uint32_t>(2000), kOne);
  EXPECT_EQ(w.at<uint32_t>(8), kQuiet);
  EXPECT_EQ(w.v(22, 1), kQuiet);
  if (major() == 11)
    return;
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    w.setPair(20, lane, std::bit_cast<uint64_t>(2.0));
    w.setPair(22, lane, std::bit_cast<uint64_t>(-0.0));
    w.at<uint64_t>(8 * lane) = std::bit_cast<uint64_t>(lane & 1 ? 0.0 : 1.0);
  }
  w.run("buffer_atomic_fcmpswap_x2 v[20:23], v4, s[8:11], s7 offen\n"
        "global_atomic_fcmpswap_x2 v4, v[20:23], s[4:5]\n"
        "flat_atomic_fcmpswap_x2 v[2:3], v[20:23]"); // no more zeros there
  EXPECT_EQ(w.at<uint64_t>(0), std::bit_cast<uint64_t>(1.0));
  EXPECT_EQ(w.at<uint64_t>(8), std::bit_cast<uint64_t>(2.0));
}

TEST_P(FloatAtomics, DoublesInLdsAndThroughBuffers) {
  MemoryWave w(GetParam());
  w.s(7) = 0;
  w.addresses(0, 8);
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    w.setPair(20, lane, std::bit_cast<uint64_t>(1.5));
    w.setPair(22, lane, std::bit_cast<uint64_t>(double(lane)));
    w.ldsAt<uint64_t>(8 * lane) = w.at<uint64_t>(8 * lane) = std::bit_cast<uint64_t>(double(lane));
  }
  if (major() <= 11) {
    w.run(major() == 11 ? "ds_cmpstore_rtn_f64 v[24:25], v4, v[20:21], v[22:23]"
                        : "ds_cmpst_rtn_f64 v[24:25], v4, v[22:23], v[20:21]");
    EXPECT_EQ(w.ldsAt<uint64_t>(24), std::bit_cast<uint64_t>(1.5));
    EXPECT_EQ(w.pair(24, 3), std::bit_cast<uint64_t>(3.0));
  }
  if (major() == 9) {
    w.run("buffer_atomic_add_f64 v[20:21], v4, s[8:11], s7 offen\n"
          "buffer_atomic_max_f64 v[22:23], v4, s[8:11], s7 offen offset:8");
    EXPECT_EQ(w.at<uint64_t>(0), std::bit_cast<uint64_t>(1.5));
    EXPECT_EQ(w.at<uint64_t>(24), std::bit_cast<uint64_t>(4.5)) << "3 + 1.5 against 2";
  }
}

TEST_P(FloatAtomics, PackedHalves) {
  if (major() == 10 || major() == 11)
    return;
  const bool hasLds = GetParam().row().atomicsReachHost;
  // (1 + 2, denormal + denormal); bf16 (1 + 1, 2 + -2)
  MemoryWave w(GetParam());
  w.wave.setMode(kFlushAll);
  w.addresses(0, 0).exec(1).set(20, 0x0001'4000).set(21, 0xc000'3f80);
  w.at<uint32_t>(0) = w.ldsAt<uint32_t>(0) = 0x0002'3c00;
  w.at<uint32_t>(16) = w.ldsAt<uint32_t>(16) = 0x4000'3f80;
  w.run("global_atomic_pk_add_f16 v[2:3], v20, off");
  EXPECT_EQ(w.at<uint32_t>(0), 0x0003'4200u) << "memory keeps denormals";
  if (!hasLds)
    return;
  w.run("ds_pk_add_f16 v4, v20\nds_pk_add_rtn_bf16 v22, v4, v21 offset:16\n"
        "global_atomic_pk_add_bf16 v[2:3], v21, off offset:16");
  EXPECT_EQ(w.ldsAt<uint32_t>(0), 0x0000'4200u) << "LDS follows MODE";
  EXPECT_EQ(w.ldsAt<uint32_t>(16), 0x0000'4000u);
  EXPECT_EQ(w.v(22, 0), 0x4000'3f80u);
  EXPECT_EQ(w.at<uint32_t>(16), 0x0000'4000u);
}

/// A float operation, and the generations on which GLOBAL (g), FLAT (f) and BUFFER (b) have it.
struct FloatCase {
  const char *name;
  unsigned bits;        // 16: two in a word
  const char *where[6]; // CDNA 2 to 4, RDNA 2 to 4
  double (*compute)(double old, double a);
};
// clang-format off
constexpr FloatCase kFloatCases[] = {
  {"add_f32", 32, {"gb", "gfb", "gfb", "", "gfb", "gfb"}, [](double o, double a) { return o + a; }},
  {"add_f64", 64, {"gfb", "gfb", "gfb", "", "", ""}, [](double o, double a) { return o + a; }},
  {"min_f64", 64, {"gfb", "gfb", "gfb", "", "", ""}, [](double o, double a) { return o < a ? o : a; }},
  {"max_f64", 64, {"gfb", "gfb", "gfb", "", "", ""}, [](double o, double a) { return o > a ? o : a; }},
  {"fmin_x2", 64, {"", "", "", "gfb", "", ""}, [](double o, double a) { return o < a ? o : a; }},
  {"fmax_x2", 64, {"", "", "", "gfb", "", ""}, [](double o, double a) { return o > a ? o : a; }},
  {"fmin", 32, {"", "", "", "gfb", "gfb", "gfb"}, [](double o, double a) { return o < a ? o : a; }},
  {"fmax", 32, {"", "", "", "gfb", "gfb", "gfb"}, [](double o, double a) { return o > a ? o : a; }},
  {"pk_add_f16", 16, {"gb", "gfb", "gfb", "", "", "gfb"}, [](double o, double a) { return o + a; }},
  {"pk_add_bf16", 17, {"", "gf", "gfb", "", "", "gfb"}, [](double o, double a) { return o + a; }},
};
// clang-format on

uint64_t bitsOf(double value, unsigned bits) {
  const float single = float(value);
  const uint32_t half = bits == 16 ? std::bit_cast<uint16_t>(_Float16(single))
                                   : std::bit_cast<uint32_t>(single) >> 16;
  return bits == 64   ? std::bit_cast<uint64_t>(value)
         : bits == 32 ? std::bit_cast<uint32_t>(single)
                      : half | half << 16;
}

TEST_P(FloatAtomics, OperationsInEveryMemory) {
  using enum targets::Generation;
  const targets::Generation generations[] = {Cdna2, Cdna3, Cdna4, Rdna2, Rdna3, Rdna4};
  const size_t cpu = size_t(llvm::find(generations, GetParam().row().generation) - generations);
  ASSERT_LT(cpu, std::size(generations));
  for (const FloatCase &c : kFloatCases)
    for (const Place &place : kPlaces) {
      const char letter = place.isBuffer ? 'b' : place.name[0];
      if (place.isLds || !StringRef(c.where[cpu]).contains(letter))
        continue;
      if (place.aperture == kPrivateAperture && c.bits == 64)
        continue;
      MemoryWave w(GetParam());
      w.s(7) = 0;
      w.addresses(0, place.aperture == kPrivateAperture ? 0 : kStride).aperture(place.aperture);
      const unsigned bytes = c.bits == 64 ? 8 : 4;
      for (unsigned lane = 0; lane < w.lanes(); ++lane) {
        const uint64_t old = bitsOf(lane - 20.0, c.bits);
        for (unsigned i = 0; i < bytes; ++i)
          *placeOf(w, place, lane, 16 + i) = uint8_t(old >> (8 * i));
        w.setPair(20, lane, bitsOf(2.5, c.bits));
      }
      std::string text;
      for (const char *p = place.plain; *p; ++p)
        text += *p == '$'   ? c.name
                : *p == '#' ? registers(20, bytes / 4)
                : *p == '@' ? "16"
                            : std::string(1, *p);
      w.run(text);
      ASSERT_FALSE(w.fault().set) << text;
      for (unsigned lane = 0; lane < w.lanes(); ++lane) {
        uint64_t now = 0;
        for (unsigned i = 0; i < bytes; ++i)
          now |= uint64_t(*placeOf(w, place, lane, 16 + i)) << (8 * i);
        ASSERT_EQ(now, bitsOf(c.compute(lane - 20.0, 2.5), c.bits))
            << place.name << ": " << text << " lane " << lane;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, FloatAtomics, testing::ValuesIn(kTargetCases), nameOf);

} // namespace
} // namespace rubia::emulator::test
