// SPDX-License-Identifier: Apache-2.0
// The handlers of `hot` rows, and those of others, against the one that does everything, on each
// instruction set of this machine: all ways in which sources are found, both wave sizes, all lanes
// and some.
#include "emulator/lib/decode/Instructions.h"
#include "emulator/lib/machine/Semantics.h"
#include "emulator/lib/vector/VectorPath.h"
#include "tests/emulator/VectorAluWave.h"
#include "gtest/gtest.h"
#include <optional>
#include <random>

namespace rubia::emulator {

#define VECTOR_ALU_TABLE(name) extern const SemanticsTable name;
namespace baseline {
#include "emulator/lib/vector/VectorAluTables.def"
}
#if defined(__x86_64__) && !defined(RUBIA_ONE_VECTOR_TABLE)
namespace avx2 {
#include "emulator/lib/vector/VectorAluTables.def"
}
namespace avx512 {
#include "emulator/lib/vector/VectorAluTables.def"
}
#endif
#undef VECTOR_ALU_TABLE

namespace test {
namespace {

using Tables = std::vector<SemanticsTable>;

struct Path {
  Tables tables;
  const VectorPath &handlers;
};

/// Those of this machine.
std::vector<Path> paths() {
  std::vector<Path> all;
#define VECTOR_ALU_TABLE(name) baseline::name,
  all.push_back({{
#include "emulator/lib/vector/VectorAluTables.def"
                 },
                 baseline::kVectorPath});
#undef VECTOR_ALU_TABLE
#if defined(__x86_64__) && !defined(RUBIA_ONE_VECTOR_TABLE)
  if (hostIsa() >= HostIsa::Avx2) {
#define VECTOR_ALU_TABLE(name) avx2::name,
    all.push_back({{
#include "emulator/lib/vector/VectorAluTables.def"
                   },
                   avx2::kVectorPath});
#undef VECTOR_ALU_TABLE
  }
  if (hostIsa() >= HostIsa::Avx512) {
#define VECTOR_ALU_TABLE(name) avx512::name,
    all.push_back({{
#include "emulator/lib/vector/VectorAluTables.def"
                   },
                   avx512::kVectorPath});
#undef VECTOR_ALU_TABLE
  }
#endif
  return all;
}

bool isNan32(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }
bool isNan16(uint32_t bits) { return (bits & 0x7fff) > 0x7c00; }

/// Whether two dwords of a result are the same number: which of two NaNs a result is, is the
/// compiler's choice.
bool isSame(Element element, uint32_t a, uint32_t b, uint32_t highA, uint32_t highB) {
  const bool halves = element == Element::F16 || element == Element::PackedF16;
  const bool single = element == Element::F32 || element == Element::PackedF32;
  auto half = [](uint32_t x, uint32_t y) { return x == y || (isNan16(x) && isNan16(y)); };
  constexpr uint32_t kExponent = 0x7ff00000;
  return a == b || (single && isNan32(a) && isNan32(b)) ||
         (halves && half(a & 0xffff, b & 0xffff) && half(a >> 16, b >> 16)) ||
         (element == Element::F64 && (highA & kExponent) == kExponent &&
          (highB & kExponent) == kExponent);
}

constexpr unsigned kRegisters = 24;
constexpr uint32_t kResult = 4 * kBlockLanes, kSources = 8 * kBlockLanes;

bool isPlainInteger(const Shape &shape) { return shape.result == Element::B32 && !shape.carryOut; }

/// Pairs of registers, whose handlers all choose and negate.
bool hasOnlyPairs(const Shape &shape) {
  return std::all_of(shape.sources, shape.sources + shape.sourceCount, isPackedSingle);
}

class ComparedRow {
public:
  ComparedRow(const Semantics &row, const VectorPath &path) : row(row), path(path) {}

  void compareFused() {
    const FusedHandlers &handlers = *row.operation.fused;
    const unsigned sources = row.operation.shape.sourceCount;
    for (unsigned wide = 0; wide < 2; ++wide)
      for (uint64_t exec : {~uint64_t(0), uint64_t(0x8000000180f0a3b1), uint64_t(0),
                            uint64_t(0xffffffff00000000), uint64_t(1) << 31})
        for (unsigned uniform = 0; uniform < 1u << sources; ++uniform) {
          compareOne(handlers.byUniform[uniform], wide, exec, uniform, Modifiers::None);
          if (hasOnlyPairs(row.operation.shape))
            compareOne(handlers.byUniform[uniform], wide, exec, uniform, Modifiers::Any);
          compareOne(handlers.any, wide, exec, uniform, Modifiers::None);
          compareOne(handlers.any, wide, exec, uniform, Modifiers::Any);
          compareOne(handlers.any, wide, exec, uniform, Modifiers::Parts);
        }
  }

  /// The handlers of rows that have none of their own.
  void compareSimple() {
    const Shape &shape = row.operation.shape;
    const unsigned every = (1u << shape.sourceCount) - 1;
    for (unsigned wide = 0; wide < 2; ++wide)
      for (uint64_t exec : {~uint64_t(0), uint64_t(0x8000000180f0a3b1), uint64_t(0)})
        for (unsigned uniform : {0u, 1u & every, every})
          for (unsigned kind = 0; kind < 3; ++kind) {
            simple = kind;
            compareOne(path.simple[kind][shape.carryIn || shape.carryOut].byBlocks[wide], wide,
                       exec, uniform, kind == 2 ? Modifiers::Any : Modifiers::None);
          }
  }

  /// The handlers of V_MOV_B16.
  void compareMoveHalf() {
    for (unsigned wide = 0; wide < 2; ++wide)
      for (uint64_t exec : {~uint64_t(0), uint64_t(0x8000000180f0a3b1), uint64_t(0)})
        for (unsigned uniform : {0u, 1u})
          for (unsigned to = 0; to < 2; ++to)
            for (unsigned from = 0; from < 2; ++from) {
              halves = {to, from};
              compareOne(path.moveHalf[to][from].byBlocks[wide], wide, exec, uniform,
                         Modifiers::None);
            }
  }

private:
  /// Parts: unsigned ones of registers or constants, and a whole result or half, for which there
  /// are handlers.
  enum class Modifiers { None, Parts, Any };

  uint32_t value() {
    static constexpr uint32_t kEdges[] = {0,          1,          31,         32,
                                          0x80000000, 0x7fffffff, 0xffffffff, 0x3f800000,
                                          0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
                                          0x00000001, 0x807fffff, 0x4f000000};
    return random() % 3 ? uint32_t(random()) : kEdges[random() % std::size(kEdges)];
  }

  void modifySource(Element element, VectorDetail::Source &source) {
    const bool packed = isPackedHalf(element) || isPackedSingle(element);
    source.negate = random() % 2;
    source.absolute = !packed && random() % 2;
    source.negateHigh = packed && random() % 2;
    source.selectHigh = (packed || isHalf(element)) && random() % 2;
    source.selectHighForHigh = packed && random() % 2;
    source.fix = source.negate || source.negateHigh || source.absolute || source.selectHigh ||
                 (packed && !source.selectHighForHigh);
  }

  /// What SDWA takes of an integer or, halves only, of an f16.
  void selectPart(Element element, VectorDetail::Source &source) {
    const bool isInteger = element == Element::B32 || element == Element::B16;
    if (!isInteger && !isHalf(element))
      return;
    source = {};
    source.width = isInteger && random() % 2 ? 8 : 16;
    source.shift = uint8_t(random() % (32 / source.width) * source.width);
    source.signExtend = isInteger && random() % 2;
    source.negate = !isInteger && random() % 2;
    source.fix = true;
  }

  /// SDWA's part of a result.
  void placeResult(VectorDetail &detail) {
    const bool isInteger = !isFloat(detail.shape.result); // half of a NaN may be any
    detail.resultWidth = isInteger && random() % 2 ? 8 : 16;
    detail.resultShift = uint8_t(random() % (32 / detail.resultWidth) * detail.resultWidth);
    detail.resultUnused = random() % 2 ? VectorDetail::Unused::Keep : VectorDetail::Unused::Zero;
  }

  void compareOne(Handler fused, bool wide, uint64_t exec, unsigned uniform, Modifiers modifiers) {
    const bool modify = modifiers == Modifiers::Any, parts = modifiers == Modifiers::Parts;
    const Shape &shape = row.operation.shape;
    VectorDetail detail;
    detail.shape = shape;
    detail.flags = row.flags;
    alignas(64) uint32_t constants[3][4 * kBlockLanes];
    TestWave expected(wide ? 64 : 32, kRegisters);
    MicroOp &op = expected.op;
    for (unsigned r = 0; r < kRegisters; ++r)
      for (unsigned lane = 0; lane < expected.wave.lanes(); ++lane)
        expected.at(r, lane) = value();
    for (unsigned i = 0; i < 128; ++i)
      expected.wave.scalars[i] = value();
    expected.exec(exec);
    for (unsigned i = 0; i < shape.sourceCount; ++i) {
      const bool inVector = !(uniform >> i & 1);
      const bool isConstant = simple == 0u || parts || halves || random() % 2;
      op.data |= uint8_t((std::max<unsigned>(shape.sourceRegisters[i], 1) - 1) & 3) << (2 * i);
      op.kind[i] = inVector     ? OperandKind::Vector
                   : isConstant ? OperandKind::Constant
                                : OperandKind::Scalar;
      op.source[i] = inVector     ? kSources + 4 * i * kBlockLanes
                     : isConstant ? uint64_t(constants[i])
                                  : 10 + 2 * i;
      if (inVector && random() % 2 == 0) // in place, or one register off
        op.source[i] = kResult + (random() % 3 - 1) * kBlockLanes;
      for (unsigned r = 0; r < 4; ++r)
        std::fill_n(constants[i] + r * kBlockLanes, kBlockLanes, value());
      const Element element = shape.sources[i];
      const bool isModified =
          simple ? element == Element::F32 || element == Element::B32 : element != Element::B8;
      if (modify && isModified)
        modifySource(element, detail.sources[i]);
      if (modify && !simple && random() % 2)
        selectPart(shape.sources[i], detail.sources[i]);
      if (parts && shape.sources[i] == Element::B32 && random() % 4) {
        selectPart(shape.sources[i], detail.sources[i]);
        detail.sources[i].signExtend = false;
      }
      if (parts && isHalf(shape.sources[i]))
        detail.sources[i].selectHigh = detail.sources[i].fix = random() % 2;
    }
    op.data |= parts ? kOnlyParts : 0;
    if (modify && !simple && random() % 2 && (isHalf(shape.result) || isPlainInteger(shape))) {
      placeResult(detail);
    } else if (isHalf(shape.result)) {
      detail.resultWidth = 16;
      detail.resultShift = random() % 2 ? 16 : 0;
      detail.resultUnused = random() % 2 ? VectorDetail::Unused::Keep : VectorDetail::Unused::Zero;
    }
    if (halves) {
      detail.resultShift = uint8_t(16 * halves->to);
      detail.resultUnused = VectorDetail::Unused::Keep;
      detail.sources[0].selectHigh = detail.sources[0].fix = halves->from;
    }
    op.result = kResult;
    op.kernel = row.operation.kernel;
    op.registers = shape.resultRegisters;
    op.maskSource = kVcc;
    op.maskResult = shape.carryOut ? 20 : uint16_t(kSink);
    op.detail = &detail;
    TestWave found = expected;
    found.wave.vgprs = nullptr;
    std::vector<uint32_t> file(2 * kRegisters * kBlockLanes);
    for (unsigned r = 0; r < kRegisters; ++r)
      for (unsigned lane = 0; lane < expected.wave.lanes(); ++lane)
        file[(lane / kBlockLanes * kRegisters + r) * kBlockLanes + lane % kBlockLanes] =
            expected.at(r, lane);
    found.wave.vgprs = file.data();
    path.general(expected.wave, op);
    fused(found.wave, op);
    for (unsigned i = 0; i < kSink; ++i)
      ASSERT_EQ(expected.wave.scalars[i], found.wave.scalars[i])
          << row.name << " s" << i << ", exec " << exec << ", uniform " << uniform;
    for (unsigned r = 0; r < kRegisters; ++r)
      for (unsigned lane = 0; lane < expected.wave.lanes(); ++lane)
        ASSERT_TRUE(isSame(shape.result, expected.at(r, lane), found.at(r, lane),
                           expected.at(kResult / kBlockLanes + 1, lane),
                           found.at(kResult / kBlockLanes + 1, lane)))
            << row.name << " register " << r << " lane " << lane << ", exec " << exec
            << ", uniform " << uniform << (modify ? ", modified" : "") << ": " << std::hex
            << expected.at(r, lane) << " and " << found.at(r, lane) << ", result at " << std::dec
            << unsigned(detail.resultShift) << ":" << unsigned(detail.resultWidth);
  }

  const Semantics &row;
  const VectorPath &path;
  std::optional<unsigned> simple; // which of the simple handlers is compared
  struct Halves {
    unsigned to, from; // 1: the high one
  };
  std::optional<Halves> halves; // of V_MOV_B16's handler that is compared
  std::mt19937 random{7};
};

TEST(FusedHandlers, DoWhatTheGeneralOneDoes) {
  unsigned rows = 0;
  for (const Path &path : paths())
    for (const SemanticsTable &table : path.tables)
      for (size_t i = 0; i < table.count; ++i)
        if (table.rows[i].operation.fused && !(table.rows[i].flags & kMixedSources)) {
          ComparedRow(table.rows[i], path.handlers).compareFused();
          ++rows;
          if (HasFatalFailure())
            return;
        }
  if (paths().size() > 1) // plain x86-64 has none
    EXPECT_GT(rows, 200u);
}

TEST(MoveHalfHandlers, DoWhatTheGeneralOneDoes) {
  unsigned rows = 0;
  for (const Path &path : paths())
    for (const SemanticsTable &table : path.tables)
      for (size_t i = 0; i < table.count; ++i)
        if (table.rows[i].name == std::string_view("V_MOV_B16")) {
          ComparedRow(table.rows[i], path.handlers).compareMoveHalf();
          ++rows;
        }
  EXPECT_EQ(rows, paths().size());
}

/// Whether Decoder::chooseHandler may take a simple handler.
bool isSimple(const Semantics &row) {
  const Shape &shape = row.operation.shape;
  return row.operation.kernel && !row.operation.fused && !(row.flags & kMixedSources) &&
         shape.resultRegisters <= 4 && !isHalf(shape.result) && !shape.takesSigns &&
         std::all_of(shape.sourceRegisters, shape.sourceRegisters + shape.sourceCount,
                     [](unsigned count) { return count <= 4; });
}

TEST(SimpleHandlers, DoWhatTheGeneralOneDoes) {
  unsigned rows = 0;
  for (const Path &path : paths())
    for (const SemanticsTable &table : path.tables)
      for (size_t i = 0; i < table.count; ++i)
        if (isSimple(table.rows[i])) {
          ComparedRow(table.rows[i], path.handlers).compareSimple();
          ++rows;
          if (HasFatalFailure())
            return;
        }
  EXPECT_GT(rows, 100u);
}

} // namespace
} // namespace test
} // namespace rubia::emulator
