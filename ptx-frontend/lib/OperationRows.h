// SPDX-License-Identifier: Apache-2.0
// The rows of Operations.def as constant expressions, for the tables that are made of them.
#pragma once

#include "ptx-frontend/Effects.h"
#include "ptx-frontend/Operation.h"

namespace rubia::ptx {

enum class OperationRow : uint16_t {
#define PTX_OP(Name, Effects) Name,
#define PTX_OP_PARSED(Name, Effects) Name,
#include "ptx-frontend/Operations.def"
};

namespace effects {
/// By row.
inline constexpr struct {
  llvm::StringRef name;
  Effects effects;
  bool lowered;
} kOperations[] = {
#define PTX_OP(Name, Effects) {#Name, Effects, true},
#define PTX_OP_PARSED(Name, Effects) {#Name, Effects, false},
#include "ptx-frontend/Operations.def"
};
} // namespace effects
using effects::kOperations;

} // namespace rubia::ptx
