// SPDX-License-Identifier: Apache-2.0
// Relocatable objects into a code object.
#pragma once

#include "codegen/Codegen.h"
#include "codegen/lib/TargetId.h"

namespace rubia::codegen {

/// Fails with CodegenError or LinkerRetired. Calls from several threads take turns: lld's state is
/// global.
llvm::Expected<std::vector<uint8_t>> linkWithLld(llvm::ArrayRef<std::string> objects);

llvm::Expected<std::vector<uint8_t>> linkWithComgr(llvm::ArrayRef<std::string> objects,
                                                   const TargetId &target,
                                                   const std::string &libraryName);

} // namespace rubia::codegen
