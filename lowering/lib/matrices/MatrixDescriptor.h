// SPDX-License-Identifier: Apache-2.0
// A matrix in shared memory as wgmma names it: a 64-bit descriptor says where it starts, how far
// its parts are from each other, and how its rows are swizzled. PTX ISA:
// asynchronous-warpgroup-level-matrix-shared-memory-layout.
//
//   bits 0..13   start, in units of 16 bytes       bits 16..29  leading dimension byte offset,
//   likewise bits 32..45  stride dimension byte offset      bits 49..51  base offset bits 62..63
//   swizzle: none, 128, 64, 32 bytes
//
// A line is a row of A or a column of B. Eight lines and 16 bytes are a core matrix. With a swizzle
// of W bytes, W / 16 of them lie side by side: eight rows of W bytes, of which 16-byte pieces are
// exchanged as the address says: its multiples of 128, less the base offset, count rows.
#pragma once

#include "lowering/lib/frame/FunctionLowering.h"

namespace rubia::lowering {

class DescribedMatrix {
public:
  /// `alongLines`: elements of 16 bits whose neighbours in memory are of neighbouring lines, as
  /// imm-trans says; else those of a line are.
  DescribedMatrix(FunctionLowering &fn, llvm::Value *descriptor, bool alongLines);

  /// What a lane of a warp has in a register of a fragment (MmaForm.h): 32 bits at place lane % 4
  /// of line lane / 4 in a core matrix. `group`: of eight lines, an i32; `chunk`: of 16 bytes of
  /// depth.
  llvm::Value *read(llvm::Value *group, unsigned chunk);

  /// The .shared address of a row of 16 bytes, as ldmatrix takes it: row lane % 8 of a core matrix
  /// that may be another one in each lane.
  llvm::Value *rowAddress(llvm::Value *group, llvm::Value *chunk);

private:
  llvm::Value *placeOf(llvm::Value *group, llvm::Value *chunk);
  llvm::Value *swizzled(llvm::Value *place);
  llvm::Value *load(unsigned bits, llvm::Value *place);

  FunctionLowering &fn;
  llvm::IRBuilder<> &b;
  const bool alongLines;
  /// i32, the same in all lanes.
  llvm::Value *leading, *stride, *base, *isPlain, *rowBytes, *pieceMask, *groupShift;
  llvm::Value *start;
  llvm::Value *own; // this lane's part of the first core matrix
};

} // namespace rubia::lowering
