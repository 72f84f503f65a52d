// SPDX-License-Identifier: Apache-2.0
// How the matrix units of CDNA 1 to 3 add up, against results of MMA-Sim (arXiv 2511.10909), whose
// authors compared it with hardware. data/matrix-sums.txt has digests of the results of 10^5
// tiles for each form, from generated numbers (MatrixSumTiles.h). By default the first 128 tiles
// of each form are compared, with RUBIA_TEST_LONG all.
#include "tests/emulator/MatrixReference.h"
#include "tests/emulator/MatrixSumTiles.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace rubia::emulator::test {
namespace {

using enum Number;

/// A form as MMA-Sim names it: "CDNA3", "f32_16x16x16_f16".
struct SumForm {
  std::string unit, qualifier, name;
  Mfma mfma;
  MatrixControl control;
  ProductSum sum;

  SumForm(const std::string &unit, const std::string &qualifier)
      : unit(unit), qualifier(qualifier) {
    const bool isOld = unit != "CDNA3";
    llvm::SmallVector<llvm::StringRef, 4> parts;
    llvm::StringRef(qualifier).split(parts, '_');
    unsigned rows = 0;
    llvm::StringRef shape = parts[1];
    (void)shape.consumeInteger(10, rows);
    (void)(shape.consume_front("x") && !shape.consumeInteger(10, rows));
    mfma.size = rows;
    (void)(shape.consume_front("x") && !shape.consumeInteger(10, mfma.depth));
    const llvm::StringRef type = isOld ? shape : parts.back();
    const bool isFp8 = type.ends_with("8"), isNew = parts.back() == "1k" || !isOld;
    mfma.a = formatOf(isFp8 ? parts[2] : type);
    mfma.b = formatOf(isFp8 ? parts[3] : type);
    name = "V_MFMA_" + llvm::StringRef(qualifier).upper();
    if (!isOld && !isFp8)
      name = "V_MFMA_" + parts[0].upper() + "_" + parts[1].upper() + type.upper() +
             (mfma.a == Bf16 ? "_1K" : "");
    const unsigned inLane = isFp8                    ? 8
                            : mfma.a == F16          ? 4
                            : mfma.a == Bf16         ? (isNew ? 4 : 2)
                            : mfma.a == Number::Xf32 ? 2
                                                     : 1;
    mfma.blocks = 64 * inLane / (mfma.size * mfma.depth);
    mfma.name = nullptr;
    control.fnuz = isFp8;
    sum = isOld ? ProductSum::Pairwise : ProductSum::Aligned;
    control.flush16 = unit == "CDNA2";
  }
  static Number formatOf(llvm::StringRef type) {
    return type == "f64"    ? F64
           : type == "f32"  ? F32
           : type == "xf32" ? Xf32
           : type == "f16"  ? F16
           : type == "bf16" ? Bf16
           : type == "fp8"  ? Fp8
                            : Bf8;
  }
};

TileFormat tileFormat(Number type) {
  if (type == F64)
    return {11, 52, false};
  if (type == F16)
    return {5, 10, false};
  if (type == Bf16)
    return {8, 7, false};
  if (type == Fp8)
    return {4, 3, true};
  if (type == Bf8)
    return {5, 2, true};
  return {8, 23, false};
}

/// Writes and reads elements that lie within a word, or are two.
void put(TestWave &w, unsigned first, Spot spot, unsigned bits, uint64_t code) {
  if (bits == 64) {
    w.at(first + 2 * spot.item, spot.lane) = uint32_t(code);
    w.at(first + 2 * spot.item + 1, spot.lane) = uint32_t(code >> 32);
    return;
  }
  const unsigned bit = spot.item * bits;
  uint32_t &word = w.at(first + bit / 32, spot.lane);
  const uint32_t mask = uint32_t((uint64_t(1) << bits) - 1) << bit % 32;
  word = (word & ~mask) | uint32_t(code) << bit % 32;
}
uint64_t get(TestWave &w, unsigned first, Spot spot, unsigned bits) {
  if (bits == 32)
    return w.at(first + spot.item, spot.lane);
  return uint64_t(w.at(first + 2 * spot.item + 1, spot.lane)) << 32 |
         w.at(first + 2 * spot.item, spot.lane);
}

/// Executes a form on tiles; those of as many as it has blocks at once.
class SumRun {
public:
  explicit SumRun(const SumForm &form) : form(form), m(form.mfma) {}

  void add(TileDigest &digest, unsigned tile) {
    if (tile / m.blocks != held)
      execute(tile / m.blocks);
    const bool wide = m.a == F64;
    for (unsigned i = 0; i < m.size; ++i)
      for (unsigned j = 0; j < m.size; ++j) {
        const uint64_t bits =
            get(w, kRegisterD, outputSpot(m, tile % m.blocks, i, j), wide ? 64 : 32);
        const double value =
            wide ? std::bit_cast<double>(bits) : std::bit_cast<float>(uint32_t(bits));
        digest.add(bits, value != value);
      }
  }

private:
  void execute(unsigned first) {
    held = first;
    const std::string seed = form.unit + ":" + form.qualifier;
    const TileFormat a = tileFormat(m.a), b = tileFormat(m.b),
                     c = tileFormat(m.a == F64 ? F64 : F32);
    for (unsigned block = 0; block < m.blocks; ++block) {
      const TileNumbers numbers(seed, first * m.blocks + block);
      for (unsigned i = 0; i < m.size; ++i) {
        for (unsigned k = 0; k < m.depth; ++k) {
          const Spot spot = inputSpot(m, block, i, k);
          put(w, kRegisterA, spot, a.bits(), numbers.input(a, 0, i * m.depth + k, k));
          put(w, kRegisterB, spot, b.bits(), numbers.input(b, 1, i * m.depth + k, k));
        }
        for (unsigned j = 0; j < m.size; ++j)
          put(w, kRegisterC, outputSpot(m, block, i, j), c.bits(),
              numbers.addend(c, a, i * m.size + j));
      }
    }
    w.vector(0, kRegisterA).vector(1, kRegisterB).vector(2, kRegisterC);
    w.matrix(form.control).unit(form.sum).exec(0).run(form.name);
  }

  const SumForm &form;
  const Mfma &m;
  TestWave w{64, kMatrixRegisters};
  unsigned held = ~0u;
};

struct Recorded {
  unsigned first, count;
  uint64_t digest;
};

/// Of more than 1000 tiles: the digest of the digests of each 1000.
TileDigest digestOf(SumRun &run, unsigned first, unsigned count) {
  constexpr unsigned kBlock = 1000;
  TileDigest digest;
  for (unsigned tile = first; tile<first + count; tile += count> kBlock ? kBlock : 1)
    if (count > kBlock)
      digest.add(digestOf(run, tile, kBlock).value(), false);
    else
      run.add(digest, tile);
  return digest;
}

TEST(MatrixSums, AsMmaSimHasThem) {
  std::ifstream file(RUBIA_MATRIX_SUMS);
  ASSERT_TRUE(file) << RUBIA_MATRIX_SUMS;
  std::map<std::pair<std::string, std::string>, std::vector<Recorded>> forms;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    std::istringstream fields(line);
    std::string unit, qualifier;
    Recorded one;
    fields >> unit >> qualifier >> one.first >> one.count >> std::hex >> one.digest;
    ASSERT_TRUE(fields) << line;
    forms[{unit, qualifier}].push_back(one);
  }
  EXPECT_EQ(forms.size(), 64u);
  const unsigned limit = std::getenv("RUBIA_TEST_LONG") ? 100'000 : 128;
  for (const auto &[names, recorded] : forms) {
    const SumForm form(names.first, names.second);
    SumRun run(form);
    unsigned compared = 0;
    for (const Recorded &one : recorded) {
      if (one.first + one.count > limit)
        break;
      const TileDigest digest = digestOf(run, one.first, one.count);
      ASSERT_EQ(digest.value(), one.digest)
          << form.unit << " " << form.name << ": tiles from " << one.first << ", " << one.count;
      compared += one.count;
    }
    EXPECT_EQ(compared, limit) << form.name;
  }
}

// A product that is dropped, and a bit that is flipped, must show: the digest is no constant.
TEST(MatrixSums, ADifferentSumShows) {
  SumForm form("CDNA3", "f32_16x16x16_f16");
  TileDigest right, wrong;
  SumRun(form).add(right, 3);
  form.sum = ProductSum::InOrder;
  SumRun(form).add(wrong, 3);
  EXPECT_NE(right.value(), wrong.value());
}

} // namespace
} // namespace rubia::emulator::test
