// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/debug/Changes.h"
#include "emulator/lib/debug/MemoryRange.h"
#include "emulator/lib/debug/NamedValues.h"
#include "emulator/lib/machine/ScratchLayout.h"
#include "emulator/lib/run/FaultReport.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rubia::emulator {

static void replace(uint32_t &word, uint32_t bits, unsigned bytes) {
  const uint32_t mask = bytes >= 4 ? ~0u : (1u << (8 * bytes)) - 1;
  word = (word & ~mask) | (bits & mask);
}

/// Writes the bytes of a value from `first` on. Bytes of a register that are none of its stay.
static void fill(const ValuePart &part, Wave &wave, unsigned lane, const APInt &value,
                 unsigned first) {
  for (unsigned at = 0; at < part.bytes; at += 4) {
    const unsigned bytes = std::min(part.bytes - at, 4u);
    const uint32_t bits = uint32_t(value.extractBitsAsZExtValue(8 * bytes, 8 * (first + at)));
    switch (part.kind) {
    case ValuePart::Kind::Scalar:
      replace(wave.scalars[part.number + at / 4], bits, bytes);
      break;
    case ValuePart::Kind::Vector:
      replace(wave.vgpr(vectorOffset(part.number + at / 4), lane), bits, bytes);
      break;
    case ValuePart::Kind::Scratch:
      for (unsigned i = 0; i < bytes; ++i)
        *scratchByte(wave, lane, part.number + at + i) = uint8_t(bits >> (8 * i));
      break;
    }
  }
}

/// A predicate in scalar registers is a mask of the wave's lanes.
static void setLane(const NamedValue &value, Wave &wave, unsigned lane, bool bit) {
  const unsigned half = lane / 32;
  const bool isInParts = value.parts.size() > 1;
  uint32_t &word = wave.scalars[value.parts[isInParts ? half : 0].number + (isInParts ? 0 : half)];
  word = (word & ~(1u << lane % 32)) | uint32_t(bit) << lane % 32;
}

static Error setValue(const NamedValue &value, Wave &wave, unsigned lane, uint64_t low,
                      uint64_t high) {
  if (value.parts.empty())
    return createStringError("'" + value.name + "' is computed here, and is in no register");
  if (value.type == "pred" && value.parts.front().kind == ValuePart::Kind::Scalar) {
    setLane(value, wave, lane, low & 1);
    return Error::success();
  }
  const APInt bits(128, {low, high});
  unsigned done = 0;
  for (ValuePart part : value.parts) {
    part.bytes = std::min(part.bytes, value.bits / 8 - done); // predicates are read as dwords
    fill(part, wave, lane, bits, done);
    done += part.bytes;
  }
  return Error::success();
}

Error Changes::set(const Focus &focus, StringRef name, uint64_t low, uint64_t high) const {
  Wave &wave = *focus.wave;
  if (lines)
    for (const NamedValue &value : namedValues(*lines, wave, focus.lane, Inspection::pcOf(wave)))
      if (value.name == name)
        return setValue(value, wave, focus.lane, low, high);
  return setRegister(focus, name, low);
}

Error Changes::setExec(const Focus &focus, uint64_t value) const {
  const Program &program = *launch.kernel->program;
  const uint64_t threads = blockOfThreads(launch, program).count();
  const uint64_t first = uint64_t(focus.wave->indexInGroup) * program.threadsPerWave;
  for (unsigned lane = 0; lane < 64; ++lane)
    if (value >> lane & 1 && (lane >= program.threadsPerWave || first + lane >= threads))
      return createStringError("lane " + std::to_string(lane) + " has no thread");
  focus.wave->setMask(kExec, value);
  return Error::success();
}

Error Changes::setRegister(const Focus &focus, StringRef name, uint64_t value) const {
  Wave &wave = *focus.wave;
  if (name == "exec")
    return setExec(focus, value);
  if (name == "vcc") {
    if (wave.lanes() == 32 && !isUInt<32>(value))
      return createStringError("vcc has 32 bits here");
    wave.setMask(kVcc, value);
    return Error::success();
  }
  if (name == "scc") {
    if (value > 1)
      return createStringError("scc is 0 or 1");
    wave.scc = value != 0;
    return Error::success();
  }
  StringRef digits = name;
  const bool isScalar = digits.consume_front("s");
  const bool isVector = !isScalar && digits.consume_front("v");
  const bool isAccumulator = !isScalar && !isVector && digits.consume_front("a");
  unsigned number = 0;
  const bool isNumbered =
      (isScalar || isVector || isAccumulator) && !digits.getAsInteger(10, number);
  uint32_t *place = nullptr;
  if (name == "m0")
    place = &wave.scalars[kM0];
  else if (isNumbered && isScalar && number < std::min<unsigned>(launch.kernel->sgprCount, kVcc))
    place = &wave.scalars[number];
  else if (isNumbered && isVector && number < launch.kernel->vgprCount)
    place = &wave.vgpr(vectorOffset(number), focus.lane);
  else if (isNumbered && isAccumulator && number < launch.kernel->agprCount)
    place = &wave.vgpr(vectorOffset(kFirstAccumulator + number), focus.lane);
  else
    return createStringError("'" + name + "' cannot be set here");
  if (!isUInt<32>(value))
    return createStringError("'" + name + "' has 32 bits");
  *place = uint32_t(value);
  return Error::success();
}

Error Changes::write(const Focus &focus, StringRef space, uint64_t address,
                     StringRef digits) const {
  std::string bytes;
  if (!tryGetFromHex(digits, bytes) || bytes.empty())
    return createStringError("'" + digits + "' are no bytes");
  Expected<MemoryRange> range = MemoryRange::find(memory, focus, space, address, bytes.size());
  if (!range)
    return range.takeError();
  if (range->count() < bytes.size())
    return createStringError("the memory ends " + std::to_string(range->count()) +
                             " bytes behind 0x" + utohexstr(address, true));
  for (size_t i = 0; i < bytes.size(); ++i)
    range->at(i) = uint8_t(bytes[i]);
  return Error::success();
}

} // namespace rubia::emulator
