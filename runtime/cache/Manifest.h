// SPDX-License-Identifier: Apache-2.0
// What a program may ask of a module before any of its kernels is compiled: kernels with their
// parameter layouts and attributes, module variables with their initial contents, units,
// diagnostics. One manifest per image; see docs/architecture.md. Stored as JSON plus one blob of
// initialiser bytes, so that libcuda parses no PTX.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace rubia::runtime {

struct Manifest {
  static constexpr uint32_t kMaxParameterBytes = 32764; // CUDA's own limit
  struct Parameter {
    uint32_t offset = 0, size = 0, alignment = 1;
  };
  struct Kernel {
    std::string name;
    uint32_t unit = 0;
    std::vector<Parameter> parameters;
    uint32_t parameterBytes = 0;             // without the launch arguments
    uint32_t maxThreads[3] = {0, 0, 0};      // .maxntid; 0: not given
    uint32_t requiredThreads[3] = {0, 0, 0}; // .reqntid
    uint32_t requiredCluster[3] = {0, 0, 0}; // .reqnctapercluster
    uint32_t maxClusterRank = 0;             // .maxclusterrank
    bool explicitCluster = false;            // .explicitcluster
    uint64_t staticSharedBytes = 0;
    std::string error; // not empty: the kernel cannot be compiled; the whole diagnostic

    /// Of a CTA, as PTX and CUDA bound them. The code may allow for less.
    uint64_t mostThreads() const;
  };
  struct Relocation {
    uint64_t offset = 0; // in the variable
    uint8_t width = 8;
    uint32_t variable = 0; // index into variables, or functions if isFunction
    int64_t addend = 0;
    bool isFunction = false;
  };
  enum class Reference : uint8_t { None, Texture, Surface };
  struct Variable {
    std::string name;
    bool constant = false; // .const
    bool managed = false;
    bool visible = false; // found by name from outside
    /// A .texref or .surfref: the variable is an abi::Texture.
    Reference reference = Reference::None;
    uint64_t size = 0;
    uint32_t alignment = 1;
    bool initialized = false; // else zero
    uint64_t blobOffset = 0;  // of `size` bytes in blob
    std::vector<Relocation> relocations;
  };

  unsigned ptxMajor = 0, ptxMinor = 0, sm = 0; // of the image the manifest was made from
  std::vector<Kernel> kernels;
  std::vector<Variable> variables; // in the order of their slots in the module table
  uint32_t unitCount = 0;
  std::vector<std::string> functions;   // whose addresses initialisers hold
  uint32_t functionUnit = 0;            // the unit that has them
  std::vector<std::string> diagnostics; // formatted; warnings and errors
  /// Of these the errors that make the text no PTX: what is only not supported is none of them.
  std::vector<std::string> invalid;
  std::vector<std::string> unresolved; // external symbols that something names and nobody defines
  std::vector<uint8_t> blob;

  const Kernel *kernel(llvm::StringRef name) const;
  const Variable *variable(llvm::StringRef name) const;

  std::vector<uint8_t> serialize() const;
  /// Every index and offset in the result is in range.
  static llvm::Expected<Manifest> deserialize(llvm::ArrayRef<uint8_t> bytes);
};

} // namespace rubia::runtime
