// SPDX-License-Identifier: Apache-2.0
// The code around a store: the source, if it is there, the PTX, and the AMDGPU instructions.
#pragma once

#include "diff/Capsule.h"
#include "diff/Locate.h"
#include "tools/diff/ReplayTargets.h"

namespace rubia::tools {

/// What `work` replays on a target, around the site. The instructions are those of the kernel as
/// the target's settings compile it. An error: there is no PTX.
llvm::Expected<std::vector<capsule::Excerpt>>
excerptsAt(const capsule::Capsule &capsule, const capsule::Launch &launch,
           const capsule::StoreSite &site, const ReplayTarget &target, const ReplayWork &work);

/// Assembly with line numbers -> the instructions of this line that write memory, else all of it,
/// with some around them. Empty: the line has none.
capsule::Excerpt instructionsOf(llvm::StringRef assembly, uint32_t line);

/// The lines around one, which is marked. Empty: there is no such line.
capsule::Excerpt linesAround(llvm::StringRef text, uint32_t line);

} // namespace rubia::tools
