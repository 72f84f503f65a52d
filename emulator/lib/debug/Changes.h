// SPDX-License-Identifier: Apache-2.0
// What a debugger changes of a launch that stands still: registers, values of the program, memory.
#pragma once

#include "emulator/lib/debug/Inspection.h"

namespace rubia::emulator {

class Changes {
public:
  Changes(const Launch &launch, const Memory &memory)
      : launch(launch), memory(memory), lines(launch.kernel->program->lines.get()) {}

  /// Gives a value of the program or a register, which is that of the focus' thread, these bits. An
  /// error: it has no place that could be written, or cannot hold them.
  llvm::Error set(const Focus &focus, llvm::StringRef name, uint64_t low, uint64_t high) const;
  /// Writes hexadecimal digits. An error: not all of them have a place, and nothing is written.
  llvm::Error write(const Focus &focus, llvm::StringRef space, uint64_t address,
                    llvm::StringRef digits) const;

private:
  llvm::Error setRegister(const Focus &focus, llvm::StringRef name, uint64_t value) const;
  llvm::Error setExec(const Focus &focus, uint64_t value) const;

  const Launch &launch;
  const Memory &memory;
  const SourceLines *lines; // null: none are known
};

} // namespace rubia::emulator
