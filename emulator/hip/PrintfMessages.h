// SPDX-License-Identifier: Apache-2.0
// What kernels print. HIP's device code hands a printf over as one message of 64-bit words: where
// to, the format and the arguments, strings in place and filled up with zeros
// (LLVM's AMDGPUEmitPrintf.cpp; ROCm's device libraries, __ockl_printf_*).
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rubia::emulator::hip {

/// What a kernel's message may have: a longer text is cut, longer arguments are an error.
constexpr size_t kMaxText = 64 << 20, kMaxWords = 8 << 20;

/// The text of a printf. Arguments that the format names and that are not there count as 0.
std::string formatPrintf(llvm::StringRef format, llvm::ArrayRef<uint64_t> arguments);

/// The same where the format's text stands before the arguments.
std::string formatPrintf(llvm::ArrayRef<uint64_t> words);

/// Writes it where the program's own printf writes: 1 is stderr, else stdout.
void printMessage(bool toStderr, llvm::StringRef text);

/// Messages that arrive in pieces of up to seven words.
class PrintfMessages {
public:
  /// A piece of a thread's message: a descriptor and words. The descriptor comes back with the
  /// number of the message that a first piece begins; the last one prints it. An error, and the
  /// message is forgotten, where kernels have sent what they cannot have been meant to.
  llvm::Error receive(uint64_t (&values)[8]);

private:
  std::map<uint64_t, std::vector<uint64_t>> open;
  uint64_t next = 0;
  size_t openWords = 0; // of all
};

} // namespace rubia::emulator::hip
