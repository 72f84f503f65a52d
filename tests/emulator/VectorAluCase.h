// SPDX-License-Identifier: Apache-2.0
// Table tests of the vector instruction rows: a case gives an instruction's sources and its result
// as bits. Every case runs in all lanes, in both builds of the tables.
//
// Each VectorAlu*.cpp of this folder has one table; VectorAluCoverage.cpp fails when a row is in
// none.
#pragma once

#include "emulator/lib/decode/Instructions.h"
#include "emulator/lib/machine/HostFloat.h"
#include "llvm/ADT/ArrayRef.h"
#include <cmath>
#include <string>
#include <vector>

namespace rubia::emulator::test {

/// AMD's numbers of the rounding modes.
enum Rounding : uint8_t { kNearest, kUpward, kDownward, kTowardZero };

struct Setting {
  Rounding rounding = kNearest;
  bool ieee = true;
  bool saturate = false;
  bool carryIn = false;
  int carryOut = -1; // -1: the row has none
  uint32_t signs = 0;
  uint32_t immediate = 0;
};

struct Case {
  std::string op;
  std::vector<uint64_t> sources;
  uint64_t result;
  Setting setting = {};
};

/// Sets MXCSR's rounding for its lifetime, as the machinery around the rows does.
class RoundingScope {
public:
  explicit RoundingScope(Rounding rounding);

private:
  HostRounding host;
};

/// Result and mask bit of lane 0, after a check that all lanes agree.
struct Outcome {
  uint64_t result = 0;
  bool carry = false;
};
Outcome execute(const Semantics &row, llvm::ArrayRef<uint64_t> sources, const Setting &setting);
/// The row of the best build; the test aborts if there is none.
const Semantics &row(llvm::StringRef op);
/// Of a row that looks across lanes.
WaveFunction functionOf(llvm::StringRef op);
/// Of a row that sees one lane.
LaneKernel kernelOf(llvm::StringRef op);
/// Null: there is no row of that name that sees one lane.
const Shape *shapeOf(llvm::StringRef op);
uint64_t run(llvm::StringRef op, llvm::ArrayRef<uint64_t> sources, const Setting &setting = {});

void check(llvm::ArrayRef<Case> cases);

inline uint64_t f(float value) { return std::bit_cast<uint32_t>(value); }
inline uint64_t d(double value) { return std::bit_cast<uint64_t>(value); }
inline uint64_t h(float value) { return std::bit_cast<uint16_t>(_Float16(value)); }
inline uint64_t hd(double value) { return std::bit_cast<uint16_t>(_Float16(value)); }
inline float asFloat(uint64_t bits) { return std::bit_cast<float>(uint32_t(bits)); }
inline double asDouble(uint64_t bits) { return std::bit_cast<double>(bits); }
inline float asHalf(uint64_t bits) { return float(std::bit_cast<_Float16>(uint16_t(bits))); }
inline uint64_t i(int64_t value) { return uint64_t(value) & 0xffffffff; }
inline uint64_t pair16(uint64_t lo, uint64_t hi) { return (lo & 0xffff) | (hi & 0xffff) << 16; }
inline uint64_t pair32(uint64_t lo, uint64_t hi) { return (lo & 0xffffffff) | hi << 32; }

constexpr float kInf = INFINITY;
constexpr double kInfD = INFINITY;
constexpr uint64_t kNanF = 0x7fc00000, kSnanF = 0x7f800001;
constexpr uint64_t kNanD = 0x7ff8000000000000, kSnanD = 0x7ff0000000000001;
constexpr uint64_t kNanH = 0x7e00, kSnanH = 0x7c01;
constexpr Setting kUp = {.rounding = kUpward}, kDown = {.rounding = kDownward},
                  kZero = {.rounding = kTowardZero}, kNoIeee = {.ieee = false},
                  kClamp = {.saturate = true};
inline Setting carry(bool in, bool out) { return {.carryIn = in, .carryOut = out}; }

/// The tables, and the rows that are tested otherwise.
std::vector<Case> float32Cases();
std::vector<Case> float64Cases();
std::vector<Case> float16Cases();
std::vector<Case> integerCases();
std::vector<Case> conversionCases();
std::vector<Case> compareCases();
std::vector<Case> packedCases();
std::vector<Case> divisionCases();
std::vector<Case> transcendentalCases();
std::vector<Case> moveCases();
std::vector<Case> float8Cases();
llvm::ArrayRef<const char *> laneOperations();
std::vector<const char *> matrixOperationsOfCdna();
std::vector<const char *> matrixOperationsOfRdna();

} // namespace rubia::emulator::test
