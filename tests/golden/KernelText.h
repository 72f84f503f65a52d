// SPDX-License-Identifier: Apache-2.0
// Kernels of more than one thread (warps, CTAs, memory, calls), written as templates: a file holds
// several, and each expands to kernels with a name, PTX text, launch and buffers of their own.
//
// A template is lines of PTX among directives (`//!`):
//
//   //! kernel vote.${mode}             starts a kernel; the name is unique in all files
//   //! each mode, type: all pred; ballot b32     a kernel for each row; several multiply
//   //! launch grid=2,1,1 block=64 shared=1024 cooperative     defaults: 1, 32, 0
//   //! target 8.8 sm_90a               PTX version and target; default: 8.5 sm_90
//   //! attributes .reqntid 64          between the parameters and the body
//   //! in a 256 random                 a buffer of so many bytes, in the 64-bit register `a`
//   //! in m 4096 f16/normal            the same, of elements of a matrix: MatrixInputs.h
//   //! out b 256 zero                  likewise; what the kernel leaves there is its result
//   //! per-thread 8 random             bytes of input for each thread of the grid, at `i`
//   //! nan f32                         results are of that type; one NaN is as good as another
//   //! param .align 8 .b8 s[12] = random 12       a parameter that is no pointer
//   //! tensormap m = a type=7 dims=64,32 strides=256 box=16,8      of buffer `a`, for
//                                     cuTensorMapEncodeTiled; its address is the register `m`.
//                                     Also elements=1,1 interleave= swizzle= fill=, and for
//                                     cuTensorMapEncodeIm2col lower= upper= channels= pixels=
//   //! module                          what follows stands before the kernel
//   //! body                            what follows is the kernel's body
//   //! do k, op: 0 add; 1 min          the lines up to the matching `end`, for each row
//   //! end
//
// `${x}` is replaced by the value of x, `${2*x+1}` by a sum of products, `~` in a row's value by a
// blank, a value `-` by nothing. `${slot4}` is the next free offset in a thread's own results, of 4
// bytes (or 1, 2, 8, 16;
// `${slot*x}` of x) and aligned to that; they lie at the 64-bit register `o`. The body finds the
// registers `tid` (of the thread in its CTA), `gid` (in the grid), `lane`, all linear 32-bit
// numbers, and p0..p31
// (.pred), h0..h63 (.b16), r0..r127 (.b32), d0..d63 (.b64), f0..f63 (.f32), e0..e63 (.f64),
// q0..q7 (.b128).
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rubia::golden {

/// What the driver makes a tensor map of.
struct TensorMapRequest {
  std::string buffer; // its name
  std::vector<int64_t> type, dims, strides, box, elements, interleave, swizzle, fill, lower, upper,
      channels, pixels;
};

struct KernelParameter {
  std::string name = {};
  std::optional<TensorMapRequest> tensorMap = {}; // the value is made of it
  std::vector<uint8_t> bytes; // the value, or what the buffer holds before the launch
  bool isBuffer = true;
  bool isResult = false;
};

struct KernelCase {
  std::string name;  // "vote.all"
  std::string entry; // its name in the text
  std::string topic; // name of the file: "warp"
  std::string text;  // a PTX module
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {32, 1, 1};
  uint32_t sharedBytes = 0;
  bool cooperative = false;
  /// Of all results, which are elements of this type (f16, bf16, f32, f64, f16x2, bf16x2), if NaNs
  /// are not compared by their bits.
  std::string nanType;
  std::vector<KernelParameter> parameters;

  /// Of all that the result depends on.
  uint64_t digest() const;
  /// Whether a result is as recorded: in every byte, or with another NaN where nanType allows it.
  bool isRight(const std::vector<uint8_t> &got, const std::vector<uint8_t> &expected) const;
};

/// Which kernels are wanted, asked for each name in turn: of the others nothing but the name is
/// made.
using KernelFilter = llvm::function_ref<bool(llvm::StringRef name)>;
inline bool wantsEach(llvm::StringRef) { return true; }

/// The kernels of all files `*.kernels` of a folder, in the order of their names. An error names
/// file and line.
llvm::Expected<std::vector<KernelCase>> readKernels(llvm::StringRef folder,
                                                    KernelFilter isWanted = wantsEach);
/// Those of one file's text.
llvm::Expected<std::vector<KernelCase>>
expandKernels(llvm::StringRef fileName, llvm::StringRef text, KernelFilter isWanted = wantsEach);

} // namespace rubia::golden
