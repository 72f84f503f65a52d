// SPDX-License-Identifier: Apache-2.0
// What sequences of two devices begin with.
#pragma once

#include "tests/driver-sequences/Sequence.h"

namespace sequences {

/// Context, streams, memory and kernels of both devices. The context of device 0 is current.
struct TwoDevices {
  Setup first{0}, second{1};
  TwoDevices();
  Setup &operator[](int device) { return device ? second : first; }
  /// Each device may use the other's memory.
  void enableBoth();
};

/// The device whose calls follow.
void use(const Plain &device);

/// Waits for the stream of a launch of `add` by a device, and writes down both codes.
void sayLaunch(const char *what, const Setup &device, Pointer memory, int value);

/// Writes down the first and the last of the 64 words of memory of any device.
void sayWords(const char *what, Pointer memory);

} // namespace sequences
