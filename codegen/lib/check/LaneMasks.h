// SPDX-License-Identifier: Apache-2.0
// What is known of the values in registers, as far as it matters for EXEC.
#pragma once

#include "codegen/lib/Disassembler.h"
#include <array>
#include <bitset>
#include <map>
#include <memory>
#include <optional>

namespace rubia::codegen {

/// 32 bits. The order of the kinds is no order of what is known; see joined().
struct MaskValue {
  enum Kind : uint8_t {
    Data,     ///< anything
    Mask,     ///< no lane but those that EXEC has had outside of whole-wave regions
    Whole,    ///< made of masks and -1, so that there may be other lanes
    Constant, ///< `number`
    Symbol    ///< an unknown number, the same wherever `id` is the same, and `number` on top
  };
  Kind kind = Data;
  uint32_t id = 0;
  int64_t number = 0;

  bool operator==(const MaskValue &) const = default;
  bool isMask() const { return kind == Mask || (kind == Constant && number == 0); }
  bool isLanes() const { return isMask() || kind == Whole || (kind == Constant && number == -1); }

  static MaskValue constant(int64_t number) { return {Constant, 0, int32_t(number)}; }
};

/// What holds for either of two values.
MaskValue joined(const MaskValue &a, const MaskValue &b);

MaskValue andOf(const MaskValue &a, const MaskValue &b);
MaskValue andNotOf(const MaskValue &a, const MaskValue &b); ///< a & ~b
MaskValue orOf(const MaskValue &a, const MaskValue &b);     ///< also of xor
MaskValue widened(const MaskValue &a, const MaskValue &b);  ///< operations with complements

/// Where lanes of a vector register, or a copy of it, are.
struct LanePlace {
  enum Kind : uint8_t { Vector, Accumulation, Scratch };
  Kind kind;
  uint32_t base = 0;  ///< of Scratch: the symbol that the address is relative to
  int64_t number = 0; ///< of the register, or the offset

  auto operator<=>(const LanePlace &) const = default;
};

/// Registers that a function, or what it calls, may write.
struct Clobbers {
  static constexpr unsigned kVectors = 1024;
  std::bitset<kScalarRegisters> scalars;
  std::bitset<2 * kVectors> vectors; ///< accumulation registers follow the others

  void add(RegisterRange range);
  void add(const Clobbers &other);
  bool operator==(const Clobbers &) const = default;
};

/// Values in lanes that v_writelane_b32 has written; nothing is known of others.
using Lanes = std::map<LanePlace, std::map<unsigned, MaskValue>>;

/// The registers at one point of the program. Copies have the same lanes until one of them writes
/// some: most blocks write none, and a large function has gigabytes of them otherwise.
struct MaskState {
  std::array<MaskValue, kScalarRegisters> scalars;

  /// At the beginning of a function.
  static MaskState atEntry();
  /// Becomes what holds for both; whether it changed.
  bool join(const MaskState &other);
  const Lanes &lanes() const { return *sharedLanes; }
  Lanes &writableLanes();
  void forgetLanes(const LanePlace &place);
  void copyLanes(const LanePlace &from, const LanePlace &to);
  /// What is left of it behind a call: callee-saved registers (AMDGPUUsage "Non-Kernel Functions"),
  /// and what the callee does not write, since LLVM allocates registers across functions.
  void call(const Clobbers &clobbers);

private:
  bool joinLanes(const Lanes &others);

  std::shared_ptr<Lanes> sharedLanes = std::make_shared<Lanes>();
};

} // namespace rubia::codegen
