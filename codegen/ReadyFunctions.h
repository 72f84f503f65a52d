// SPDX-License-Identifier: Apache-2.0
// Functions of ours that many units contain, compiled when Rubia is built: the sampler of textures.
// codegen/lib/speed/KeptFunctions.h keeps such functions once a process has compiled them. Here is
// what it need not compile at all.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rubia::codegen {

/// Collects functions, and makes a table of them.
class ReadyFunctions {
public:
  /// Adds what this thread has compiled and kept so far.
  void addKept();
  void add(const ReadyFunctions &others) {
    functions.insert(others.functions.begin(), others.functions.end());
  }
  size_t size() const { return functions.size(); }
  std::vector<uint8_t> table() const;

private:
  std::map<std::string, std::string> functions; // digest of the name: what is in the table
};

/// Has the functions of a table taken in the place of compiling them. The same build of codegen and
/// of lowering has to have made it. It stays where it is as long as the process; an empty one is
/// none. To be called before anything is compiled. Fails on what is no table.
llvm::Error useReadyFunctions(llvm::ArrayRef<uint8_t> table);

} // namespace rubia::codegen
