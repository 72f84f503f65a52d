// SPDX-License-Identifier: Apache-2.0
// A scan in one pass over the input: each CTA takes the next tile, publishes its sum, and looks
// back at the tiles before it until it finds one whose prefix is known. A tile's status and value
// are one vector, published by relaxed stores and read by relaxed loads without any fence, so that
// a status with another value than its own gives wrong sums.
#include "tests/lowering/execution/Execution.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <random>

using namespace rubia::lowering::test;

namespace {

constexpr unsigned kTiles = 96;

struct Scan {
  const char *type; // u32 or u64
  unsigned threads; // of a CTA: a tile has as many elements

  unsigned bytes() const { return type[1] == '3' ? 4 : 8; }
  unsigned elements() const { return kTiles * threads; }
  // Of the buffer: the number of the next tile, the states, the input, the output.
  unsigned states() const { return 64; }
  unsigned input() const { return states() + kTiles * 2 * bytes(); }
  unsigned output() const { return input() + elements() * bytes(); }
  unsigned size() const { return output() + elements() * bytes(); }
};

// The sum of a warp's %value in all of its lanes.
std::string warpSum(const Scan &scan) {
  std::string text;
  for (unsigned distance = 16; distance; distance /= 2) {
    const std::string by = std::to_string(distance);
    if (scan.bytes() == 4)
      text += "shfl.sync.bfly.b32 %other, %value, " + by + ", 31, -1;\n";
    else
      text += "mov.b64 {%low, %high}, %value;\n"
              "shfl.sync.bfly.b32 %low, %low, " +
              by + ", 31, -1;\nshfl.sync.bfly.b32 %high, %high, " + by +
              ", 31, -1;\nmov.b64 %other, {%low, %high};\n";
    text += std::string("add.") + scan.type + " %value, %value, %other;\n";
  }
  return text;
}

// Makes %x, which each thread has, the sum of those of the threads up to this one.
std::string ctaScan(const Scan &scan) {
  const std::string t = scan.type;
  std::string text = "st.shared." + t + " [%slot], %x;\nbar.sync 0;\n";
  for (unsigned distance = 1; distance < scan.threads; distance *= 2)
    text += "setp.ge.u32 %has, %tid, " + std::to_string(distance) + ";\n@%has ld.shared." + t +
            " %other, [%slot+-" + std::to_string(distance * scan.bytes()) + "];\nbar.sync 0;\n" +
            "@%has add." + t + " %x, %x, %other;\nst.shared." + t + " [%slot], %x;\nbar.sync 0;\n";
  return text;
}

std::string kernelOf(const Scan &scan) {
  const std::string t = scan.type, size = std::to_string(scan.bytes()),
                    state = std::to_string(2 * scan.bytes());
  auto number = [](unsigned n) { return std::to_string(n); };
  return executable(".reg ." + t + " %x, %other, %sum, %value, %status, %prefix;\n" + R"(
    .reg .b32 %tile, %slot, %index, %back, %known, %last, %low, %high;
    .reg .b64 %address, %states;
    .reg .pred %has, %leads, %any, %before;
    .shared .align 16 .b8 sums[)" +
                        number(8 * scan.threads) +
                        R"(]; .shared .b32 number; .shared .align 8 .b8 before[8];
    setp.eq.u32 %leads, %tid, 0;
    @%leads atom.relaxed.gpu.global.add.u32 %tile, [%buf], 1;
    @%leads st.shared.u32 [number], %tile;
    bar.sync 0;
    ld.shared.u32 %tile, [number];
    mov.u32 %slot, sums;
    mad.lo.u32 %slot, %tid, )" +
                        size + R"(, %slot;
    mad.lo.u32 %index, %tile, )" +
                        number(scan.threads) + R"(, %tid;
    mad.wide.u32 %address, %index, )" +
                        size + ", %buf;\nld.global." + t + " %x, [%address+" +
                        number(scan.input()) + "];\n" + ctaScan(scan) + R"(
    setp.ge.u32 %has, %tid, 32;
    @%has bra.uni known;
    ld.shared.)" + t + " %sum, [sums+" +
                        number((scan.threads - 1) * scan.bytes()) + R"(];
    add.u64 %states, %buf, 64;
    mad.wide.u32 %address, %tile, )" +
                        state + ", %states;\n@%leads st.relaxed.gpu.global.v2." + t +
                        R"( [%address], {1, %sum};
    mov.)" + t + R"( %prefix, 0;
    sub.u32 %back, %tile, 1;
    sub.u32 %back, %back, %tid;
window:
    setp.ge.s32 %before, %back, 0;
    mov.)" + t + " %status, 2;\nmov." +
                        t + R"( %value, 0;
    mad.wide.s32 %address, %back, )" +
                        state + R"(, %states;
again:
    @%before ld.relaxed.gpu.global.v2.)" +
                        t + R"( {%status, %value}, [%address];
    setp.eq.)" + t + R"( %has, %status, 0;
    vote.sync.any.pred %any, %has, -1;
    @%any bra.uni again;
    setp.eq.)" + t + R"( %has, %status, 2;
    vote.sync.ballot.b32 %known, %has, -1;
    brev.b32 %last, %known;
    clz.b32 %last, %last;
    setp.gt.u32 %has, %tid, %last;
    @%has mov.)" + t + " %value, 0;\n" +
                        warpSum(scan) + "add." + t + R"( %prefix, %prefix, %value;
    sub.u32 %back, %back, 32;
    setp.eq.u32 %has, %known, 0;
    @%has bra.uni window;
    add.)" + t + R"( %sum, %sum, %prefix;
    mad.wide.u32 %address, %tile, )" +
                        state + ", %states;\n@%leads st.relaxed.gpu.global.v2." + t +
                        " [%address], {2, %sum};\n@%leads st.shared." + t + R"( [before], %prefix;
known:
    bar.sync 0;
    ld.shared.)" + t + " %prefix, [before];\nadd." +
                        t + R"( %x, %x, %prefix;
    mad.wide.u32 %address, %index, )" +
                        size + ", %buf;\nst.global." + t + " [%address+" + number(scan.output()) +
                        "], %x;\n",
                    "", ".reqntid " + number(scan.threads));
}

// Sums wrap as the kernel's do.
uint64_t element(const std::vector<uint32_t> &words, const Scan &scan, unsigned byte) {
  uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const char *>(words.data()) + byte, scan.bytes());
  return value;
}

void check(const Scan &scan, Form form) {
  SCOPED_TRACE(std::string(scan.type) + ", tiles of " + std::to_string(scan.threads));
  std::vector<uint32_t> words(scan.size() / 4);
  std::mt19937 random(scan.threads);
  for (unsigned i = scan.input() / 4; i < scan.output() / 4; ++i)
    words[i] = uint32_t(random());
  form.grid = {kTiles, 1, 1};
  form.block = {scan.threads, 1, 1};
  const std::vector<uint32_t> result = run(kernelOf(scan), words, form).words;
  ASSERT_EQ(result.size(), words.size());
  uint64_t sum = 0;
  unsigned wrong = 0, first = 0;
  for (unsigned i = 0; i < scan.elements(); ++i) {
    sum += element(words, scan, scan.input() + i * scan.bytes());
    const uint64_t expected = scan.bytes() == 4 ? uint32_t(sum) : sum;
    if (element(result, scan, scan.output() + i * scan.bytes()) != expected && wrong++ == 0)
      first = i;
  }
  EXPECT_EQ(wrong, 0u) << "of " << scan.elements() << " sums; the first in tile "
                       << first / scan.threads;
}

// A warp that looks back waits for other CTAs, so that two warps of one may not share a wave; CTAs
// of one warp are packed.
TEST(LookBack, ScansInOnePass) {
  for (const char *type : {"u32", "u64"})
    for (const char *arch : {"gfx1100", "gfx942"}) {
      Form form;
      form.arch = arch;
      form.hostThreads = 2;
      form.halfFilled = isWave64(arch);
      check({type, 64}, form);
      form.packed = form.halfFilled;
      form.halfFilled = false;
      check({type, 32}, form);
    }
}

// The same where nothing but what is documented or assumed keeps an order or a vector whole.
TEST(LookBack, ScansInAnyOrderThatTheCodeAllows) {
  for (const char *type : {"u32", "u64"})
    for (const char *arch : {"gfx1100", "gfx942"}) {
      Form form;
      form.arch = arch;
      form.orderSeed = 5;
      form.packed = isWave64(arch);
      check({type, 32}, form);
    }
}

} // namespace
