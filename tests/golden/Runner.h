// Running cases on a device: through the CUDA driver API (NVIDIA's on an NVIDIA machine, Rubia's
// under `rubia run`), or compiled and emulated in this process.
#pragma once

#include "Case.h"
#include "lowering/Lowering.h"
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
                                                            lowering::NanMode nan);

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

protected:
  std::string description;
  unsigned capability = 0;
};

inline constexpr unsigned kThreads = 128; // of a CTA; kTupleCount is a multiple

} // namespace rubia::golden
