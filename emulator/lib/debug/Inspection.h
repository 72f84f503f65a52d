// SPDX-License-Identifier: Apache-2.0
// What a debugger asks about a launch that stands still, as JSON. Nothing here changes the launch.
#pragma once

#include "emulator/lib/debug/CallStacks.h"
#include "emulator/lib/debug/CodePlaces.h"
#include "emulator/lib/machine/SourceText.h"
#include "emulator/lib/run/RunningGroup.h"
#include "llvm/Support/JSON.h"

namespace rubia::emulator {

/// The thread that is looked at.
struct Focus {
  RunningGroup *group = nullptr;
  Wave *wave = nullptr;
  unsigned lane = 0;
};

class Inspection {
public:
  Inspection(const Launch &launch, const Memory &memory, const SteppedProgram &code,
             const CodePlaces &places, const CallStacks &calls)
      : launch(launch), memory(memory), code(code), lines(launch.kernel->program->lines.get()),
        places(places), calls(calls) {}

  /// The pc of what a wave executes next, or of the barrier that it waits at.
  static uint32_t pcOf(const Wave &wave);
  /// Whether the focus' lane takes part.
  static bool isActive(const Focus &focus) { return focus.wave->exec() >> focus.lane & 1; }
  /// How many functions the thread is in, inlined ones included.
  size_t depthOf(const Wave &wave, uint32_t pc) const;

  /// Where a thread is: workgroup, wave, lane, thread, pc, instruction, file, line.
  llvm::json::Object place(const Focus &focus) const;
  /// The innermost frame first.
  llvm::json::Array frames(const Wave &wave) const;
  /// All waves of the groups that run.
  llvm::json::Array waves(llvm::ArrayRef<RunningGroup *> groups) const;
  llvm::json::Array lanes(const Focus &focus) const;
  /// Scalar registers and those of the lane.
  llvm::json::Array registers(const Focus &focus) const;
  /// Of one vector register, the value of each lane. An error: there is no such register.
  llvm::Expected<llvm::json::Array> lanesOf(const Focus &focus, llvm::StringRef name) const;
  llvm::json::Array values(const Focus &focus) const;
  /// Bytes as hexadecimal digits: as many as can be read. `space` is global, shared, local or
  /// generic.
  llvm::Expected<std::string> bytes(const Focus &focus, llvm::StringRef space, uint64_t address,
                                    uint64_t count) const;
  /// `count` instructions from the one `before` in front of that at `pc`.
  llvm::json::Array instructions(uint64_t pc, uint64_t before, uint64_t count) const;
  /// The lines of a file; none: it may not be read.
  llvm::json::Array source(llvm::StringRef file);
  std::string lineText(llvm::StringRef file, unsigned line);

  /// The thread with these numbers; an error if there is none that runs.
  llvm::Expected<Focus> find(llvm::ArrayRef<RunningGroup *> groups, Dim3 workgroup,
                             Dim3 thread) const;

private:
  llvm::json::Object frame(const SourceFrame &frame, uint64_t pc, bool isInlined) const;

  const Launch &launch;
  const Memory &memory;
  const SteppedProgram &code;
  const SourceLines *lines; // null: none are known
  const CodePlaces &places;
  const CallStacks &calls;
  SourceText sources;
  std::map<std::string, std::vector<std::string>> texts; // that the code object holds
};

llvm::json::Array arrayOf(Dim3 place);

} // namespace rubia::emulator
