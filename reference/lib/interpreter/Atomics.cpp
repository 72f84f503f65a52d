// SPDX-License-Identifier: Apache-2.0
// PTX ISA: parallel-synchronization-and-communication-instructions-atom, -red. The threads of a
// warp go in the order of their lanes, each indivisibly.
#include "reference/lib/interpreter/AtomicOperation.h"
#include "reference/lib/interpreter/Warp.h"
#include "llvm/Support/Error.h"
#include <cstring>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Atom, Red;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Add, And, Cas, Dec, Exch, Inc, Max, Min, Or, Xor;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {
namespace {

namespace Mod = ptx::Mod;
using ptx::Modifier;
struct Access {
  AtomicOperation operation;
  ptx::StateSpace space;
  unsigned bytes = 0;    // of an element
  unsigned elements = 1; // of a vector
  bool returns = false;
};

Wide readRows(Warp &warp, const Micro &micro, unsigned first, unsigned bytes, unsigned lane) {
  Wide value = warp.source(micro, first)[lane];
  return bytes > 8 ? value | Wide(warp.source(micro, first + 1)[lane]) << 64 : value;
}

void atomic(Warp &warp, const Micro &micro) {
  const auto &access = *static_cast<const Access *>(micro.data);
  const AtomicOperation &operation = access.operation;
  const uint64_t *addresses = warp.source(micro, 0);
  const int64_t offset = micro.sources[0].offset;
  const unsigned bytes = access.bytes, rows = bytes > 8 ? 2 : 1;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    const uint64_t address = addresses[lane] + uint64_t(offset);
    uint8_t *memory = warp.memory(access.space, address, uint64_t(bytes) * access.elements, lane);
    if (!memory)
      return;
    const bool isShared =
        access.space == ptx::StateSpace::Shared ||
        (access.space == ptx::StateSpace::None && (address & kWindowMask) == kSharedWindow);
    for (unsigned i = 0; i < access.elements; ++i) {
      Wide old = 0;
      memcpy(&old, memory + i * bytes, bytes);
      const Wide mask = bytes == 16 ? ~Wide(0) : (Wide(1) << 8 * bytes) - 1;
      const Wide b = readRows(warp, micro, 1 + i * rows, bytes, lane) & mask;
      const Wide c = operation.kind == AtomicOperation::Kind::CompareAndSwap
                         ? readRows(warp, micro, 1 + rows, bytes, lane) & mask
                         : 0;
      const Wide now = changed(operation, isShared, old, b, c);
      memcpy(memory + i * bytes, &now, bytes);
      if (!access.returns)
        continue;
      for (unsigned row = 0; row < rows; ++row)
        warp.write(micro, i * rows + row, lane, uint64_t(old >> 64 * row));
    }
  }
}

void decodeAtomic(Decoder &decoder) {
  const ptx::Spelling &spelling = decoder.spelling();
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  const ptx::Type type = spelling.type();
  auto &access = decoder.code.keep<Access>();
  access.operation = operationOf(decoder);
  access.space = spelling.space();
  access.bytes = ptx::sizeInBits(type) / 8;
  access.elements = spelling.vectorWidth();
  access.returns = decoder.inst().op() == ptx::Op::Atom;
  if (access.returns) {
    decoder.destination(operands[0], type == ptx::Type::B128 ? 2 : 1);
    while (decoder.destinations.size() < access.elements) // `_` for all
      decoder.destinations.push_back({});
    operands = operands.drop_front();
  }
  decoder.source(operands[0], ptx::Type::B64);
  decoder.source(operands[1], type);
  if (access.operation.kind == AtomicOperation::Kind::CompareAndSwap)
    decoder.source(operands[2], type);
  decoder.micro.data = &access;
  decoder.execute(atomic);
}

constexpr Family kFamilies[] = {{ptx::Op::Atom, decodeAtomic}, {ptx::Op::Red, decodeAtomic}};

} // namespace

// The scalar instruction that an atomic one applies.
static std::string arithmeticOf(const ptx::Spelling &spelling, bool flushes) {
  const ptx::Type type = spelling.type();
  const std::string typeText = spelling.text.rsplit('.').second.str();
  const bool isFloat = ptx::classOf(type) == ptx::TypeClass::Float;
  if (spelling.has(Mod::Add))
    return std::string("add") + (isFloat ? ".rn" : "") +
           (flushes && type == ptx::Type::F32 ? ".ftz." : ".") + typeText;
  for (Modifier mod : {Mod::Min, Mod::Max, Mod::And, Mod::Or, Mod::Xor})
    if (spelling.has(mod))
      return (ptx::textOf(mod).drop_front() + "." + typeText).str();
  return spelling.text.str();
}

AtomicOperation operationOf(Decoder &decoder) {
  using Kind = AtomicOperation::Kind;
  const ptx::Spelling &spelling = decoder.spelling();
  AtomicOperation operation;
  operation.kind = spelling.has(Mod::Exch)  ? Kind::Exchange
                   : spelling.has(Mod::Cas) ? Kind::CompareAndSwap
                   : spelling.has(Mod::Inc) ? Kind::Increment
                   : spelling.has(Mod::Dec) ? Kind::Decrement
                                            : Kind::Arithmetic;
  if (operation.kind == Kind::Arithmetic)
    for (bool flushes : {true, false}) {
      auto reference = referenceFor(arithmeticOf(spelling, flushes));
      if (reference)
        (flushes ? operation.onGlobal : operation.onShared) = std::move(*reference);
      else
        decoder.unsupported(toString(reference.takeError()));
    }
  return operation;
}

Wide changed(const AtomicOperation &operation, bool keepsDenormals, Wide old, Wide b, Wide c) {
  using Kind = AtomicOperation::Kind;
  const uint64_t word = uint64_t(old), operand = uint64_t(b);
  switch (operation.kind) {
  case Kind::Exchange:
    return b;
  case Kind::CompareAndSwap:
    return old == b ? c : old;
  case Kind::Increment:
    return word >= operand ? 0 : word + 1;
  case Kind::Decrement:
    return word == 0 || word > operand ? operand : word - 1;
  case Kind::Arithmetic:
    break;
  }
  ReferenceInputs inputs;
  inputs.source[0] = word;
  inputs.source[1] = operand;
  return (keepsDenormals ? operation.onShared : operation.onGlobal)(inputs).bits;
}

ArrayRef<Family> atomics() { return kFamilies; }

} // namespace rubia::reference::interpreter
