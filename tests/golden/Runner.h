// Running cases through the CUDA driver API, whichever libcuda.so.1 is found: NVIDIA's on an NVIDIA
// machine, Rubia's under `rubia run`.
#pragma once

#include "Case.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace rubia::golden {

class Runner {
public:
  static llvm::Expected<std::unique_ptr<Runner>> create();
  ~Runner();

  std::string device() const { return description; }
  unsigned computeCapability() const { return capability; } // 90

  struct Result {
    std::vector<uint64_t> outputs; // [tuple][destination]; empty if it did not run
    std::string error;
  };
  /// Cases that agree on the dialect they need run from one module; where a module is refused, each
  /// of its cases is tried alone, so that one that the driver does not know costs no other.
  std::vector<Result> run(llvm::ArrayRef<Case> cases,
                          llvm::ArrayRef<const std::vector<uint64_t> *> inputs);

private:
  Runner() = default;
  struct Driver;
  std::unique_ptr<Driver> driver;
  std::string description;
  unsigned capability = 0;
};

} // namespace rubia::golden
