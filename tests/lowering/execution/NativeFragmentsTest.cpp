// SPDX-License-Identifier: Apache-2.0
// Matrix fragments that stay in the unit's layout: from ldmatrix of either kind, round a loop, with
// sums that the loop itself changes, with an mma that has no partner, and in a branch of one warp.
// Everything is whole numbers, so that bits are compared with a model.
#include "tests/lowering/execution/Execution.h"
#include <bit>
#include <random>

using namespace rubia::lowering::test;

namespace rubia::settings::MmaMode {
extern const Word H100, Ieee;
} // namespace rubia::settings::MmaMode

namespace {

// Each warp multiplies 16 x 16 by 16 x 24 in each of three rounds; the last 8 columns are the first
// ones again. A and B of a round take 512 bytes each.
constexpr unsigned kThreads = 64, kRounds = 3;
constexpr unsigned kRoundWords = 256, kImageWords = 2 * kRounds * kRoundWords;
constexpr unsigned kSums = kImageWords, kSumsOfThread = 12;

struct Variant {
  const char *name;
  bool transposedA = false, transposedB = false;
  bool crossedB = false;    // its matrices in the other order
  bool changesSums = false; // in the loop
  bool scalesSums = false;  // by numbers of each thread's rows, which also differ along a row
  bool branches = false;    // only the first warp multiplies
  bool movesPointers = false;
  bool readsAhead = false; // what the next round multiplies
};

std::string registers(const char *name, unsigned first, unsigned count) {
  std::string list = "{";
  for (unsigned i = 0; i < count; ++i)
    list += (i ? ", %" : "%") + std::string(name) + std::to_string(first + i);
  return list + "}";
}

std::string kernelOf(const Variant &variant) {
  std::string body = R"(
    mov.u32 %r0, tile;
    mov.u32 %r1, %tid;
  fill:
    mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %buf; ld.global.u32 %r2, [%rd1];
    mad.lo.u32 %r3, %r1, 4, %r0; st.shared.u32 [%r3], %r2;
    add.u32 %r1, %r1, 64; setp.lt.u32 %p0, %r1, 1536; @%p0 bra fill;
    bar.sync 0;
    and.b32 %r1, %tid, 31; shr.u32 %r2, %tid, 5;
    mad.lo.u32 %r0, %r2, 3072, %r0; // the warp's
    and.b32 %r3, %r1, 7; shr.u32 %r4, %r1, 3; and.b32 %r5, %r4, 1; shr.u32 %r6, %r4, 1;
)";
  // Matrix i of A has rows 8 (i % 2), depth 8 (i / 2); of B columns 8 (i / 2), depth 8 (i % 2), or
  // the other way round. In memory rows are along the depth, or transposed along the other side.
  auto address = [&](const char *to, bool transposed, const char *line, const char *depth) {
    return std::string("shl.b32 %r7, ") + (transposed ? depth : line) +
           ", 3; add.u32 %r7, %r7, %r3; shl.b32 %r7, %r7, 5; shl.b32 %r8, " +
           (transposed ? line : depth) + ", 4; add.u32 %r7, %r7, %r8; add.u32 " + to +
           ", %r7, %r0;\n";
  };
  body += address("%r9", variant.transposedA, "%r5", "%r6");
  body += variant.crossedB ? address("%r10", variant.transposedB, "%r5", "%r6")
                           : address("%r10", variant.transposedB, "%r6", "%r5");
  body += "mad.lo.u32 %r11, %tid, 48, 6144; cvt.u64.u32 %rd1, %r11; add.u64 %rd1, %rd1, %buf;\n";
  for (unsigned i = 0; i < kSumsOfThread; ++i)
    body += "ld.global.f32 %acc" + std::to_string(i) + ", [%rd1+" + std::to_string(4 * i) + "];\n";
  auto load = [&](const char *to, bool transposed, const char *from, unsigned offset) {
    return std::string("ldmatrix.sync.aligned.m8n8.x4") + (transposed ? ".trans" : "") +
           ".shared.b16 " + registers(to, 0, 4) + ", [" + from + "+" + std::to_string(offset) +
           "];\n";
  };
  const std::string reads =
      load("fa", variant.transposedA, "%r13", 0) + load("fb", variant.transposedB, "%r14", 512);
  const std::string moves = variant.movesPointers
                                ? "mov.u32 %r13, %r9; mov.u32 %r14, %r10;\n"
                                : "add.u32 %r13, %r9, %r12; add.u32 %r14, %r10, %r12;\n";
  body += "mov.u32 %r12, 0; setp.lt.u32 %p2, %tid, 32;\n"
          "and.b32 %r13, %tid, 1; add.u32 %r13, %r13, 1; cvt.rn.f32.u32 %f0, %r13;\n"
          "shr.u32 %r13, %tid, 2; and.b32 %r13, %r13, 3; cvt.rn.f32.u32 %f1, %r13;\n";
  if (variant.readsAhead)
    body += moves + reads;
  body += "round:\n";
  if (variant.branches)
    body += "@!%p2 bra skip;\n";
  if (!variant.readsAhead)
    body += moves + reads;
  for (unsigned tile = 0; tile < 3; ++tile) {
    const unsigned first = tile % 2, stride = variant.crossedB ? 2 : 1;
    const unsigned b = variant.crossedB ? first : 2 * first;
    std::string sums = registers("acc", 4 * tile, 4);
    body += "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + sums + ", " +
            registers("fa", 0, 4) + ", {%fb" + std::to_string(b) + ", %fb" +
            std::to_string(b + stride) + "}, " + sums + ";\n";
  }
  if (variant.changesSums)
    for (unsigned i = 0; i < kSumsOfThread; ++i)
      body += "add.f32 %acc" + std::to_string(i) + ", %acc" + std::to_string(i) + ", 0f3F800000;\n";
  if (variant.scalesSums)
    for (unsigned i = 0; i < kSumsOfThread; ++i)
      body += "mul.f32 %acc" + std::to_string(i) + ", %f" + std::to_string(i / 2 % 2) + ", %acc" +
              std::to_string(i) + ";\n";
  if (variant.branches)
    body += "skip:\n";
  if (variant.movesPointers)
    body += "add.u32 %r9, %r9, 1024; add.u32 %r10, %r10, 1024;\n";
  body += "add.u32 %r12, %r12, 1024; setp.lt.u32 %p1, %r12, 3072;\n";
  if (variant.readsAhead) // the last round reads its own again
    body +=
        "min.u32 %r13, %r12, 2048; add.u32 %r14, %r10, %r13; add.u32 %r13, %r9, %r13;\n" + reads;
  body += "@%p1 bra round;\n";
  for (unsigned i = 0; i < kSumsOfThread; ++i)
    body += "st.global.f32 [%rd1+" + std::to_string(4 * i) + "], %acc" + std::to_string(i) + ";\n";
  std::string text = executable(body, ".shared .align 128 .b8 tile[6144];\n", ".reqntid 64, 1, 1");
  const std::string at = ".reg .b64 %buf";
  return text.insert(text.find(at), ".reg .b32 %fa<4>, %fb<4>; .reg .f32 %acc<12>;\n");
}

uint32_t halfOf(int number) {
  static const uint32_t kHalves[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400}; // 0 to 4
  return kHalves[std::abs(number)] | (number < 0 ? 0x8000 : 0);
}

// The buffer before and after: whole numbers in shared memory, then each thread's sums.
struct Buffers {
  std::vector<uint32_t> before, after;
};

Buffers expectedOf(const Variant &variant) {
  std::mt19937 random(5);
  std::vector<int> image(2 * kImageWords);
  for (int &number : image)
    number = int(random() % 9) - 4;
  Buffers result;
  for (unsigned i = 0; i < kImageWords; ++i)
    result.before.push_back(halfOf(image[2 * i]) | halfOf(image[2 * i + 1]) << 16);
  for (unsigned i = 0; i < kThreads * kSumsOfThread; ++i)
    result.before.push_back(std::bit_cast<uint32_t>(float(int(random() % 99) - 50)));
  result.after = result.before;
  for (unsigned thread = 0; thread < kThreads; ++thread)
    for (unsigned i = 0; i < kSumsOfThread; ++i) {
      const unsigned warp = thread / 32, lane = thread % 32;
      const unsigned row = lane / 4 + 8 * (i / 2 % 2);
      const unsigned column = (8 * (i / 4) + lane % 4 * 2 + i % 2) % 16;
      uint32_t &word = result.after[kSums + thread * kSumsOfThread + i];
      float sum = std::bit_cast<float>(word);
      for (unsigned round = 0; round < kRounds && !(variant.branches && warp); ++round) {
        const int *a = &image[2 * kRoundWords * (kRounds * warp + round)], *b = a + 256;
        for (unsigned k = 0; k < 16; ++k)
          sum += float((variant.transposedA ? a[16 * k + row] : a[16 * row + k]) *
                       (variant.transposedB ? b[16 * k + column] : b[16 * column + k]));
        sum += variant.changesSums ? 1 : 0;
        if (variant.scalesSums)
          sum *= i / 2 % 2 ? thread / 4 % 4 : thread % 2 + 1;
      }
      word = std::bit_cast<uint32_t>(sum);
    }
  return result;
}

} // namespace

TEST(NativeFragments, Loops) {
  Form form;
  form.block = {kThreads, 1, 1};
  for (const Variant &variant :
       {Variant{.name = "plain"}, Variant{.name = "transposed B", .transposedB = true},
        Variant{.name = "transposed A", .transposedA = true, .crossedB = true},
        Variant{.name = "both, other order",
                .transposedA = true,
                .transposedB = true,
                .crossedB = true},
        Variant{.name = "sums change", .changesSums = true},
        Variant{.name = "sums are scaled", .scalesSums = true},
        Variant{.name = "both", .changesSums = true, .scalesSums = true},
        Variant{.name = "one warp", .transposedB = true, .branches = true},
        Variant{.name = "moving pointers", .changesSums = true, .movesPointers = true},
        Variant{.name = "ahead", .readsAhead = true},
        Variant{.name = "ahead, transposed B", .transposedB = true, .readsAhead = true}})
    for (const char *arch : kTargets) {
      if (rubia::test::rowOf(arch).matrix == rubia::targets::Matrix::NoMatrix)
        continue; // no fragments but PTX's
      Buffers expected = expectedOf(variant);
      form.arch = arch;
      for (bool packed : {false, true}) {
        if (packed && !isWave64(arch))
          continue;
        form.packed = packed;
        form.halfFilled = !packed && isWave64(arch);
        EXPECT_EQ(run(kernelOf(variant), expected.before, form).words, expected.after)
            << variant.name << ", " << arch << (packed ? " packed" : "");
      }
    }
}

// What two products have in common is one value for the optimiser: all that either returns.
TEST(NativeFragments, OneOrTheOther) {
  constexpr unsigned kWords = 16; // of a thread: A, B, C
  std::string body = "mad.wide.u32 %rd1, %tid, 64, %buf;\n";
  for (unsigned i = 0; i < 10; ++i)
    body += "ld.global.b32 %r" + std::to_string(i) + ", [%rd1+" + std::to_string(4 * i) + "];\n";
  auto product = [](const char *factors) {
    return "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + registers("r", 6, 4) + ", " +
           registers("r", 0, 4) + ", " + factors + ", " + registers("r", 6, 4) + ";\n";
  };
  body += "ld.global.b32 %r10, [%buf+56]; setp.eq.u32 %p1, %r10, 0; @%p1 bra OTHER;\n" +
          product("{%r4, %r5}") + "bra JOIN;\nOTHER:\n" + product("{%r5, %r4}") + "JOIN:\n";
  for (unsigned i = 6; i < 10; ++i)
    body += "st.global.b32 [%rd1+" + std::to_string(4 * i) + "], %r" + std::to_string(i) + ";\n";
  const std::string ptx = executable(body + "ret;", "", ".reqntid 64, 1, 1");
  std::mt19937 random(5);
  for (uint32_t takesFirst : {0, 1}) {
    std::vector<uint32_t> words(kThreads * kWords);
    for (size_t i = 0; i < words.size(); ++i) // halves of 0 to 3, or singles
      words[i] = i % kWords < 6 ? (0x3c003c00 + (random() % 2 << 10)) & (random() % 3 ? ~0u : 0)
                                : std::bit_cast<uint32_t>(float(random() % 9));
    words[14] = takesFirst;
    Form form;
    form.block = {kThreads, 1, 1};
    form.mma = rubia::settings::MmaMode::H100;
    const std::vector<uint32_t> expected = run(ptx, words, form).words;
    EXPECT_NE(expected, words);
    form.mma = rubia::settings::MmaMode::Ieee;
    EXPECT_EQ(runOnAllTargets(ptx, words, form), expected) << takesFirst;
  }
}
