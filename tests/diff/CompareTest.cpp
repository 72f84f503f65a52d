// SPDX-License-Identifier: Apache-2.0
#include "diff/Compare.h"
#include "diff/Locate.h"
#include "diff/Replay.h"
#include "diff/TensorMaps.h"
#include "llvm/Support/Endian.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace rubia::capsule;
using rubia::ptx::Type;

namespace {

/// A kernel with two pointers and a number, and registers of all kinds.
std::string kernelOf(StringRef body) {
  return (".version 8.1\n.target sm_90\n.address_size 64\n"
          ".global .align 4 .u32 counter;\n"
          ".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n"
          ".reg .b64 %d<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %g<9>; .reg .b16 %h<9>; "
          ".reg .pred %p<9>; .shared .align 4 .b8 tile[64];\n"
          "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u32 %r1, [n];\n"
          "cvta.to.global.u64 %d1, %d1; mad.wide.u32 %d3, %r1, 4, %d2;\n" +
          body + "\nret;\n}\n")
      .str();
}

std::string summaryOf(const Stores &stores) {
  if (!stores.any)
    return "none";
  const char *type = stores.type == Type::F32    ? "f32"
                     : stores.type == Type::F64  ? "f64"
                     : stores.type == Type::F16  ? "f16"
                     : stores.type == Type::BF16 ? "bf16"
                                                 : "bits";
  return std::string(type) + (stores.isInexact ? " inexact" : "");
}

/// What is stored through the first parameter, the second, and elsewhere.
std::string storesIn(StringRef body) {
  const KernelStores stores = cantFail(storesOf(kernelOf(body), "k"));
  return summaryOf(stores.byParameter[0]) + ", " + summaryOf(stores.byParameter[1]) + ", " +
         summaryOf(stores.elsewhere);
}

TEST(Stores, HaveTheTypeOfWhatComputedThem) {
  EXPECT_EQ(storesIn(""), "none, none, none");
  EXPECT_EQ(storesIn("st.global.f32 [%d1], %f1;"), "f32, none, none");
  EXPECT_EQ(storesIn("add.f64 %g1, %g2, %g3; st.global.b64 [%d3], %g1;"), "none, f64, none");
  EXPECT_EQ(
      storesIn(
          "add.f16 %h1, %h2, %h3; mov.b32 %r2, {%h1, %h1}; st.global.v2.b32 [%d1], {%r2, %r2};"),
      "f16, none, none");
  EXPECT_EQ(storesIn("ld.global.f32 %f1, [%d3]; mov.b32 %r2, %f1; st.global.b32 [%d1], %r2;"),
            "f32, none, none");
  EXPECT_EQ(storesIn("add.s32 %r2, %r1, 1; st.global.b32 [%d1], %r2; st.global.f32 [%d1+4], %f1;"),
            "bits, none, none");
  EXPECT_EQ(storesIn("st.global.u32 [counter], %r1;"), "none, none, bits");
  EXPECT_EQ(storesIn("ld.global.u64 %d4, [%d1]; st.global.f32 [%d4], %f1;"), "none, none, f32");
  EXPECT_EQ(storesIn("st.shared.f32 [tile], %f1;"), "none, none, none");
  // Through shared memory, which is the launch's own, also where the address is a generic one.
  EXPECT_EQ(storesIn("st.shared.f32 [tile], %f1; ld.shared.b32 %r2, [tile]; "
                     "st.global.b32 [%d1], %r2;"),
            "f32, none, none");
  const std::string tile = "mov.u64 %d4, tile; cvta.shared.u64 %d4, %d4; add.s64 %d4, %d4, 8; ";
  EXPECT_EQ(storesIn(tile + "add.f16 %h1, %h2, %h3; st.b16 [%d4], %h1; ld.shared.b32 %r2, [tile]; "
                            "st.global.b32 [%d1], %r2;"),
            "f16, none, none");
  EXPECT_EQ(storesIn(tile + "st.shared.f64 [tile], %g1; ld.b64 %d5, [%d4]; "
                            "st.global.b64 [%d1], %d5; st.global.f32 [counter], %f1;"),
            "f64, none, f32");
}

TEST(Stores, AreExactUnlessInexactInstructionsLeadToThem) {
  EXPECT_EQ(storesIn("fma.rn.f32 %f1, %f2, %f3, %f4; div.rn.f32 %f1, %f1, %f2; "
                     "sqrt.rn.f32 %f1, %f1; st.global.f32 [%d1], %f1;"),
            "f32, none, none");
  EXPECT_EQ(storesIn("ex2.approx.f32 %f1, %f2; st.global.f32 [%d1], %f1; "
                     "st.global.f32 [%d3], %f3;"),
            "f32 inexact, f32, none");
  // Through shared memory, and in any order.
  EXPECT_EQ(storesIn("ld.shared.f32 %f1, [tile]; st.global.f32 [%d1], %f1; "
                     "rcp.approx.f32 %f2, %f3; st.shared.f32 [tile], %f2;"),
            "f32 inexact, none, none");
  // By a guard, by a branch, by an address.
  const char *condition = "sin.approx.f32 %f1, %f2; setp.gt.f32 %p1, %f1, 0f00000000; ";
  EXPECT_EQ(storesIn(condition + std::string("@%p1 st.global.u32 [%d1], %r1; "
                                             "st.global.u32 [%d3], %r1;")),
            "bits inexact, bits, none");
  EXPECT_EQ(storesIn(condition + std::string("@%p1 bra L; st.global.u32 [%d1], %r1; L:")),
            "bits inexact, none, none");
  EXPECT_EQ(storesIn("ex2.approx.f32 %f1, %f2; cvt.rzi.u64.f32 %d4, %f1; add.s64 %d4, %d4, %d1; "
                     "st.global.u32 [%d4], %r1;"),
            "bits inexact, none, none");
  EXPECT_EQ(storesIn("div.full.f32 %f1, %f2, %f3; st.global.f32 [%d1], %f1;"),
            "f32 inexact, none, none");
  EXPECT_EQ(storesIn("mov.u32 %r2, %smid; st.global.u32 [%d1], %r2;"), "bits inexact, none, none");
}

TEST(Stores, AreComputedByArithmetic) {
  const auto isComputed = [](StringRef body) {
    return cantFail(storesOf(kernelOf(body), "k")).byParameter[0].isComputed;
  };
  EXPECT_FALSE(isComputed("ld.global.f32 %f1, [%d3]; selp.f32 %f1, %f1, %f2, %p1; "
                          "st.global.f32 [%d1], %f1;"));
  EXPECT_TRUE(isComputed("ld.global.f32 %f1, [%d3]; add.rn.f32 %f1, %f1, %f2; "
                         "mov.b32 %r2, %f1; st.global.b32 [%d1], %r2;"));
  EXPECT_TRUE(isComputed("red.global.add.f32 [%d1], %f1;"));
}

TEST(Stores, MayDependOnTime) {
  EXPECT_EQ(storesIn("ld.volatile.global.u32 %r2, [%d3]; st.global.u32 [%d1], %r2;"),
            "bits inexact, none, none");
  EXPECT_EQ(storesIn("ld.acquire.gpu.u32 %r2, [%d3]; st.global.u32 [%d1], %r2;"),
            "bits inexact, none, none");
  EXPECT_EQ(storesIn("ld.volatile.shared.u32 %r2, [tile]; st.global.u32 [%d1], %r2;"),
            "bits, none, none");
  EXPECT_EQ(storesIn("mov.u32 %r2, %nwarpid; st.global.u32 [%d1], %r2;"),
            "bits inexact, none, none");
}

TEST(Stores, OfCopiesAreAsExactAsTheirSource) {
  const char *inexact = "ex2.approx.f32 %f1, %f2; st.shared.f32 [tile], %f1; ";
  const char *copy = "mov.u32 %r2, tile; "
                     "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r2], 64;";
  EXPECT_EQ(storesIn(inexact + std::string(copy)), "f32 inexact, none, none");
  EXPECT_EQ(storesIn(copy), "bits, none, none");
  EXPECT_EQ(storesIn("ex2.approx.f32 %f1, %f2; st.global.f32 [%d1], %f1; mov.u32 %r2, tile; "
                     "cp.async.ca.shared.global [%r2], [%d1], 4; ld.shared.f32 %f3, [tile]; "
                     "st.global.f32 [%d3], %f3;"),
            "f32 inexact, f32 inexact, none");
  const std::string reduce =
      "mov.u32 %r2, tile; cp.reduce.async.bulk.global.shared::cta.bulk_group";
  EXPECT_EQ(storesIn(reduce + ".add.f32 [%d1], [%r2], 64;"), "f32 inexact, none, none");
  EXPECT_EQ(storesIn(reduce + ".add.u32 [%d1], [%r2], 64;"), "bits, none, none");
}

TEST(Stores, OfAtomicsDependOnTheirOrder) {
  EXPECT_EQ(storesIn("red.global.add.u32 [%d1], %r1;"), "bits, none, none");
  EXPECT_EQ(storesIn("red.global.add.f32 [%d1], %f1;"), "f32 inexact, none, none");
  EXPECT_EQ(storesIn("atom.global.add.u32 %r2, [%d1], 1; st.global.u32 [%d3], %r2;"),
            "bits, bits inexact, none");
  EXPECT_EQ(storesIn("atom.global.exch.b32 %r2, [%d1], %r1;"), "bits inexact, none, none");
}

TEST(Compare, CountsStepsBetweenNumbers) {
  EXPECT_EQ(ulpsBetween(Type::F32, 0x3f800000, 0x3f800001), 1u);
  EXPECT_EQ(ulpsBetween(Type::F32, 0x00000000, 0x80000000), 0u);
  EXPECT_EQ(ulpsBetween(Type::F32, 0x00000001, 0x80000001), 2u); // denormals on both sides
  EXPECT_EQ(ulpsBetween(Type::F64, 0x3ff0000000000000, 0x3ff0000000000010), 16u);
  EXPECT_EQ(ulpsBetween(Type::F16, 0x3c00, 0x3c02), 2u);
  EXPECT_EQ(ulpsBetween(Type::F32, 0x7f800000, 0x7f7fffff), std::nullopt); // infinity, a number
  EXPECT_EQ(ulpsBetween(Type::F32, 0x7f800000, 0x7f800000), 0u);
  EXPECT_EQ(ulpsBetween(Type::F32, 0x7fc00000, 0x3f800000), std::nullopt);
  EXPECT_EQ(ulpsBetween(Type::F32, 0x7f7fffff, 0xff7fffff), 2u * 0x7f7fffff);
}

std::vector<uint8_t> bytesOf(ArrayRef<uint32_t> words) {
  std::vector<uint8_t> bytes(words.size() * 4);
  for (size_t i = 0; i < words.size(); ++i)
    support::endian::write32le(bytes.data() + i * 4, words[i]);
  return bytes;
}

TEST(Compare, VerdictFollowsFromExactnessAndBounds) {
  const Stores exact{Type::F32, true, false, true}, inexact{Type::F32, true, true, true};
  const auto verdict = [&](const Stores &stores, uint32_t expected, uint32_t got, Bounds bounds) {
    return compareBuffers(bytesOf({1, expected}), bytesOf({1, got}), stores, bounds).verdict;
  };
  EXPECT_EQ(verdict(exact, 0x3f800000, 0x3f800000, {}), Verdict::Equal);
  EXPECT_EQ(verdict(exact, 0x3f800000, 0x3f800001, {}), Verdict::Different);
  EXPECT_EQ(verdict(exact, 0x00000000, 0x80000000, {}), Verdict::Different);
  EXPECT_EQ(verdict(inexact, 0x3f800000, 0x3f800001, {}), Verdict::Undecided);
  EXPECT_EQ(verdict(inexact, 0x3f800000, 0x3f800002, {2, std::nullopt}), Verdict::Within);
  EXPECT_EQ(verdict(inexact, 0x3f800000, 0x3f800003, {2, std::nullopt}), Verdict::Different);
  EXPECT_EQ(verdict(inexact, 0x3f800000, 0x3f800003, {std::nullopt, 1e-6}), Verdict::Within);
  EXPECT_EQ(verdict(inexact, 0x3f800000, 0x7f800000, {1000, 1.0}), Verdict::Different);
  EXPECT_EQ(verdict(exact, 0x7fc00000, 0x7fffffff, {}), Verdict::Equal); // NaNs
  EXPECT_EQ(verdict(inexact, 0x7fc00000, 0x3f800000, {1000, 1.0}), Verdict::Different);
  const Stores moved{Type::F32, true, false, false};
  EXPECT_EQ(verdict(moved, 0x7fc00000, 0x7fffffff, {}), Verdict::Different);
  // A bound is for what is inexact, and for what has a type.
  EXPECT_EQ(verdict(exact, 0x3f800000, 0x3f800001, {1000, 1.0}), Verdict::Different);
  const Stores mixed{Type::None, true, true};
  EXPECT_EQ(verdict(mixed, 0x3f800000, 0x3f800001, {}), Verdict::Undecided);
  EXPECT_EQ(verdict(mixed, 0x3f800000, 0x3f800001, {1000, 1.0}), Verdict::Undecided);
}

TEST(Compare, NamesTheFirstElementBeyondTheBound) {
  const Stores inexact{Type::F32, true, true};
  const BufferResult result = compareBuffers(
      bytesOf({0, 0x3f800001, 0x3f800000, 0x3f800080, 0x40000000}),
      bytesOf({0, 0x3f800000, 0x3f800000, 0x3f800000, 0x40000000}), inexact, {1, std::nullopt});
  EXPECT_EQ(result.differing, 2u);
  EXPECT_EQ(result.maxUlps, 0x80u);
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->index, 3u);
  EXPECT_EQ(result.first->expected, 0x3f800080u);
  EXPECT_EQ(result.histogram[0], 1u);
  EXPECT_EQ(result.histogram[7], 1u);
}

TEST(Compare, CountsDifferencesByPlace) {
  for (size_t elements : {1, 255, 256, 257, 1000, 4097}) {
    std::vector<uint32_t> words(elements, 5);
    const std::vector<uint8_t> expected = bytesOf(words);
    uint64_t all = 0;
    for (uint32_t &word : words)
      word = 6;
    const BufferResult result = compareBuffers(expected, bytesOf(words), {}, {});
    ASSERT_EQ(result.stretches.size(), std::min<size_t>(elements, BufferResult::kStretches));
    const auto [least, most] =
        std::minmax_element(result.stretches.begin(), result.stretches.end());
    EXPECT_LE(*most - *least, 1u) << elements;
    for (uint64_t count : result.stretches)
      all += count;
    EXPECT_EQ(all, elements);
  }
}

TEST(Relocation, MovesPointersThereAndBack) {
  const Relocation there({{0x7000, 0x90000, 0x100}, {0x7100, 0xa0000, 0x10}, {0x5000, 0xb0000, 0}});
  std::vector<uint8_t> bytes(7 * 8);
  const uint64_t words[] = {0x7000, 0x70ff, 0x7100, 0x7110, 0x7111, 0x5000, 0x5001};
  const uint64_t moved[] = {0x90000, 0x900ff, 0xa0000, 0xa0010, 0x7111, 0xb0000, 0x5001};
  for (size_t i = 0; i < std::size(words); ++i)
    support::endian::write64le(bytes.data() + 8 * i, words[i]);
  const std::vector<uint8_t> before = bytes;
  EXPECT_EQ(there.apply(bytes), 5u);
  for (size_t i = 0; i < std::size(words); ++i)
    EXPECT_EQ(support::endian::read64le(bytes.data() + 8 * i), moved[i]) << i;
  there.reversed().apply(bytes);
  EXPECT_EQ(bytes, before);
}

TEST(CompareBuffers, TakesTheTypeThatIsGiven) {
  Stores stores;
  stores.any = stores.isInexact = stores.isComputed = true;
  const std::vector<uint8_t> expected = {0x38, 0x39, 0x7f, 0x00}, got = {0x38, 0x3a, 0xff, 0x80};
  Bounds bounds;
  bounds.ulps = 1;
  BufferResult result =
      compareBuffers(expected, got, stores, bounds, cantFail(parseElementType("0=e4m3")));
  EXPECT_EQ(result.elements, 4u);
  EXPECT_EQ(result.nans, 1u);      // 0x7f and 0xff
  EXPECT_EQ(result.differing, 2u); // of them the zeros are 0 steps apart
  EXPECT_EQ(result.maxUlps, 1u);
  EXPECT_EQ(result.verdict, Verdict::Within);
  result = compareBuffers(expected, got, stores, bounds, cantFail(parseElementType("0=b8")));
  EXPECT_EQ(result.differing, 3u);
  result = compareBuffers(expected, got, stores, bounds, cantFail(parseElementType("0=b16")));
  EXPECT_EQ(result.elements, 2u);
}

TEST(CompareBuffers, CountsInRectangles) {
  std::vector<uint8_t> expected(130 * 70 + 50), got = expected;
  const uint64_t wrong[] = {0, 129, 130 * 69 + 129, 130 * 70}; // the last is behind the shape
  for (uint64_t i : wrong)
    got[i] = 1;
  View view = cantFail(parseShape("p=130x70"));
  view.elementBytes = 1;
  const BufferResult result = compareBuffers(expected, got, {}, {}, view);
  EXPECT_EQ(result.differing, 4u);
  ASSERT_EQ(result.cells.size(), 64u * 64);
  EXPECT_EQ(result.cells[0], 1u);
  EXPECT_EQ(result.cells[63], 1u);
  EXPECT_EQ(result.cells[64 * 64 - 1], 1u);
  uint64_t all = 0;
  for (uint64_t count : result.cells)
    all += count;
  EXPECT_EQ(all, 3u);
}

TEST(CompareBuffers, RefusesWhatIsNoView) {
  for (const char *text : {"", "0", "=f32", "0=", "0=float", "0=F16"})
    EXPECT_TRUE(errorToBool(parseElementType(text).takeError())) << text;
  for (const char *text : {"0=", "0=5", "0=5x", "0=x5", "0=0x5", "0=5x0", "0=-1x5", "0=5x5x5"})
    EXPECT_TRUE(errorToBool(parseShape(text).takeError())) << text;
}

// Two maps of one tensor, in Rubia's form and in one of which nothing is known.
class TensorMaps : public ::testing::Test {
protected:
  static constexpr uint64_t kAddress = 0x7000, kAt = 64; // of memory, and of the map in it
  TensorMaps() {
    TensorMapArguments &with = map.arguments;
    with.type = 7, with.rank = 2, with.address = 0x10000;
    with.sizes[0] = 37, with.sizes[1] = 21, with.strides[0] = 160;
    with.box[0] = 16, with.box[1] = 8, with.elementStrides[0] = with.elementStrides[1] = 1;
    for (size_t i = 0; i < kTensorMapBytes; ++i)
      map.bytes.push_back(i % 2 ? 0 : uint8_t(i + 1));
    theirs = map.bytes;
    ours = cantFail(tensorMapOf(with));
  }
  /// What is left of Rubia's map, or of other bytes in its place.
  std::vector<uint8_t> compare(std::vector<uint8_t> instead = {}, uint64_t address = kAddress) {
    std::vector<uint8_t> expected(2 * kAt + kTensorMapBytes), got = expected;
    std::copy(theirs.begin(), theirs.end(), expected.begin() + kAt);
    if (instead.empty())
      std::memcpy(got.data() + kAt, &ours, sizeof(ours));
    else
      std::copy(instead.begin(), instead.end(), got.begin() + kAt);
    const std::vector<uint8_t> before = got;
    result = compareTensorMaps({map}, address, expected, got);
    isAsExpected = got == expected;
    EXPECT_TRUE(isAsExpected || got == before);
    return got;
  }

  TensorMap map;
  std::vector<uint8_t> theirs;
  rubia::reference::TensorMap ours;
  TensorMapComparison result;
  bool isAsExpected = false;
};

TEST_F(TensorMaps, CopiedOnesAreComparedByFields) {
  compare();
  EXPECT_TRUE(isAsExpected);
  EXPECT_EQ(result.undecided, 0u);
  ours.sizes[0] = 36;
  compare();
  EXPECT_FALSE(isAsExpected);
  EXPECT_EQ(result.undecided, 0u);
}

TEST_F(TensorMaps, ChangedOnesAreUndecided) {
  theirs[8] ^= 0xff;
  ours.sizes[1] = 9;
  compare();
  EXPECT_TRUE(isAsExpected);
  EXPECT_EQ(result.undecided, 1u);
  EXPECT_EQ(result.first, "the tensor map at 0x7040, in which the replay changed global_dim");
  // Not where no tensor map can stand.
  compare({}, kAddress + 8);
  EXPECT_FALSE(isAsExpected);
}

TEST_F(TensorMaps, OnesThatTheReplayLeftOrLostDiffer) {
  theirs[8] ^= 0xff;
  compare();
  EXPECT_FALSE(isAsExpected);
  compare(map.bytes);
  EXPECT_FALSE(isAsExpected);
  compare(std::vector<uint8_t>(kTensorMapBytes, 0x55));
  EXPECT_FALSE(isAsExpected);
  EXPECT_EQ(result.undecided, 0u);
}

TEST_F(TensorMaps, OpenOnesMakeALaunchUndecided) {
  LaunchResult launch;
  addOpenMaps(launch);
  EXPECT_EQ(launch.verdict, Verdict::Equal);
  launch.openMaps = "a map";
  for (Verdict verdict : {Verdict::Equal, Verdict::Within, Verdict::Recordings}) {
    launch.verdict = verdict;
    addOpenMaps(launch);
    EXPECT_EQ(launch.verdict, Verdict::Undecided);
    EXPECT_EQ(launch.reason, "a map");
  }
  launch.reason = "ex2.approx";
  addOpenMaps(launch);
  addOpenMaps(launch);
  EXPECT_EQ(launch.reason, "ex2.approx; a map");
  launch.verdict = Verdict::Different;
  addOpenMaps(launch);
  EXPECT_EQ(launch.verdict, Verdict::Different);
}

} // namespace
