// SPDX-License-Identifier: Apache-2.0
// The commands about capsules.
#pragma once

#include "tools/diff/ReplayTargets.h"
#include "llvm/Support/Error.h"
#include <string>

namespace CLI {
class App;
}

namespace rubia::tools {

void addCapsule(CLI::App &app, int &status);
void addCapture(CLI::App &app, int &status);
void addReplay(CLI::App &app, int &status);
void addDiff(CLI::App &app, int &status);

/// The capsule once more, compressed; `to` may be `from`.
llvm::Error packCapsule(const std::string &from, const std::string &to);
/// The same without pages that a launch does not touch, as a replay on a driver tells.
llvm::Error keepTouched(const std::string &from, const std::string &to, const ReplayWork &work,
                        const ReplayTarget &target);
/// The same without its images, or with digests in the place of what launches made of their memory.
llvm::Error stripCapsule(const std::string &from, const std::string &to, bool noImages,
                         bool hashOnly);

} // namespace rubia::tools
