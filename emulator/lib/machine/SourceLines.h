// SPDX-License-Identifier: Apache-2.0
// Source lines of a code object, from its DWARF line tables.
#pragma once

#include "emulator/Profile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace llvm {
class DWARFContext;
namespace object {
class ObjectFile;
}
} // namespace llvm

namespace rubia::emulator {

/// Keeps the file and looks at it when it is first asked: most programs never fault.
class SourceLines {
public:
  explicit SourceLines(llvm::ArrayRef<uint8_t> elf);
  ~SourceLines();

  /// "saxpy.cu:12", with the callers of inlined functions: "math.h:7 in square, inlined at
  /// saxpy.cu:12". What the compiler has added has no line: then "near" the line before it. Empty
  /// if nothing is known. `pc` is an address of the file.
  std::string at(uint64_t pc) const;
  /// The same as parts: the innermost inlined function first. Empty if nothing is known.
  std::vector<SourceFrame> frames(uint64_t pc) const;
  /// For who wants more of the debug information than lines. Not called if there is none.
  void inspect(llvm::function_ref<void(llvm::DWARFContext &)> use) const;

private:
  bool open() const;
  /// `back`: how many bytes before `pc` the line was found.
  std::vector<SourceFrame> framesNear(uint64_t pc, uint64_t &back) const;
  std::vector<SourceFrame> framesAt(uint64_t pc) const;

  std::vector<uint8_t> bytes;
  mutable std::mutex mutex;
  mutable std::unique_ptr<llvm::object::ObjectFile> file;
  mutable std::unique_ptr<llvm::DWARFContext> context;
};

} // namespace rubia::emulator
