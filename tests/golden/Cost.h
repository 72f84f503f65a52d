// SPDX-License-Identifier: Apache-2.0
// How many machine instructions Rubia makes of one PTX instruction.
#pragma once

#include "Case.h"
#include "lowering/Lowering.h"
#include "llvm/Support/Error.h"

namespace rubia::golden {

/// The machine instructions of the case's kernel, with those that load its operands and store its
/// results.
llvm::Expected<unsigned> instructionCount(const Case &test, const std::string &arch,
                                          settings::Word nan);

} // namespace rubia::golden
