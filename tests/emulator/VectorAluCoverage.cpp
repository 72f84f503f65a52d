// SPDX-License-Identifier: Apache-2.0
// The runner of the row tests, and what holds for all rows: each has a test, each name is used
// once, both builds of the tables give the same bits.
#include "tests/emulator/VectorAluCase.h"

#include "emulator/lib/machine/Semantics.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace rubia::emulator {
#define VECTOR_ALU_TABLE(name) extern const SemanticsTable name;
namespace baseline {
#include "emulator/lib/vector/VectorAluTables.def"
}
#undef VECTOR_ALU_TABLE

namespace test {

static HostRounding::Direction directionOf(Rounding rounding) {
  constexpr HostRounding::Direction kDirections[] = {HostRounding::Nearest, HostRounding::Up,
                                                     HostRounding::Down, HostRounding::TowardZero};
  return kDirections[rounding];
}
RoundingScope::RoundingScope(Rounding rounding) : host(directionOf(rounding)) {}

static void runKernel(const Semantics &row, std::vector<uint32_t> (&sources)[3],
                      std::vector<uint32_t> &result, LaneState &state, Rounding rounding) {
  RoundingScope scope(rounding);
  row.operation.kernel(result.data(), sources[0].data(), sources[1].data(), sources[2].data(),
                       state);
}

Outcome execute(const Semantics &row, llvm::ArrayRef<uint64_t> values, const Setting &setting) {
  const Shape &shape = row.operation.shape;
  EXPECT_EQ(values.size(), shape.sourceCount) << row.name;
  std::vector<uint32_t> sources[3], result(4 * kBlockLanes);
  for (unsigned i = 0; i < 3; ++i) {
    sources[i].resize(4 * kBlockLanes);
    for (unsigned lane = 0; i < values.size() && lane < kBlockLanes; ++lane) {
      sources[i][lane] = uint32_t(values[i]);
      sources[i][lane + kBlockLanes] = uint32_t(values[i] >> 32);
    }
  }
  LaneState state;
  state.mode.ieee = setting.ieee;
  state.carryIn = setting.carryIn ? ~0u : 0;
  state.saturate = setting.saturate;
  state.signs = setting.signs;
  state.immediate = setting.immediate;
  EXPECT_TRUE(!setting.saturate || shape.takesSaturate) << row.name;
  runKernel(row, sources, result, state, setting.rounding);
  for (unsigned lane = 1; lane < kBlockLanes; ++lane) {
    EXPECT_EQ(result[lane], result[0]) << row.name << " lane " << lane;
    EXPECT_EQ(result[kBlockLanes + lane], result[kBlockLanes]) << row.name << " lane " << lane;
  }
  if (shape.carryOut)
    EXPECT_TRUE(state.carryOut == 0 || state.carryOut == ~0u) << row.name;
  Outcome outcome;
  outcome.carry = shape.carryOut && state.carryOut & 1;
  if (shape.result == Element::Mask)
    outcome.result = outcome.carry;
  else
    outcome.result =
        shape.resultRegisters == 2 ? uint64_t(result[kBlockLanes]) << 32 | result[0] : result[0];
  return outcome;
}

const Semantics &row(llvm::StringRef op) {
  const Semantics *found = findVectorAlu(op);
  EXPECT_NE(found, nullptr) << op.str();
  if (!found)
    std::abort();
  return *found;
}

WaveFunction functionOf(llvm::StringRef op) { return row(op).operation.function; }

LaneKernel kernelOf(llvm::StringRef op) { return row(op).operation.kernel; }

const Shape *shapeOf(llvm::StringRef op) {
  const Semantics *row = findVectorAlu(op);
  return row && row->operation.kernel ? &row->operation.shape : nullptr;
}

uint64_t run(llvm::StringRef op, llvm::ArrayRef<uint64_t> sources, const Setting &setting) {
  return execute(row(op), sources, setting).result;
}

void check(llvm::ArrayRef<Case> cases) {
  for (const Case &c : cases)
    for (HostIsa isa : {HostIsa::Baseline, HostIsa::Avx2, HostIsa::Avx512}) {
      if (isa > hostIsa())
        continue;
      const Semantics *row = findVectorAlu(c.op, isa);
      ASSERT_NE(row, nullptr) << c.op;
      Outcome outcome = execute(*row, c.sources, c.setting);
      std::string text = c.op + " host ISA " + std::to_string(unsigned(isa));
      for (uint64_t source : c.sources)
        text += llvm::formatv(" {0:x}", source).str();
      EXPECT_EQ(llvm::formatv("{0:x}", outcome.result).str(),
                llvm::formatv("{0:x}", c.result).str())
          << text;
      if (row->operation.shape.carryOut && row->operation.shape.result != Element::Mask)
        EXPECT_EQ(int(outcome.carry), c.setting.carryOut) << text;
    }
}

static std::vector<SemanticsTable> allTables() {
#define VECTOR_ALU_TABLE(name) baseline::name,
  return {
#include "emulator/lib/vector/VectorAluTables.def"
  };
#undef VECTOR_ALU_TABLE
}

TEST(VectorAluRows, EveryRowHasATest) {
  std::set<std::string> tested;
  for (auto cases : {float32Cases(), float64Cases(), float16Cases(), integerCases(),
                     conversionCases(), compareCases(), packedCases(), divisionCases(),
                     transcendentalCases(), moveCases(), float8Cases()})
    for (const Case &c : cases)
      tested.insert(c.op);
  for (const char *op : laneOperations())
    tested.insert(op);
  for (auto operations : {matrixOperationsOfCdna(), matrixOperationsOfRdna()})
    tested.insert(operations.begin(), operations.end());
  for (SemanticsTable table : allTables())
    for (size_t i = 0; i < table.count; ++i)
      EXPECT_TRUE(tested.count(table.rows[i].name)) << table.rows[i].name << " has no test";
}

TEST(VectorAluRows, NamesAreUnique) {
  std::set<std::string> names;
  for (SemanticsTable table : allTables())
    for (size_t i = 0; i < table.count; ++i)
      EXPECT_TRUE(names.insert(table.rows[i].name).second) << table.rows[i].name;
}

// NaNs compare equal: which operand's payload survives depends on the order that the compiler gave
// the operands of a commutative instruction.
static uint64_t withoutPayload(uint32_t low, uint32_t high, Element element) {
  auto half = [](uint32_t bits) { return (bits & 0x7fff) > 0x7c00 ? 0x7e00u : bits & 0xffff; };
  auto bfloat = [](uint32_t bits) { return (bits & 0x7fff) > 0x7f80 ? 0x7fc0u : bits & 0xffff; };
  auto single = [](uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : bits; };
  uint64_t both = uint64_t(high) << 32 | low;
  switch (element) {
  case Element::F16:
    return half(low);
  case Element::Bf16:
    return bfloat(low);
  case Element::PackedF16:
    return half(low) | half(low >> 16) << 16;
  case Element::PackedBf16:
    return bfloat(low) | bfloat(low >> 16) << 16;
  case Element::F32:
    return single(low);
  case Element::PackedF32:
    return uint64_t(single(high)) << 32 | single(low);
  case Element::F64:
    return (both & 0x7fffffffffffffff) > 0x7ff0000000000000 ? kNanD : both;
  case Element::None:
  case Element::B8:
  case Element::B16:
  case Element::B32:
  case Element::B64:
  case Element::PackedB16:
  case Element::PackedB32:
  case Element::Registers:
  case Element::Mask:
    return both;
  }
  return both;
}

static uint32_t interestingWord(std::mt19937 &random) {
  static constexpr uint32_t kWords[] = {
      0,          1,          0x80000000, 0xffffffff, 0x7fffffff, 0x3f800000, 0xbf800000,
      0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x00400000, 0x00800000, 0x4f000000,
      0xcf000000, 0x3ff00000, 0x7ff00000, 0x7c003c00, 0x3c00fc00, 0x03ff8000, 0x00010400,
      0x7bff7bff, 0x41e00000, 0xc1e00000, 0x3effffff, 0x4b7fffff, 0x33000000, 0x00000400};
  if (random() % 3 == 0)
    return kWords[random() % (sizeof(kWords) / sizeof(kWords[0]))];
  return uint32_t(random());
}

class VectorAluBuilds : public testing::TestWithParam<HostIsa> {};
INSTANTIATE_TEST_SUITE_P(, VectorAluBuilds, testing::Values(HostIsa::Avx2, HostIsa::Avx512));

TEST_P(VectorAluBuilds, GiveTheSameBitsAsTheBaseline) {
  if (GetParam() > hostIsa())
    GTEST_SKIP() << "this machine has no such instructions";
  std::mt19937 random(1);
  for (SemanticsTable table : allTables())
    for (size_t i = 0; i < table.count; ++i) {
      const Semantics &plain = table.rows[i];
      const Semantics *wide = findVectorAlu(plain.name, GetParam());
      ASSERT_NE(wide, nullptr) << plain.name;
      if (!plain.operation.kernel)
        continue;
      const Shape &shape = plain.operation.shape;
      for (unsigned round = 0; round < 64; ++round) {
        std::vector<uint32_t> sources[3];
        for (auto &source : sources)
          for (unsigned word = 0; word < 4 * kBlockLanes; ++word)
            source.push_back(interestingWord(random));
        LaneState states[2];
        states[0].carryIn = uint32_t(random());
        states[0].signs = random() & 3;
        states[0].immediate = random() & 0xff;
        states[0].saturate = shape.takesSaturate && random() & 1;
        states[0].mode.ieee = random() & 1;
        states[1] = states[0];
        std::vector<uint32_t> results[2];
        results[0].resize(4 * kBlockLanes);
        results[1].resize(4 * kBlockLanes);
        auto rounding = Rounding(round & 3);
        runKernel(plain, sources, results[0], states[0], rounding);
        runKernel(*wide, sources, results[1], states[1], rounding);
        EXPECT_EQ(states[0].carryOut, states[1].carryOut) << plain.name;
        for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
          auto value = [&](unsigned build) {
            return withoutPayload(results[build][lane], results[build][lane + kBlockLanes],
                                  shape.result);
          };
          ASSERT_EQ(value(0), value(1))
              << plain.name << std::hex << " rounding " << int(rounding) << " sources "
              << sources[0][lane] << ":" << sources[0][lane + kBlockLanes] << " "
              << sources[1][lane] << ":" << sources[1][lane + kBlockLanes] << " "
              << sources[2][lane] << ":" << sources[2][lane + kBlockLanes];
        }
      }
    }
}

} // namespace test
} // namespace rubia::emulator
