// SPDX-License-Identifier: Apache-2.0
// Running cases on a device: through the CUDA driver API (NVIDIA's on an NVIDIA machine, Rubia's
// under `rubia run`), or compiled and emulated in this process.
#pragma once

#include "Case.h"
#include "lowering/Lowering.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace rubia::golden {

class Runner {
public:
  virtual ~Runner() = default;

  /// The device and driver of libcuda.so.1, whichever that is.
  static llvm::Expected<std::unique_ptr<Runner>> onDriver();
  /// A processor of the emulator: "gfx942".
  static llvm::Expected<std::unique_ptr<Runner>> onEmulator(const std::string &arch,
                                                            settings::Word nan);
  /// The interpreter of reference/.
  static std::unique_ptr<Runner> onReference();

  std::string device() const { return description; }
  unsigned computeCapability() const { return capability; } // 90; 0: takes all

  struct Result {
    std::vector<uint64_t> outputs; // [tuple][destination]; empty if it did not run
    std::string error;
  };
  /// Cases that agree on the dialect they need run from one module; one that is refused costs no
  /// other.
  virtual std::vector<Result> run(llvm::ArrayRef<Case> cases,
                                  llvm::ArrayRef<const std::vector<uint64_t> *> inputs) = 0;

  /// A unary f32 instruction at the bit patterns 0, stride, 2 * stride, ... below 2^32. `take` gets
  /// the results piece by piece: the number of the first, and their bits.
  using Take = llvm::function_ref<void(uint64_t first, llvm::ArrayRef<uint32_t> results)>;
  virtual llvm::Error sweep(const std::string &mnemonic, uint32_t stride, Take take) = 0;

protected:
  std::string description;
  unsigned capability = 0;
};

inline constexpr unsigned kThreads = 128; // of a CTA; kTupleCount is a multiple
inline constexpr unsigned kSweepPiece = 1 << 22;

/// How many operands of a piece of a sweep are below 2^32.
inline unsigned sweptOperands(uint64_t first, uint32_t stride) {
  uint64_t all = 0xffffffffull / stride + 1;
  return unsigned(all - first < kSweepPiece ? all - first : kSweepPiece);
}

/// A module with the kernel `sweep`(.u64 results, .u32 first, .u32 stride): thread i applies the
/// instruction to the bits first + i * stride.
std::string sweepModule(const std::string &mnemonic);

} // namespace rubia::golden
