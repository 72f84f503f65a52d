// SPDX-License-Identifier: Apache-2.0
// The decoded code of a code object.
#pragma once

#include "emulator/lib/machine/SourceLines.h"
#include "emulator/lib/machine/Target.h"
#include "emulator/lib/machine/Workgroup.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace rubia::emulator {

/// Constants of vector operations, one copy of each value per lane, as the kernels read them.
class ConstantPool {
public:
  /// `registers` registers that hold `words` in every lane.
  const uint32_t *get(uint64_t value, unsigned registers);

private:
  struct alignas(64) Lanes {
    uint32_t at[4 * kBlockLanes];
  };
  std::deque<Lanes> storage;
  std::map<std::pair<uint64_t, unsigned>, const uint32_t *> known;
};

/// A function's code within the image.
struct CodeRange {
  uint64_t begin = 0, end = 0; // addresses
  /// The symbol has no size, so that what lies behind the code may be something else: an
  /// instruction that cannot be executed is a fault when it is.
  bool isOpen = false;
};

class AccessNotes;
class AsyncNotes;
struct SteppedProgram;
struct InstructionStep;

struct Program {
  CodeMap map;
  std::vector<MicroOp> operations;
  std::vector<uint32_t> indices; // behind map.indices
  std::deque<VectorDetail> details;
  ConstantPool constants;
  unsigned vgprCount = 0; // highest register that any function names, plus one
  bool perturb = false;   // results that the manuals only bound differ (RUBIA_EMULATOR_TRANS=worst)
  const Target *target = nullptr;
  llvm::ArrayRef<uint8_t> image;      // the mapped segments, to disassemble again for messages
  std::unique_ptr<SourceLines> lines; // null if the file has none
  std::shared_ptr<const AccessNotes> accessNotes; // null if the file has none
  std::shared_ptr<const AsyncNotes> asyncNotes;   // likewise
  uint64_t textBegin = 0; // address in the image that `pc` 0 stands for: the image's base
  std::vector<CodeRange> ranges;
  std::map<uint32_t, std::string> refused; // by pc: why an instruction that is a fault is none
  unsigned waveSize = 32;
  /// Threads of a wave that were a warp in the program that the code was made from: Rubia's packed
  /// form has two of 32 in a wave64.
  unsigned warpLanes = 32;
  /// Lanes of a wave that are threads: Rubia's half-filled form leaves the upper half of a wave64
  /// idle.
  unsigned threadsPerWave = 32;

  /// The same code instruction by instruction, decoded when that is first asked for.
  const SteppedProgram &stepped() const;

private:
  mutable std::once_flag onceStepped;
  mutable std::shared_ptr<const SteppedProgram> steppedProgram;
};

struct Unsupported {
  uint64_t pc = 0; // offset in the image
  std::string text;
  std::string reason;
};

/// Decodes `ranges` of the image that lies at `base`, which the Program must not outlive.
/// Instructions that cannot be executed go to `unsupported`. With `steps`, which get one entry for
/// each operation, waits become operations of their own; `notes` complete them.
std::unique_ptr<Program> decodeProgram(const Target &target, llvm::ArrayRef<uint8_t> image,
                                       uint64_t base, llvm::ArrayRef<CodeRange> ranges,
                                       unsigned waveSize, std::vector<Unsupported> &unsupported,
                                       bool perturb = false,
                                       std::vector<InstructionStep> *steps = nullptr,
                                       const AccessNotes *notes = nullptr,
                                       const AsyncNotes *marks = nullptr);

} // namespace rubia::emulator
