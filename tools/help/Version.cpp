// SPDX-License-Identifier: Apache-2.0
#include "lowering/Abi.h"
#include "tools/help/Help.h"
#include "llvm/Config/llvm-config.h"
#include <RubiaCommit.h> // generated: RUBIA_COMMIT

namespace rubia::tools {

std::string versionText() {
  return "rubia " RUBIA_VERSION "\ncommit " RUBIA_COMMIT "\nLLVM " LLVM_VERSION_STRING
         "\nHIP 5, 6 and 7\nABI " +
         std::to_string(abi::kVersion);
}

} // namespace rubia::tools
