// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's hardware refuses while a kernel runs ends it here too, with CUDA's error, and a
// report that names the kernel and line.
#pragma once

#include "lowering/Abi.h"
#include "lowering/lib/frame/FunctionLowering.h"

namespace rubia::lowering {

/// Ends the kernel with a report of this text. The builder goes on where the condition is false.
void endIf(FunctionLowering &fn, llvm::Value *condition, abi::TrapReason reason, std::string text);

/// The same, with a text that begins with the instruction and its place.
void failIf(FunctionLowering &fn, const ptx::Instruction &inst, llvm::Value *condition,
            abi::TrapReason reason, const llvm::Twine &what);

/// What the hardware refuses, as a device function tells it.
struct Refusal {
  uint32_t code;
  abi::TrapReason reason;
  const char *what;
};
/// Ends the kernel as the one of the refusals says that has the code, else as the last of them. The
/// builder goes on in `right`, where it also goes on if LLVM believes the trap to return.
void failByCode(FunctionLowering &fn, const ptx::Instruction &inst, llvm::Value *code,
                llvm::ArrayRef<Refusal> refusals, llvm::BasicBlock *right);

/// `bytes` is a power of two. Where the alignment is known there is no code.
void failIfMisaligned(FunctionLowering &fn, const ptx::Instruction &inst, llvm::Value *pointer,
                      uint64_t bytes);

} // namespace rubia::lowering
