// SPDX-License-Identifier: Apache-2.0
// PTX for a newer device than the one that is there. A driver refuses it for its `.target` line,
// whatever instructions it has. With the device's own target it looks at those.
#pragma once

#include <cstddef>

namespace rubia::forward {

/// An image that is to be given to the driver in the place of the program's.
struct LoweredPtx {
  char *text = nullptr;          // ends with a zero; never freed: a driver may read it later. Null:
                                 // the image is for this device, or `problem`
  const char *problem = nullptr; // why it has to be lowered and is not
  unsigned from = 0;             // its target: 120 for sm_120
};

/// `image` as it is given to the driver. `capability`: of the device, 90 for 9.0. `driverVersion`:
/// 13000 for 13.0, which tells the newest PTX that it reads.
LoweredPtx lowerTarget(const void *image, unsigned capability, int driverVersion);

/// Calls `take` for the name of each kernel of a text.
void readKernelNames(const char *text, void (*take)(void *context, const char *name, size_t size),
                     void *context);

} // namespace rubia::forward
