// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix and movmatrix against models written from the manual, by two warps whose rows
// lie anywhere in shared memory.
#include "tests/lowering/execution/Execution.h"
#include <array>
#include <random>

using namespace rubia::lowering::test;

namespace {

// The buffer: what shared memory has before and after, each thread's row, each thread's registers.
constexpr unsigned kShared = 1024, kThreads = 64;
constexpr unsigned kRows = kShared, kRegisters = kRows + kThreads;
constexpr unsigned kWords = kRegisters + 4 * kThreads;

struct Matrices {
  unsigned count;
  bool transposed;
  const char *space; // of the address: ".shared", or "" for a generic one

  std::string name(const char *instruction) const {
    return std::string(instruction) + ".sync.aligned.m8n8.x" + std::to_string(count) +
           (transposed ? ".trans" : "") + space + ".b16";
  }
  std::string registers() const {
    std::string list = "{%r10";
    for (unsigned i = 1; i < count; ++i)
      list += ", %r" + std::to_string(10 + i);
    return list + "}";
  }
};

std::string forHopper(std::string ptx) {
  for (auto [from, to] : {std::pair{"sm_80", "sm_90"}, std::pair{".version 8.0", ".version 8.1"}})
    ptx.replace(ptx.find(from), strlen(from), to);
  return ptx;
}

// Fills shared memory, then executes `body` with the row's address in %rd1 and the registers in
// %r10 to %r13, and writes both back.
std::string kernelOf(const std::string &body, const Matrices &matrices) {
  std::string address = *matrices.space ? "" : "cvta.shared.u64 %rd1, %rd1;";
  return forHopper(executable(R"(
    mov.u64 %rd2, tile;
    mul.wide.u32 %rd3, %tid, 4;
    add.u64 %rd4, %buf, %rd3; // a word of the image each, then the next 64
    add.u64 %rd5, %rd2, %rd3;
    mov.u32 %r0, 0;
  fill:
    ld.global.u32 %r1, [%rd4]; st.shared.u32 [%rd5], %r1;
    add.u64 %rd4, %rd4, 256; add.u64 %rd5, %rd5, 256; add.u32 %r0, %r0, 1;
    setp.lt.u32 %p0, %r0, 16;
    @%p0 bra fill;
    bar.sync 0;
    add.u64 %rd4, %buf, %rd3;
    ld.global.u32 %r1, [%rd4+4096];
    cvt.u64.u32 %rd1, %r1; add.u64 %rd1, %rd1, %rd2;)" +
                                  address + R"(
    mad.wide.u32 %rd6, %tid, 16, %buf;
    ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd6+4352];)" +
                                  body + R"(
    st.global.v4.u32 [%rd6+4352], {%r10, %r11, %r12, %r13};
    bar.sync 0;
    add.u64 %rd4, %buf, %rd3; add.u64 %rd5, %rd2, %rd3; mov.u32 %r0, 0;
  drain:
    ld.shared.u32 %r1, [%rd5]; st.global.u32 [%rd4], %r1;
    add.u64 %rd4, %rd4, 256; add.u64 %rd5, %rd5, 256; add.u32 %r0, %r0, 1;
    setp.lt.u32 %p0, %r0, 16;
    @%p0 bra drain;)",
                              ".shared .align 16 .b8 tile[4096];\n"));
}

// Random contents; rows of 16 bytes that do not overlap, in any order.
std::vector<uint32_t> randomBuffer(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint32_t> words(kWords);
  for (uint32_t &word : words)
    word = random();
  std::vector<uint32_t> rows(256);
  for (unsigned i = 0; i < rows.size(); ++i)
    rows[i] = 16 * i;
  std::shuffle(rows.begin(), rows.end(), random);
  std::copy_n(rows.begin(), kThreads, words.begin() + kRows);
  return words;
}

// The 16 bits at a row and column of a matrix, whose rows' addresses a warp's lanes have.
struct Element {
  unsigned word, shift;
};
Element elementOf(const std::vector<uint32_t> &words, unsigned warp, unsigned matrix, unsigned row,
                  unsigned column) {
  unsigned bytes = words[kRows + 32 * warp + 8 * matrix + row] + 2 * column;
  return {bytes / 4, bytes % 4 * 8};
}

// What row and column the i-th half of a lane's register has.
std::array<unsigned, 2> placeOf(unsigned lane, unsigned i, bool transposed) {
  std::array<unsigned, 2> place{lane / 4, lane % 4 * 2 + i};
  if (transposed)
    std::swap(place[0], place[1]);
  return place;
}

const std::vector<Matrices> kForms = {
    {1, false, ".shared"}, {2, false, ".shared"},     {4, false, ".shared"}, {1, true, ".shared"},
    {2, true, ".shared"},  {4, true, ".shared::cta"}, {4, false, ""},        {2, true, ""}};

template <typename Move> void forEachHalf(const Matrices &matrices, Move move) {
  for (unsigned thread = 0; thread < kThreads; ++thread)
    for (unsigned matrix = 0; matrix < matrices.count; ++matrix)
      for (unsigned i = 0; i < 2; ++i)
        move(thread, matrix, i, placeOf(thread % 32, i, matrices.transposed));
}

Form twoWarps() {
  Form form;
  form.block = {kThreads, 1, 1};
  return form;
}

} // namespace

TEST(MatrixMovement, Ldmatrix) {
  for (const Matrices &matrices : kForms) {
    SCOPED_TRACE(matrices.name("ldmatrix"));
    std::vector<uint32_t> words = randomBuffer(1), expected = words;
    forEachHalf(matrices, [&](unsigned thread, unsigned matrix, unsigned i, auto place) {
      Element element = elementOf(words, thread / 32, matrix, place[0], place[1]);
      uint32_t &target = expected[kRegisters + 4 * thread + matrix];
      uint32_t half = words[element.word] >> element.shift & 0xffff;
      target = i ? (target & 0xffff) | half << 16 : (target & 0xffff0000) | half;
    });
    std::string body = matrices.name("ldmatrix") + " " + matrices.registers() + ", [%rd1];";
    EXPECT_EQ(runOnAllTargets(kernelOf(body, matrices), words, twoWarps()), expected);
  }
}

TEST(MatrixMovement, LdmatrixOverItsOwnAddress) {
  Matrices matrices{2, false, ".shared"};
  std::vector<uint32_t> words = randomBuffer(2), expected = words;
  forEachHalf(matrices, [&](unsigned thread, unsigned matrix, unsigned i, auto place) {
    Element element = elementOf(words, thread / 32, matrix, place[0], place[1]);
    uint32_t &target = expected[kRegisters + 4 * thread + matrix];
    uint32_t half = words[element.word] >> element.shift & 0xffff;
    target = i ? (target & 0xffff) | half << 16 : (target & 0xffff0000) | half;
  });
  std::string body = "cvt.u32.u64 %r10, %rd1;"
                     "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r10, %r11}, [%r10];";
  EXPECT_EQ(runAll(kernelOf(body, matrices), words, twoWarps()), expected);
}

TEST(MatrixMovement, Stmatrix) {
  for (const Matrices &matrices : kForms) {
    SCOPED_TRACE(matrices.name("stmatrix"));
    std::vector<uint32_t> words = randomBuffer(3), expected = words;
    forEachHalf(matrices, [&](unsigned thread, unsigned matrix, unsigned i, auto place) {
      Element element = elementOf(words, thread / 32, matrix, place[0], place[1]);
      uint32_t half = words[kRegisters + 4 * thread + matrix] >> (16 * i) & 0xffff;
      uint32_t &target = expected[element.word];
      target = (target & ~(0xffffu << element.shift)) | half << element.shift;
    });
    std::string body = matrices.name("stmatrix") + " [%rd1], " + matrices.registers() + ";";
    EXPECT_EQ(runOnAllTargets(kernelOf(body, matrices), words, twoWarps()), expected);
  }
}

TEST(MatrixMovement, Movmatrix) {
  std::mt19937 random(4);
  std::vector<uint32_t> words(kThreads), expected(kThreads);
  for (uint32_t &word : words)
    word = random();
  for (unsigned thread = 0; thread < kThreads; ++thread)
    for (unsigned i = 0; i < 2; ++i) {
      auto [row, column] = placeOf(thread % 32, i, /*transposed=*/true);
      uint32_t source = words[thread / 32 * 32 + 4 * row + column / 2];
      expected[thread] |= (source >> (16 * (column % 2)) & 0xffff) << (16 * i);
    }
  std::string ptx = executable("ld.global.u32 %r0, [%mine];"
                               "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;"
                               "st.global.u32 [%mine], %r0;");
  EXPECT_EQ(runOnAllTargets(ptx, words, twoWarps()), expected);
}
