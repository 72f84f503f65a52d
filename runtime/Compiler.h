// Where manifests and code objects come from: the cache, else the compile worker (a child process,
// so that a compiler crash never kills the program). Safe to call from several threads; equal
// requests are compiled once.
#pragma once

#include "runtime/Manifest.h"
#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace rubia::runtime {

using Digest = std::array<uint8_t, 32>; // BLAKE3

// An image as the program handed it over: container or PTX text. `bytes` must stay alive as long as
// the image.
struct RawImage {
  llvm::ArrayRef<uint8_t> bytes;
  Digest digest; // of bytes
  unsigned
      computeCapability; // 10 * major + minor, as told to the caller: decides which PTX is taken
};
Digest digestOf(llvm::ArrayRef<uint8_t> bytes);

// The compile worker is missing, crashed or went away: nothing is wrong with the kernel, and a
// later call may fare better.
class CompilerTrouble : public llvm::ErrorInfo<CompilerTrouble> {
public:
  static char ID;
  std::string message;
  explicit CompilerTrouble(std::string message) : message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
};

// What a request took.
struct CompileCost {
  bool compiled = false;  // false: it was in the cache, or had been asked for before
  uint64_t peakBytes = 0; // resident memory of the compile process; 0: not known
};

class Compiler {
public:
  // One per process; lives for ever (programs call us after static destructors have run).
  static Compiler &instance();

  // The error is what the program's log should say: malformed image, no PTX (only SASS for ...); or
  // CompilerTrouble.
  llvm::Expected<std::shared_ptr<const Manifest>> manifest(const RawImage &image);

  // The code object of one unit for `arch`. The error names kernel, line and reason.
  llvm::Expected<std::shared_ptr<const std::vector<uint8_t>>>
  codeObject(const RawImage &image, uint32_t unit, llvm::StringRef arch,
             CompileCost *cost = nullptr);

private:
  Compiler();
  struct State;
  State *state;
};

} // namespace rubia::runtime
