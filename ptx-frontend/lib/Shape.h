// SPDX-License-Identifier: Apache-2.0
// What the verifier's finding about an instruction depends on, in sixteen bytes: the kinds and
// types of its operands, not which registers they are. An instruction whose spelling and shape were
// found right once is right: of two million instructions all but some thousand are.
#pragma once

#include "ptx-frontend/Module.h"
#include <cstddef>

namespace rubia::ptx {

class Shape {
public:
  Shape() = default; // of no instruction
  Shape(const Instruction &instruction, const Function &fn) {
    const Guard &guard = instruction.guard;
    fits = guard.reg == kNone || fn.registers[guard.reg].type == Type::Pred;
    add(kHead | unsigned(fn.isKernel));
    for (const Operand &operand : instruction.operands) {
      if (isPlainRegister(operand)) { // nearly always
        Register reg = fn.registers[operand.reg];
        add(kRegister | unsigned(reg.type) | unsigned(reg.vectorWidth) << 8);
      } else {
        add(operand, fn);
      }
    }
  }

  /// False: the operands need a look each time (names, calls, many elements).
  bool known() const { return fits; }
  bool hasConstants() const { return constants; }
  friend bool operator==(const Shape &a, const Shape &b) {
    return a.low == b.low && a.high == b.high;
  }

private:
  uint64_t low = 0, high = 0; // eight codes of 16 bits, the last one lowest
  bool fits = false, constants = false;

  /// The codes; bits that a kind does not use are zero.
  static constexpr unsigned kHead = 0x0100, kRegister = 0x4000, kAddress = 0x8000,
                            kSpecial = 0xc000, kSink = 0x0200, kLabel = 0x0300, kPair = 0x0400,
                            kInteger = 0x0500, kFloat = 0x0600, kVector = 0x0800;

  static bool isPlainRegister(const Operand &operand) {
    static constexpr Operand kPlain{};
    static_assert(kPlain.kind == Operand::Kind::Register);
    return __builtin_memcmp(&operand, &kPlain, offsetof(Operand, place)) == 0;
  }
  void add(unsigned code) {
    fits &= high >> 48 == 0;
    high = high << 16 | low >> 48;
    low = low << 16 | code;
  }
  [[gnu::noinline]] void add(const Operand &operand, const Function &fn) {
    auto ofRegister = [&] {
      Register reg = fn.registers[operand.reg];
      return unsigned(reg.type) | unsigned(reg.vectorWidth) << 8 |
             unsigned(operand.component != 0xff) << 12 | unsigned(operand.negated) << 13 |
             unsigned(operand.braced) << 7;
    };
    fits &= operand.selector == 0xff && !operand.unified;
    switch (operand.kind) {
    case Operand::Kind::Register:
      return add(kRegister | ofRegister());
    case Operand::Kind::Address:
      if (operand.reg == kNone)
        break;
      return add(kAddress | ofRegister() | unsigned(operand.offset != 0) << 13);
    case Operand::Kind::Integer:
      constants = true;
      return add(kInteger | unsigned(operand.braced) << 7);
    case Operand::Kind::Float:
      return add(kFloat | unsigned(operand.isSingle) | unsigned(operand.braced) << 7);
    case Operand::Kind::SpecialRegister:
      return add(kSpecial | unsigned(operand.special) | unsigned(operand.component != 0xff) << 13);
    case Operand::Kind::Sink:
      return add(kSink);
    case Operand::Kind::Label:
      return add(kLabel);
    case Operand::Kind::Pair:
    case Operand::Kind::Vector: {
      llvm::ArrayRef<Operand> elements = operand.elements();
      add(operand.kind == Operand::Kind::Pair ? kPair : kVector | unsigned(elements.size() & 0xff));
      fits &= elements.size() < 8;
      if (fits)
        for (const Operand &element : elements)
          add(element, fn);
      return;
    }
    case Operand::Kind::Variable:
    case Operand::Kind::Function:
    case Operand::Kind::AddressList:
    case Operand::Kind::LabelList:
    case Operand::Kind::List:
    case Operand::Kind::Prototype:
      break;
    }
    fits = false;
  }
};

/// The shapes that were found right for a spelling lately.
class RightShapes {
public:
  bool contains(const Shape &shape) const {
    for (const Shape &known : shapes)
      if (known == shape)
        return true;
    return false;
  }
  void insert(const Shape &shape) { shapes[next++ % kCount] = shape; }

private:
  static constexpr unsigned kCount = 4;
  Shape shapes[kCount];
  unsigned next = 0;
};

} // namespace rubia::ptx
