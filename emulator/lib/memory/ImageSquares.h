// SPDX-License-Identifier: Apache-2.0
// The common sample, for a whole wave at once: two dimensions, one level, no border. The general
// way (ImageSampling.h) takes ten times as long for the same results.
#pragma once

#include "emulator/lib/memory/ImageSampling.h"

namespace rubia::emulator {

/// False: it is another kind of sample, or a texel may not be read; nothing has been done.
bool sampleSquares(Wave &w, const MicroOp &op, const ImageResource &image,
                   const ImageSampler &sampler);

} // namespace rubia::emulator
