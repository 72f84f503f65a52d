// SPDX-License-Identifier: Apache-2.0
// What texture and surface instructions share: geometries, handles and calls of the sampler.
#pragma once

#include "lowering/lib/frame/FunctionLowering.h"

namespace rubia::lowering {

struct Geometry {
  const ptx::Modifier &mod;
  const char *name; // as the sampler's functions have it
  const char *kind; // the same of functions for which layers are a number of layer
  unsigned dimensions;
  bool isLayered; // the first coordinate is a layer
  bool isCube;
};
/// Null: there is no sampler for it.
const Geometry *geometryOf(const ptx::Spelling &spelling);

/// Builds what uses the handle that the first operand in an instruction's brackets gives: a
/// reference of the module, a parameter, or a register. `build` gets a handle that all lanes share
/// and that is not 0; where the first is not known, it stands in a loop over the handles that there
/// are. With a handle of 0 the result is 0, and `ifNone`, if there is one, builds what is done.
/// Returns what `build` returns, or null with a recorded problem.
llvm::Value *withHandle(FunctionLowering &fn, const ptx::Operand &operand,
                        llvm::function_ref<llvm::Value *(llvm::Value *)> build,
                        llvm::function_ref<void()> ifNone = {});

/// Calls a function of lowering/device/Textures.cpp, whose first argument is such a handle.
llvm::Value *callSampler(FunctionLowering &fn, const llvm::Twine &name,
                         llvm::ArrayRef<llvm::Value *> arguments);

} // namespace rubia::lowering
