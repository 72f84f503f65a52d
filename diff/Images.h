// SPDX-License-Identifier: Apache-2.0
// What a launch's module was loaded from -> what is loaded to replay it.
#pragma once

#include "diff/Capsule.h"

namespace rubia::capsule {

struct ReplayImage {
  std::string ptx;
  /// What ran where it was recorded was machine code that stood beside the PTX: results may differ
  /// for that alone.
  bool isOtherImage = false;
};

/// The PTX that the recording driver would take of the image. An error: there is none, or it would
/// have to be linked.
llvm::Expected<ReplayImage> replayImage(const Capsule &capsule, const Launch &launch);

} // namespace rubia::capsule
