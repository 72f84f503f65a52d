// SPDX-License-Identifier: Apache-2.0
#include "ptx-frontend/lib/OperationRows.h"

namespace rubia::ptx {

namespace Op {
#define PTX_OP(Name, Effects) extern const Operation Name = Operation(OperationRow::Name);
#define PTX_OP_PARSED(Name, Effects) PTX_OP(Name, Effects)
#include "ptx-frontend/Operations.def"
} // namespace Op

unsigned operationCount() { return std::size(kOperations); }
llvm::StringRef nameOf(Operation op) { return kOperations[unsigned(op)].name; }
Effects effectsOf(Operation op) { return kOperations[unsigned(op)].effects; }

} // namespace rubia::ptx
