// SPDX-License-Identifier: Apache-2.0
// Executes whole kernels as PTX describes them, warp by warp, on the host. It is the third vote
// where a GPU and Rubia disagree, so it shares no code with lowering, codegen or emulator.
//
// Scalar instructions mean what Reference.h says; an approximate one gives the number nearest to
// its true value. The threads of a warp that are at one instruction execute it together, and meet
// again no later than at the immediate post-dominator of the branch that divided them. Every thread
// makes progress. CTAs run one after another, unless the launch is cooperative.
#pragma once

#include "ptx-frontend/Module.h"
#include "reference/Textures.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace rubia::reference {

/// Host memory that kernels see as global memory at `address`. The caller owns it.
struct MemoryRange {
  uint64_t address = 0;
  llvm::MutableArrayRef<uint8_t> bytes;
};

/// A .global or .const variable of the module that lies in memory of the caller, with its contents.
struct PlacedVariable {
  std::string name;
  MemoryRange memory;
};

/// Results of wgmma, and of textures between texels, may be others on other processors. They move
/// by (scale * h + bias) of how far apart these may be (docs/diff.md, "Perturbed runs"); h, from -1
/// to 1, follows from the seed and the bits of the result. All zeros: nothing moves.
struct Movement {
  uint32_t seed = 0;
  float scale = 0, bias = 0;
};

struct Launch {
  std::string kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  /// The values of the parameters, at the offsets of parameterLayout().
  llvm::ArrayRef<uint8_t> parameters;
  bool cooperative = false;      // all CTAs run at the same time
  uint64_t instructionLimit = 0; // of a warp's instructions in the whole launch; 0: none
  Movement movement = {};
  /// Gets what the kernel prints.
  llvm::function_ref<void(llvm::StringRef)> print = nullptr;
};

struct Statistics {
  uint64_t warpInstructions = 0, laneInstructions = 0;
};

/// Offsets of a kernel's parameters in bytes, in their order; the last element is the size of all.
std::vector<uint32_t> parameterLayout(const ptx::Function &kernel);

class Interpreter {
public:
  /// Allocates and initialises the module's variables, but for those that are placed. The module
  /// must outlive the interpreter. An error names a variable that is not supported, or is placed in
  /// less memory than it has.
  static llvm::Expected<std::unique_ptr<Interpreter>>
  create(const ptx::Module &module, llvm::ArrayRef<PlacedVariable> placed = {});
  ~Interpreter();

  /// Adds memory for all launches that follow. Ranges may not overlap.
  void addMemory(MemoryRange range);
  /// Forgets all memory that addMemory() gave.
  void clearMemory();
  /// Adds a texture or a surface for all launches that follow: an object by its handle, a reference
  /// by the name of the module's variable. An error names a variable that there is not.
  llvm::Error addTexture(TextureObject texture);
  /// Forgets all textures and surfaces.
  void clearTextures();
  /// A .global or .const variable of the module; no bytes if there is none of that name.
  MemoryRange variable(llvm::StringRef name) const;

  /// Runs the kernel to its end. An error names the kernel, the line, the thread and the reason: an
  /// instruction that is not supported, an address out of bounds, a barrier that some threads of a
  /// warp do not reach. Memory then holds what was written until the error.
  llvm::Expected<Statistics> launch(const Launch &launch);

private:
  Interpreter();
  struct State;
  std::unique_ptr<State> state;
};

} // namespace rubia::reference
