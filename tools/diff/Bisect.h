// SPDX-License-Identifier: Apache-2.0
// Which step of the compiler makes a launch differ, where no instruction shows it: what is watched
// is compiled differently.
#pragma once

#include "tools/diff/ReplayTargets.h"

namespace rubia::tools {

/// Whether the launch still differs on a target.
using DiffersOn = std::function<llvm::Expected<bool>(const ReplayTarget &)>;

/// Lines of text: other settings with which the difference goes away, and if LLVM's optimiser is
/// one of them, the first of its passes without which it does. An error: what is left out cannot
/// be run by itself.
llvm::Expected<std::vector<std::string>>
bisectCompiler(const capsule::Capsule &capsule, const capsule::Launch &launch,
               const ReplayWork &work, const ReplayTarget &target, const DiffersOn &differs);

} // namespace rubia::tools
