// SPDX-License-Identifier: Apache-2.0
// The functions that a program declares and CUDA's driver defines: vprintf, malloc, free,
// __assertfail.
#pragma once

#include "lowering/Abi.h"
#include "lowering/Lowering.h"
#include "llvm/ADT/ArrayRef.h"

namespace rubia::lowering {

struct DeviceFunction {
  llvm::StringRef name;
  // What of module state its definition takes behind the declared parameters, as addresses.
  llvm::ArrayRef<abi::ModuleTableSlot> state;
  bool endsWarp; // after recording an assertion
};

// Null for any other name.
const DeviceFunction *deviceFunction(llvm::StringRef name);

// The definitions, as a module with one unit of functions.
const ptx::Module &deviceModule();
const Unit &deviceUnit();

} // namespace rubia::lowering
