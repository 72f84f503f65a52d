// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces in every warp form and on all targets: one of 8 x 4 words, whose record is
// a variable of the module. What samplers compute is in tests/golden/textures.
#include "ptx-frontend/Parser.h"
#include "tests/lowering/execution/Execution.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <algorithm>
#include <cstring>

using namespace rubia::lowering::test;

namespace {

constexpr unsigned kWidth = 8, kHeight = 4;

// .global variables: `data`, of which word i is 3 * i + 1, and `record`, a texture of it.
std::string variables(const rubia::abi::Texture &record) {
  std::string text = ".global .align 32 .b32 data[32] = {";
  for (unsigned i = 0; i < kWidth * kHeight; ++i)
    text += (i ? ", " : "") + std::to_string(3 * i + 1);
  text += "};\n.global .align 128 .b64 record[16] = {data";
  uint64_t words[sizeof(record) / 8];
  memcpy(words, &record, sizeof(record));
  for (unsigned i = 1; i < 16; ++i)
    text += ", " + std::to_string(words[i]);
  return text + "};\n";
}

rubia::abi::Texture plane() {
  rubia::abi::Texture record = {};
  record.grid = {
      0, 0, rubia::abi::kColumnBytes * kHeight, rubia::abi::kColumnBytes, kWidth, kHeight, 1, 1};
  record.format = rubia::abi::kFormatOneWord;
  record.mode = rubia::abi::kAllClamp | rubia::abi::kPlainAddressing;
  std::fill(std::begin(record.scale), std::end(record.scale), 1.0f);
  record.slots[0] = kWidth;
  record.slots[1] = kHeight;
  return record;
}

// A body that leaves its result in %r9. %r0 and %r1 are x and y, %f0 and %f1 the same as numbers,
// %rd0 is the handle.
std::string kernelWith(const std::string &body, const rubia::abi::Texture &record = plane()) {
  return executable("and.b32 %r0, %tid, 7; shr.u32 %r1, %tid, 3; cvt.rn.f32.u32 %f0, %r0;"
                    "cvt.rn.f32.u32 %f1, %r1; mov.u64 %rd0, record;" +
                        body + "st.global.u32 [%mine], %r9; ret;",
                    variables(record));
}

uint32_t texel(unsigned x, unsigned y) { return 3 * (y * kWidth + x) + 1; }
template <class At> std::vector<uint32_t> expected(At at) {
  std::vector<uint32_t> words;
  for (unsigned i = 0; i < kWidth * kHeight; ++i)
    words.push_back(at(i % kWidth, i / kWidth));
  return words;
}
const std::vector<uint32_t> kWords(kWidth *kHeight, 0);

} // namespace

TEST(Textures, SamplesAndFetches) {
  const std::string ptx =
      kernelWith("tex.2d.v4.u32.f32 {%r9, %r2, %r3, %r4}, [%rd0, {%f0, %f1}];"
                 "tex.2d.v4.u32.s32 {%r5, %r2, %r3, %r4}, [%rd0, {%r0, %r1}];"
                 "setp.ne.u32 %p0, %r5, %r9; @%p0 mov.u32 %r9, 0;"
                 "txq.width.b32 %r5, [%rd0]; mad.lo.u32 %r9, %r5, 1000, %r9;"
                 "suq.height.b32 %r5, [%rd0]; mad.lo.u32 %r9, %r5, 10000, %r9;");
  const auto wanted = expected([](unsigned x, unsigned y) { return 48000 + texel(x, y); });
  EXPECT_EQ(runAll(ptx, kWords), wanted);
  EXPECT_EQ(runOnAllTargets(ptx, kWords), wanted);
}

// Layers are the same at all levels. There is nothing at a level that there is not.
TEST(Textures, SizesOfLevels) {
  rubia::abi::Texture record = plane();
  record.levelCount = 4;
  record.slots[2] = 5;
  const std::string ptx =
      kernelWith("txq.level.width.b32 %r2, [%rd0], %r0; txq.level.height.b32 %r3, [%rd0], %r0;"
                 "txq.level.depth.b32 %r4, [%rd0], %r0; mad.lo.u32 %r9, %r2, 100, %r3;"
                 "mad.lo.u32 %r9, %r9, 100, %r4;",
                 record);
  const auto wanted = expected([](unsigned level, unsigned) {
    const unsigned width = std::max(kWidth >> level, 1u), height = std::max(kHeight >> level, 1u);
    return level < 4 ? (width * 100 + height) * 100 + 5 : 0;
  });
  EXPECT_EQ(runAll(ptx, kWords), wanted);
  EXPECT_EQ(runOnAllTargets(ptx, kWords), wanted);
}

// The four texels around a corner; the nearest ones at the edge.
TEST(Textures, Gathers) {
  const std::string ptx =
      kernelWith("tld4.r.2d.v4.u32.f32 {%r2, %r3, %r4, %r5}, [%rd0, {%f0, %f1}];"
                 "mad.lo.u32 %r9, %r2, 100, %r3; mad.lo.u32 %r4, %r4, 100, %r5;"
                 "mad.lo.u32 %r9, %r9, 10000, %r4;");
  EXPECT_EQ(runAll(ptx, kWords), expected([](unsigned x, unsigned y) {
              const unsigned left = x ? x - 1 : 0, upper = y ? y - 1 : 0;
              return (texel(left, y) * 100 + texel(x, y)) * 10000 + texel(x, upper) * 100 +
                     texel(left, upper);
            }));
}

TEST(Textures, Surfaces) {
  const std::string ptx =
      kernelWith("shl.b32 %r2, %r0, 2; suld.b.2d.b32.trap %r9, [%rd0, {%r2, %r1}];"
                 "add.u32 %r3, %r9, 7; sust.b.2d.b32.trap [%rd0, {%r2, %r1}], %r3;"
                 "sured.b.add.2d.u32.trap [%rd0, {%r2, %r1}], %r9;"
                 "suld.b.2d.b32.zero %r9, [%rd0, {%r2, %r1}];");
  const auto wanted = expected([](unsigned x, unsigned y) { return 2 * texel(x, y) + 7; });
  EXPECT_EQ(runAll(ptx, kWords), wanted);
  EXPECT_EQ(runOnAllTargets(ptx, kWords), wanted);
}

// Offsets have 4 bits.
TEST(Textures, Offsets) {
  const std::string ptx =
      kernelWith("tex.2d.v4.u32.f32 {%r9, %r2, %r3, %r4}, [%rd0, {%f0, %f1}], {-1, 1};"
                 "tex.2d.v4.u32.s32 {%r5, %r2, %r3, %r4}, [%rd0, {%r0, %r1}], {%r0, 18};"
                 "tld4.r.2d.v4.u32.f32 {%r2, %r3, %r4, %r6}, [%rd0, {%f0, %f1}], {1, 1};"
                 "mad.lo.u32 %r9, %r9, 1000, %r5; mad.lo.u32 %r9, %r9, 1000, %r6;");
  const auto wanted = expected([](unsigned x, unsigned y) {
    const unsigned left = x ? x - 1 : 0, lower = std::min(y + 1, kHeight - 1);
    const unsigned fetched = 2 * x < kWidth && y + 2 < kHeight ? texel(2 * x, y + 2) : 0;
    return (texel(left, lower) * 1000 + fetched) * 1000 + texel(x, y);
  });
  EXPECT_EQ(runAll(ptx, kWords), wanted);
}

// Of words, sust.p and sured.p are as sust.b and sured.b, but that they count texels.
TEST(Textures, FormattedSurfaces) {
  const std::string ptx = kernelWith(
      "mul.lo.u32 %r3, %r0, 5; sust.p.2d.b32.trap [%rd0, {%r0, %r1}], %r3;"
      "sured.p.add.2d.b32.trap [%rd0, {%r0, %r1}], %r1;"
      "sured.p.max.2d.b32.zero [%rd0, {%r0, %r1}], 3;"
      "sust.p.2d.b32.zero [%rd0, {8, %r1}], %r3; sust.p.2d.b32.zero [%rd0, {-1, %r1}], %r3;"
      "shl.b32 %r2, %r0, 2; suld.b.2d.b32.trap %r9, [%rd0, {%r2, %r1}];"
      "istypep.surfref %p0, %rd0; @%p0 mov.u32 %r9, 0;");
  EXPECT_EQ(runAll(ptx, kWords),
            expected([](unsigned x, unsigned y) { return std::max(5 * x + y, 3u); }));
}

// A handle of 0 is an object without texels: every second thread has one.
TEST(Textures, HandleOfZero) {
  const std::string ptx = kernelWith(
      "and.b32 %r5, %r0, 1; setp.ne.u32 %p0, %r5, 0; selp.b64 %rd0, 0, %rd0, %p0;"
      "tex.2d.v4.u32.f32 {%r9, %r2, %r3, %r4}, [%rd0, {%f0, %f1}];"
      "tex.2d.v4.u32.s32 {%r5, %r2, %r3, %r4}, [%rd0, {%r0, %r1}]; add.u32 %r9, %r9, %r5;"
      "tex.1d.v4.u32.s32 {%r5, %r2, %r3, %r4}, [%rd0, {%r0}]; add.u32 %r9, %r9, %r5;"
      "tld4.r.2d.v4.u32.f32 {%r5, %r2, %r3, %r4}, [%rd0, {%f0, %f1}]; @%p0 add.u32 %r9, %r9, %r5;"
      "txq.width.b32 %r5, [%rd0]; add.u32 %r9, %r9, %r5; shl.b32 %r2, %r0, 2;"
      "@%p0 txq.level.width.b32 %r5, [%rd0], 0; @%p0 add.u32 %r9, %r9, %r5;"
      "suld.b.2d.b32.zero %r5, [%rd0, {%r2, %r1}]; add.u32 %r9, %r9, %r5;"
      "suld.b.2d.b32.clamp %r5, [%rd0, {%r2, %r1}]; add.u32 %r9, %r9, %r5;"
      "@%p0 sust.b.2d.b32.zero [%rd0, {%r2, %r1}], %r1;"
      "@%p0 sust.b.2d.b32.clamp [%rd0, {%r2, %r1}], %r1;"
      "@%p0 sust.p.2d.b32.zero [%rd0, {%r0, %r1}], %r1;"
      "@%p0 sust.p.2d.b32.clamp [%rd0, {%r0, %r1}], %r1;"
      "@%p0 sured.p.add.2d.b32.zero [%rd0, {%r0, %r1}], %r1;"
      "@%p0 sured.b.add.2d.u32.clamp [%rd0, {%r2, %r1}], %r1;");
  const auto wanted =
      expected([](unsigned x, unsigned y) { return x % 2 ? 0 : 4 * texel(x, y) + kWidth; });
  // So many instructions take long to compile: not in all forms, as those above are.
  Form form;
  EXPECT_EQ(run(ptx, kWords, form).words, wanted);
  form.arch = "gfx942";
  form.halfFilled = true;
  EXPECT_EQ(run(ptx, kWords, form).words, wanted);
  form = {};
  form.optLevel = 0;
  EXPECT_EQ(run(ptx, kWords, form).words, wanted);
  form = {};
  form.expectTrap = true;
  for (const std::string body :
       {"suld.b.2d.b32.trap %r9, [%rd0, {0, 0}];", "sust.b.2d.b32.trap [%rd0, {0, 0}], %r0;",
        "sust.p.2d.b32.trap [%rd0, {0, 0}], %r0;", "sured.p.add.2d.b32.trap [%rd0, {0, 0}], %r0;"})
    EXPECT_EQ(run(kernelWith("mov.u64 %rd0, 0;" + body), kWords, form).trap.reason,
              uint32_t(rubia::abi::TrapReason::SurfaceAccess))
        << body;
}

TEST(Textures, OutsideOfASurface) {
  Form form;
  form.expectTrap = true;
  const std::string outside = kernelWith("shl.b32 %r2, %r0, 2; add.u32 %r2, %r2, 4;"
                                         "suld.b.2d.b32.trap %r9, [%rd0, {%r2, %r1}];");
  EXPECT_EQ(run(outside, kWords, form).trap.reason,
            uint32_t(rubia::abi::TrapReason::SurfaceAccess));
  const std::string misaligned = kernelWith("shl.b32 %r2, %r0, 2; or.b32 %r2, %r2, 2;"
                                            "suld.b.2d.b32.zero %r9, [%rd0, {%r2, %r1}];");
  EXPECT_EQ(run(misaligned, kWords, form).trap.reason,
            uint32_t(rubia::abi::TrapReason::MisalignedAddress));
}

TEST(Textures, RefusesByName) {
  auto reason = [](const std::string &body) {
    rubia::ptx::ParseResult parsed = rubia::ptx::parse("k.ptx", kernelWith(body));
    llvm::LLVMContext context;
    const auto units = rubia::lowering::partition(parsed.module);
    auto module =
        rubia::lowering::lower(parsed.module, units[0], rubia::lowering::Options(), context);
    return module ? std::string() : llvm::toString(module.takeError());
  };
  EXPECT_NE(reason("tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd0, {%f0, %f1}], %f0;")
                .find("comparisons of texels"),
            std::string::npos);
  EXPECT_NE(reason("tex.level.2d.v4.u32.s32 {%r9, %r2, %r3, %r4}, [%rd0, {%r0, %r1}], %r0;")
                .find("integer coordinates"),
            std::string::npos);
  EXPECT_NE(reason("txq.num_samples.b32 %r9, [%rd0];").find("this query"), std::string::npos);
}
