// SPDX-License-Identifier: Apache-2.0
// Which operation an instruction does: a row of Operations.def.
//
// No header has the names, so a new row compiles the tables again and nothing else. A file that
// names operations declares those:
//   namespace rubia::ptx::Op {
//   extern const Operation Ld, St;
//   } // namespace rubia::ptx::Op
// A name without a row does not link. The names are no constant expressions. A constexpr table
// holds a `const Operation &`.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace rubia::ptx {

enum class Operation : uint16_t; // the number of the row

unsigned operationCount();            // the rows; all numbers are below
llvm::StringRef nameOf(Operation op); // "FAdd"

} // namespace rubia::ptx
