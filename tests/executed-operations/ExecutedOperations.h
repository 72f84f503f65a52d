// SPDX-License-Identifier: Apache-2.0
// Which operations of the instruction table the tests execute. An operation that lowering has and
// no test executes fails Operations.Executed (CheckExecuted.cpp).
//
// Programs whose harness compiles PTX, launches it and compares what it computes note here what a
// launch contained. Where RUBIA_TEST_EXECUTED_OPERATIONS names a folder, as ctest has it, they
// leave the names there when they end. To lower an instruction, or to compare the text of what it
// became, is not to execute it.
#pragma once

#include "lowering/Lowering.h"
#include "ptx-frontend/Module.h"
#include "llvm/ADT/ArrayRef.h"

namespace rubia::test {

/// A unit of the module was launched, and came to its end.
void noteExecuted(const lowering::Unit &unit);

/// For harnesses that compile in one place and launch in another: what the code was made from, and
/// that it was launched.
void noteCompiled(llvm::ArrayRef<uint8_t> code, const lowering::Unit &unit);
void noteExecuted(llvm::ArrayRef<uint8_t> code);

} // namespace rubia::test
