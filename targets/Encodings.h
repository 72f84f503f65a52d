// SPDX-License-Identifier: Apache-2.0
// LLVM's disassembler tries its tables of the longest encodings first, and searches a table one
// opcode after the other: where it is given many bytes, most of its time goes into instructions of
// 96 bits that are not there. So it gets no more bytes than the instruction can have.
#pragma once

#include "targets/Target.h"
#include "llvm/Support/Endian.h"

namespace rubia::targets {

/// Of VOP3 and VOP3P: a literal, or what DPP reads, lies behind the eight bytes. LLVM also looks
/// for a literal where a result of VOPC has its number.
inline bool isExtended(llvm::ArrayRef<uint8_t> bytes) {
  constexpr uint32_t kDpp8 = 0xe9, kDpp8Fi = 0xea, kDpp16 = 0xfa, kLiteral = 0xff;
  const uint32_t word = llvm::support::endian::read32le(bytes.data() + 4), source = word & 0x1ff;
  return bytes[0] == kLiteral || source == kDpp8 || source == kDpp8Fi || source == kDpp16 ||
         source == kLiteral || (word >> 9 & 0x1ff) == kLiteral || (word >> 18 & 0x1ff) == kLiteral;
}

/// The bytes at the start of `bytes` that can belong to the first instruction. "Instruction
/// Formats" of the ISA manuals: encodings that begin with 0 or 10 have four bytes, and four more
/// for a literal or DPP.
inline llvm::ArrayRef<uint8_t> bytesOfFirst(const Target &target, llvm::ArrayRef<uint8_t> bytes) {
  constexpr size_t kShort = 8;
  if (bytes.size() <= kShort)
    return bytes;
  const uint32_t word = llvm::support::endian::read32le(bytes.data()), top = word >> 26;
  const bool isScalar = word >> 30 == 2, isVop12c = word >> 31 == 0;
  const bool isLocal = top == 0x36, isFlat = top == 0x37 && target.isa < 12;
  const bool isVop3 = (top == 0x35 || word >> 24 == 0xcc) && target.isa >= 10 && !isExtended(bytes);
  return isScalar || isVop12c || isLocal || isFlat || isVop3 ? bytes.take_front(kShort) : bytes;
}

} // namespace rubia::targets
