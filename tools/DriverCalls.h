// SPDX-License-Identifier: Apache-2.0
// Which functions that Rubia's libcuda lacks a program will call, as far as its file tells.
//
// Three things can be read off a file. Functions of the driver and of a shared CUDA runtime that it
// calls are undefined symbols. The static CUDA runtime is inside of the file, whole; what calls of
// it the program makes are call instructions to its functions, which the symbol table names. Names
// that a program looks up at run time are strings; whether it calls what it asks for cannot be
// told, so they are no more than notes.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace rubia::tools {

/// The functions that our libcuda.so.1 exports, and whether each is implemented.
class DriverFunctions {
public:
  /// Read from the library beside this program, so that there is no list to keep up to date.
  static llvm::Expected<DriverFunctions> installed();

  /// As a symbol, which is one variant of a function (cuMemAlloc, cuMemAlloc_v2).
  bool hasSymbol(llvm::StringRef name) const { return symbols.contains(name); }
  bool isMissingSymbol(llvm::StringRef name) const { return !symbols.lookup(name); }

  /// As cuGetProcAddress knows it: whatever variant there is will do.
  bool isKnown(llvm::StringRef name) const;
  bool isMissing(llvm::StringRef name) const;

private:
  /// True: implemented. The second by names without _v2 and _ptsz.
  llvm::StringMap<bool> symbols, functions;
};

struct DriverCalls {
  struct Missing {
    std::string function; // as the program calls it: "cudaGraphCreate"
    std::string driver;   // what is missing for it: "cuGraphCreate"
  };
  std::vector<Missing> missing;       // called, in the order of names
  std::vector<std::string> libraries; // NVIDIA's with kernels of their own, that it is linked with
  std::vector<std::string> notes;     // sentences about what cannot be told
  bool isUncertain = false;           // it may call any of the functions that are missing
};

/// `elf`: a program, shared library or object. Anything else calls nothing.
llvm::Expected<DriverCalls> driverCallsOf(llvm::ArrayRef<uint8_t> elf,
                                          const DriverFunctions &driver);

/// The function of the driver without which this one of the CUDA runtime fails; empty: none of its
/// own. `function` is without _ptsz and _ptds.
llvm::StringRef driverFunctionBehind(llvm::StringRef function);

} // namespace rubia::tools
