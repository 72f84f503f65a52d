// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/frame/LoweringFunctions.h"

namespace rubia::lowering {

// Only here, so that a new row compiles no chapter. An operation without its function does not
// link.
#define PTX_OP(Name, Effects) LoweringFunction lower##Name;
#include "ptx-frontend/Operations.def"

static LoweringFunction *const kFunctions[] = {
#define PTX_OP(Name, Effects) lower##Name,
#define PTX_OP_PARSED(Name, Effects) nullptr,
#include "ptx-frontend/Operations.def"
};

LoweringFunction *loweringFunctionOf(ptx::Operation op) { return kFunctions[unsigned(op)]; }

} // namespace rubia::lowering
