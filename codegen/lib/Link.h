// SPDX-License-Identifier: Apache-2.0
// A relocatable object into a code object.
#pragma once

#include "codegen/Codegen.h"
#include "codegen/lib/TargetId.h"

namespace rubia::codegen {

/// Fails with CodegenError or LinkerRetired. Calls from several threads take turns: lld's state is
/// global.
llvm::Expected<std::vector<uint8_t>> linkWithLld(llvm::StringRef object);

llvm::Expected<std::vector<uint8_t>> linkWithComgr(llvm::StringRef object, const TargetId &target,
                                                   const std::string &libraryName);

} // namespace rubia::codegen
