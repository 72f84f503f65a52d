// SPDX-License-Identifier: Apache-2.0
// Functions that are written in C++, in lowering/device/: those that a program declares and CUDA's
// driver defines (vprintf, malloc, free, __assertfail, cudaGraphSetConditional), the products of
// matrices, and the sampler of textures.
#pragma once

#include "lowering/Abi.h"
#include "lowering/Lowering.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/ADT/ArrayRef.h"

namespace rubia::lowering {

struct DeviceFunction {
  llvm::StringRef name;
  /// What of module state its definition takes behind the declared parameters, as addresses.
  llvm::ArrayRef<abi::ModuleTableSlot> state;
  bool endsWarp; // after recording an assertion
};

/// Null for any other name.
const DeviceFunction *deviceFunction(llvm::StringRef name);

/// The definitions.
const ptx::Module &deviceModule(DeviceLibrary library);

/// What UnitLowering has under the same names: answers that need all instructions of a library, of
/// whose ten thousands a unit needs a few. They are the same for each warp form: no library has a
/// barrier, which in the checked form would be another one (BarrierPlan.LibrariesHaveNoBarriers).
struct LibraryFacts {
  explicit LibraryFacts(const Unit &unit);

  BarrierPlan barriers;
  SharedLayout sharedLayout;
  bool namesClusters;
  std::optional<Group> calledMeeting;
};

/// Null: the unit is a program's.
const LibraryFacts *libraryFacts(const Unit &unit);

} // namespace rubia::lowering
