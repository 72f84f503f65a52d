// SPDX-License-Identifier: Apache-2.0
// wgmma against reference/MatrixReference.h: types, places of A, descriptors, swizzles and
// controls. The layouts of shared memory are written here from the manual, element by element. PTX
// ISA: asynchronous-warpgroup-level-matrix-shared-memory-layout.
#include "lowering/lib/analysis/MmaForm.h"
#include "ptx-frontend/Parser.h"
#include "reference/MatrixReference.h"
#include "tests/lowering/execution/Execution.h"
#include <cstring>
#include <random>
#include <regex>

using namespace rubia;
using namespace rubia::lowering;
using namespace rubia::lowering::test;
using ptx::Type;

namespace rubia::settings::MmaMode {
extern const Word H100, Ieee;
} // namespace rubia::settings::MmaMode

namespace {

constexpr unsigned kWarpgroup = 128;
constexpr unsigned kRegion = 8192; // bytes of shared memory for A, and for B

struct Layout {
  unsigned swizzle = 0; // bytes: 0, 32, 64, 128
  bool alongLines = false;
  unsigned leading = 128, stride = 256, base = 0, start = 0;

  uint64_t descriptor(unsigned region) const {
    const uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    return (region + start) >> 4 | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 |
           uint64_t(base) << 49 | mode << 62;
  }
  // The byte of an element in its region.
  unsigned placeOf(unsigned line, unsigned k, unsigned bits) const {
    unsigned at = start;
    if (!swizzle) { // core matrices of 8 rows of 16 bytes
      const unsigned row = alongLines ? k : line, byte = (alongLines ? line : k) * bits / 8;
      at += row % 8 * 16 + byte % 16;
      return at + (alongLines ? row / 8 * leading + byte / 16 * stride
                              : row / 8 * stride + byte / 16 * leading);
    }
    const unsigned row = alongLines ? k : line, byte = (alongLines ? line : k) * bits / 8;
    at += row / 8 * stride + row % 8 * swizzle + byte / swizzle * leading + byte % swizzle;
    const unsigned pieces = swizzle / 16;
    return at ^ (at / 128 - base) % pieces * 16;
  }
};

struct Case {
  std::string spelling; // all of the opcode
  unsigned n;
  bool aInRegisters = false;
  Layout a = {}, b = {};
  int signOfA = 1, signOfB = 1;
  bool takesD = true;
  unsigned selector = 0;
  unsigned groups = 1;  // warpgroups: all have the same A and B, in places of their own
  bool refills = false; // behind the wait a warp of each group overwrites A and B
};

const char *nameOf(Type type) {
  switch (type) {
  case Type::F16:
    return "f16";
  case Type::BF16:
    return "bf16";
  case Type::TF32:
    return "tf32";
  case Type::F32:
    return "f32";
  case Type::E4M3:
    return "e4m3";
  case Type::E5M2:
    return "e5m2";
  case Type::S8:
    return "s8";
  case Type::U8:
    return "u8";
  case Type::B1:
    return "b1";
  default:
    return "s32";
  }
}

std::string listOf(const std::string &prefix, unsigned count) {
  std::string list = "{";
  for (unsigned i = 0; i < count; ++i)
    list += (i ? ", " : "") + prefix + std::to_string(i);
  return list + "}";
}

class Kernel {
public:
  explicit Kernel(const Case &test)
      : test(test), isHalf(llvm::StringRef(test.spelling).contains(".f16.f16.f16") ||
                           std::regex_search(test.spelling, std::regex("[.]f16[.]e[45]"))),
        registers(isHalf ? test.n / 4 : test.n / 2), text(make()), form(read()) {}

  unsigned threads() const { return kWarpgroup * test.groups; }
  // Words of the buffer: A, B; then of each thread A's registers, the metadata, D.
  unsigned perThread() const { return 5 + registers; }
  unsigned firstOfThreads() const { return 2 * kRegion / 4; }

  const Case &test;
  const bool isHalf;
  const unsigned registers; // of D
  const std::string text;
  const MmaForm form;

private:
  std::string make() const {
    const bool isFloat = llvm::StringRef(test.spelling).contains(".f32.");
    const std::string held = isFloat ? "f32" : "b32";
    const std::string ofGroup = std::to_string(2 * kRegion);
    std::string body =
        ".shared .align 1024 .b8 tiles[" + std::to_string(2 * kRegion * test.groups) +
        "];.reg .b64 %from, %to, %mat, %da, %db; .reg .b32 %ra<4>; .reg .b32 %e;"
        ".reg .b32 %inGroup, %group, %i; .reg .pred %takes, %p; .reg ." +
        held + " %w<" + std::to_string(registers) + ">;" +
        "and.b32 %inGroup, %tid, 127; shr.u32 %group, %tid, 7;"
        "mad.wide.u32 %from, %inGroup, 16, %buf; mov.u64 %mat, tiles;"
        "mad.wide.u32 %mat, %group, " +
        ofGroup + ", %mat; mad.wide.u32 %to, %inGroup, 16, %mat; shr.u64 %mat, %mat, 4;";
    for (unsigned i = 0; i < 2 * kRegion; i += 16 * kWarpgroup)
      body += "ld.global.v4.b32 {%ra0, %ra1, %ra2, %ra3}, [%from+" + std::to_string(i) +
              "];st.shared.v4.b32 [%to+" + std::to_string(i) + "], {%ra0, %ra1, %ra2, %ra3};";
    body += "mad.wide.u32 %from, %tid, " + std::to_string(4 * perThread()) + ", %buf;" +
            "add.s64 %from, %from, " + std::to_string(4 * firstOfThreads()) + ";" +
            "add.s64 %da, %mat, " + std::to_string(test.a.descriptor(0)) + ";" +
            "add.s64 %db, %mat, " + std::to_string(test.b.descriptor(kRegion)) + ";";
    for (unsigned i = 0; i < 4; ++i)
      body += "ld.global.b32 %ra" + std::to_string(i) + ", [%from+" + std::to_string(4 * i) + "];";
    body += "ld.global.b32 %e, [%from+16];";
    for (unsigned i = 0; i < registers; ++i)
      body += "ld.global." + held + " %w" + std::to_string(i) + ", [%from+" +
              std::to_string(20 + 4 * i) + "];";
    body += "setp." + std::string(test.takesD ? "lt" : "ge") + ".u32 %takes, %tid, 4096;" +
            "fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;" + test.spelling + " " +
            listOf("%w", registers) + ", " + (test.aInRegisters ? listOf("%ra", 4) : "%da") +
            ", %db";
    if (llvm::StringRef(test.spelling).contains(".sp."))
      body += ", %e, " + std::to_string(test.selector);
    body += ", %takes";
    if (!llvm::StringRef(test.spelling).contains(".s32."))
      body += ", " + std::to_string(test.signOfA) + ", " + std::to_string(test.signOfB);
    if (std::regex_search(test.spelling, std::regex("f16[.]b?f16$|bf16$"))) {
      if (!test.aInRegisters)
        body += std::string(", ") + (test.a.alongLines ? "1" : "0");
      body += std::string(", ") + (test.b.alongLines ? "1" : "0");
    }
    body += "; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";
    if (test.refills)
      body += "setp.ge.u32 %p, %inGroup, 32; @%p bra Refilled; mov.u32 %i, 0; Refill:"
              "st.shared.v4.b32 [%to], {%i, %i, %i, %i}; add.s64 %to, %to, 512;"
              "add.u32 %i, %i, 512; setp.lt.u32 %p, %i, " +
              ofGroup + "; @%p bra Refill; Refilled:";
    for (unsigned i = 0; i < registers; ++i)
      body += "st.global." + held + " [%from+" + std::to_string(20 + 4 * i) + "], %w" +
              std::to_string(i) + ";";
    return std::regex_replace(executable(body + "ret;"),
                              std::regex("\\.version [0-9.]+\\s+\\.target [a-z_0-9]+"),
                              ".version 9.0\n.target sm_90a");
  }

  MmaForm read() const {
    ptx::ParseResult result = ptx::parse("test.ptx", text);
    EXPECT_TRUE(result.diagnostics.empty()) << text;
    if (!result.diagnostics.empty())
      return {};
    for (const ptx::Instruction &inst : result.module.functions.front()->body)
      if (auto found = MmaForm::of(inst))
        return *found;
    return {};
  }
};

// An element with a sign, a few exponents near that of 1 and any mantissa, or a whole number of at
// most 4.
uint64_t randomElement(Type type, bool isWhole, std::mt19937 &random) {
  struct Parts {
    unsigned exponent, mantissa, below;
  };
  auto parts = [&]() -> Parts {
    switch (type) {
    case Type::F16:
      return {5, 10, 0};
    case Type::BF16:
      return {8, 7, 0};
    case Type::TF32:
      return {8, 10, 13};
    case Type::F32:
      return {8, 23, 0};
    case Type::E4M3:
      return {4, 3, 0};
    case Type::E5M2:
      return {5, 2, 0};
    default:
      return {0, 0, 0};
    }
  }();
  if (!parts.exponent)
    return random();
  const unsigned bias = (1u << (parts.exponent - 1)) - 1, sign = random() % 2;
  uint64_t field = bias - 3 + random() % 6, mantissa = random() & ((1u << parts.mantissa) - 1);
  if (isWhole) {
    field = random() % 4 ? bias + random() % 3 : 0;
    mantissa = 0;
  }
  uint64_t bits = (uint64_t(sign) << parts.exponent | field) << parts.mantissa | mantissa;
  if (field == 0)
    bits = 0;
  return bits << parts.below | (isWhole ? 0 : random() & ((1u << parts.below) - 1));
}

class Check {
public:
  Check(const Case &test, bool isWhole) : kernel(test), form(kernel.form), isWhole(isWhole) {
    words.assign(kernel.firstOfThreads() + kernel.threads() * kernel.perThread(), 0);
    std::mt19937 random(unsigned(test.spelling.size() * 31 + test.n));
    for (unsigned i = 0; i < kernel.firstOfThreads(); ++i)
      words[i] = random(); // also where no element is
    fill(MmaMatrix::A, a, 0, test.a, random);
    fill(MmaMatrix::B, b, kRegion, test.b, random);
    for (unsigned thread = 0; thread < kernel.threads(); ++thread)
      fillThread(thread, random);
  }

  void expect(llvm::ArrayRef<uint32_t> results) const {
    ASSERT_EQ(results.size(), words.size());
    unsigned wrong = 0;
    for (unsigned thread = 0; thread < kernel.threads(); ++thread)
      for (unsigned reg = 0; reg < kernel.registers; ++reg)
        for (unsigned i = 0; i < form.elementsPerRegister(MmaMatrix::D); ++i) {
          const MatrixPlace at = form.placeOf(MmaMatrix::D, {thread % kWarpgroup, reg, i});
          const uint64_t got = elementOf(results, thread, reg, i),
                         want = wanted(at, thread, reg, i);
          if (got != want && ++wrong <= 3)
            ADD_FAILURE() << kernel.test.spelling << " row " << at.row << " column " << at.column
                          << ": " << std::hex << got << ", expected " << want;
        }
    EXPECT_EQ(wrong, 0u);
  }

  const Kernel kernel;
  const MmaForm &form;
  const bool isWhole;
  std::vector<uint32_t> words;

private:
  using Matrix = std::vector<std::vector<uint64_t>>; // by line, then k

  void put(unsigned bit, unsigned width, uint64_t value) {
    const uint64_t mask = width == 32 ? 0xffffffff : (uint64_t(1) << width) - 1;
    uint32_t &word = words[bit / 32];
    word = uint32_t((word & ~(mask << bit % 32)) | (value & mask) << bit % 32);
  }
  unsigned wordOf(unsigned thread, unsigned i) const {
    return kernel.firstOfThreads() + thread * kernel.perThread() + i;
  }

  void fill(MmaMatrix matrix, Matrix &elements, unsigned region, const Layout &layout,
            std::mt19937 &random) {
    const unsigned bits = form.elementBits(matrix);
    const bool isA = matrix == MmaMatrix::A;
    const unsigned lines = isA ? form.m : form.n;
    const unsigned depth = isA ? form.columns(matrix) : form.rows(matrix);
    elements.assign(lines, std::vector<uint64_t>(depth));
    for (unsigned line = 0; line < lines; ++line)
      for (unsigned k = 0; k < depth; ++k) {
        const uint64_t mask = bits == 32 ? 0xffffffff : (1u << bits) - 1;
        const uint64_t value = randomElement(form.typeOf(matrix), isWhole, random) & mask;
        elements[line][k] = value;
        if (!isA || !kernel.test.aInRegisters) {
          const unsigned at = region + layout.placeOf(line, k, bits);
          put(at * 8 + k * bits % 8, bits, value);
        }
      }
  }

  void fillThread(unsigned thread, std::mt19937 &random) {
    const unsigned lane = thread % kWarpgroup, bits = form.elementBits(MmaMatrix::A);
    for (unsigned reg = 0; reg < 4; ++reg)
      for (unsigned i = 0; i < 32 / bits; ++i) {
        const MatrixPlace at = form.placeOf(MmaMatrix::A, {lane, reg, i});
        put(wordOf(thread, reg) * 32 + i * bits, bits, a[at.row][at.column]);
      }
    static constexpr uint32_t kTwoOfFour[] = {4, 8, 9, 12, 13, 14};
    uint32_t metadata = 0;
    for (unsigned nibble = 0; nibble < 8; ++nibble)
      metadata = metadata << 4 |
                 (form.a == Type::TF32 ? (random() % 2 ? 14 : 4) : kTwoOfFour[random() % 6]);
    words[wordOf(thread, 4)] = metadata;
    for (unsigned reg = 0; reg < kernel.registers; ++reg)
      for (unsigned i = 0; i < form.elementsPerRegister(MmaMatrix::D); ++i) {
        const unsigned width = form.elementBits(MmaMatrix::D);
        put(wordOf(thread, 5 + reg) * 32 + i * width, width,
            form.d == Type::S32 ? random() : randomElement(form.d, isWhole, random));
      }
  }

  uint64_t elementOf(llvm::ArrayRef<uint32_t> from, unsigned thread, unsigned reg,
                     unsigned i) const {
    const unsigned width = form.elementBits(MmaMatrix::D);
    const uint32_t word = from[wordOf(thread, 5 + reg)] >> i * width % 32;
    return width == 32 ? word : word & 0xffff;
  }

  uint64_t wanted(MatrixPlace at, unsigned thread, unsigned reg, unsigned i) const {
    const Case &test = kernel.test;
    const unsigned bits = form.elementBits(MmaMatrix::A);
    const uint64_t sign =
        form.d == Type::S32 || test.signOfA == test.signOfB ? 0 : uint64_t(1) << (bits - 1);
    std::vector<uint64_t> x, y;
    for (unsigned k = 0; k < form.columns(MmaMatrix::A); ++k) {
      unsigned inB = k;
      if (form.isSparse) {
        const MetadataPlace place = form.metadataOf(at.row, k);
        const unsigned first = thread / kWarpgroup * kWarpgroup;
        const uint32_t word = words[wordOf(first + place.lane, 4)];
        inB = place.base + place.scale * (word >> place.shift & ((1u << place.width) - 1));
      }
      x.push_back(a[at.row][k] ^ sign);
      y.push_back(b[at.column][inB]);
    }
    reference::MatrixProduct product;
    product.a = nameOf(form.a), product.b = nameOf(form.b);
    product.c = product.d = nameOf(form.d);
    product.unit = reference::MatrixProduct::Unit::Wgmma;
    product.satfinite = form.satfinite;
    product.isAnd = true;
    const uint64_t c = test.takesD ? elementOf(words, thread, reg, i) : 0;
    return llvm::cantFail(reference::matrixElement(product, x, y, c));
  }

  Matrix a, b;
};

Form formOf(const Check &check, settings::Word mode) {
  Form form;
  form.block = {check.kernel.threads(), 1, 1};
  form.mma = mode;
  return form;
}

// With the H100's bits.
void check(const Case &test, bool isWhole = false) {
  Check all(test, isWhole);
  all.expect(run(all.kernel.text, all.words, formOf(all, settings::MmaMode::H100)).words);
}

// Sums of whole numbers, on every target and in every warp form, by units where there are any.
void checkEverywhere(const Case &test) {
  Check all(test, true);
  all.expect(runOnAllTargets(all.kernel.text, all.words, formOf(all, settings::MmaMode::Ieee)));
}

std::string dense(const std::string &shape, const std::string &rest) {
  return "wgmma.mma_async.sync.aligned." + shape + "." + rest;
}
std::string sparse(const std::string &shape, const std::string &rest) {
  return "wgmma.mma_async.sp.sync.aligned." + shape + "." + rest;
}

const Layout kSparseB = {0, false, 128, 512}; // of 64 bytes of depth

} // namespace

TEST(Wgmma, AllTypes) {
  check({dense("m64n8k16", "f16.f16.f16"), 8});
  check({dense("m64n8k16", "f32.f16.f16"), 8, true});
  check({dense("m64n8k16", "f32.bf16.bf16"), 8});
  check({dense("m64n8k8", "f32.tf32.tf32"), 8, true});
  check({dense("m64n8k32", "f16.e4m3.e5m2"), 8, true});
  check({dense("m64n8k32", "f32.e5m2.e4m3"), 8});
  check({dense("m64n8k32.satfinite", "s32.s8.u8"), 8});
  check({dense("m64n8k32", "s32.u8.s8"), 8, true});
  check({dense("m64n8k256", "s32.b1.b1.and.popc"), 8});
}

TEST(Wgmma, AllSparseTypes) {
  check({sparse("m64n8k32", "f16.f16.f16"), 8, false, {}, kSparseB, 1, 1, true, 1});
  check({sparse("m64n8k32", "f32.bf16.bf16"), 8, true, {}, kSparseB});
  check({sparse("m64n8k16", "f32.tf32.tf32"), 8, false, {}, kSparseB, 1, 1, true, 1});
  check({sparse("m64n8k64", "f32.e4m3.e4m3"), 8, true, {}, kSparseB});
  check({sparse("m64n8k64", "s32.s8.s8"), 8, false, {}, kSparseB});
}

TEST(Wgmma, SignsAndScale) {
  check({dense("m64n8k16", "f32.f16.f16"), 8, false, {}, {}, -1, 1});
  check({dense("m64n8k16", "f32.bf16.bf16"), 8, true, {}, {}, 1, -1, false});
  check({dense("m64n8k8", "f32.tf32.tf32"), 8, true, {}, {}, -1, -1});
  check({dense("m64n8k32", "f32.e4m3.e4m3"), 8, false, {}, {}, -1, 1, false});
  check({dense("m64n8k32", "s32.s8.s8"), 8, false, {}, {}, 1, 1, false});
}

TEST(Wgmma, Layouts) {
  const std::string f16 = dense("m64n24k16", "f32.f16.f16");
  const Layout layouts[][2] = {
      {{0, false, 1024, 128}, {0, false, 144, 320}},
      {{32, false, 16, 256}, {64, false, 0, 512}},
      {{64, false, 512, 512, 0, 32}, {128, false, 16, 1024, 0, 96}},
      {{128, false, 16, 1024, 1, 128}, {128, false, 16, 2048, 3, 384}},
      {{0, true, 128, 256}, {0, true, 1024, 128}},
      {{32, true, 512, 256}, {32, true, 256, 1024}},
      {{64, true, 1024, 512}, {64, true, 512, 2048, 1, 128}},
      {{128, true, 16, 1024}, {128, true, 4096, 2048}},
  };
  for (const auto &[a, b] : layouts)
    check({f16, 24, false, a, b}, true);
  // A row of B is 64 bytes deep: as deep as the swizzle's, or twice.
  check({sparse("m64n8k32", "f32.f16.f16"), 8, false, {32, false, 16, 256}, {64, false, 16, 512}},
        true);
  check({sparse("m64n8k32", "f32.f16.f16"), 8, false, {32, false, 16, 256}, {32, false, 512, 256}},
        true);
  check({dense("m64n24k32", "s32.u8.u8"), 24, false, {64, false, 16, 512}, {32, false, 16, 256}},
        true);
}

TEST(Wgmma, OnAllTargets) {
  checkEverywhere({dense("m64n24k16", "f32.f16.f16"),
                   24,
                   false,
                   {128, false, 16, 1024},
                   {64, true, 1024, 512},
                   -1,
                   1,
                   true,
                   0,
                   2});
  checkEverywhere({dense("m64n16k32", "s32.s8.u8"), 16, true, {}, {64, false, 16, 512}});
}

// Who has waited may hand A and B back for the whole warpgroup, as CUTLASS does.
TEST(Wgmma, TheWaitIsForAllFourWarps) {
  for (unsigned groups : {1, 2})
    checkEverywhere({.spelling = dense("m64n16k16", "f32.f16.f16"),
                     .n = 16,
                     .b = {0, false, 128, 256},
                     .groups = groups,
                     .refills = true});
}
