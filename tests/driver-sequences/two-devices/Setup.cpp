// SPDX-License-Identifier: Apache-2.0
#include "tests/driver-sequences/two-devices/TwoDevices.h"

namespace sequences {

TwoDevices::TwoDevices() {
  named(first.context, "context 0");
  named(second.context, "context 1");
  named(first.memory, "memory of 0");
  named(second.memory, "memory of 1");
  use(first);
}

void TwoDevices::enableBoth() {
  use(second);
  cu("cuCtxEnablePeerAccess", first.context, 0u);
  use(first);
  cu("cuCtxEnablePeerAccess", second.context, 0u);
}

void use(const Plain &device) {
  if (int code = quiet("cuCtxSetCurrent", device.context))
    say("cuCtxSetCurrent %d", code);
}

void sayLaunch(const char *what, const Setup &device, Pointer memory, int value) {
  use(device);
  const int launched = launchAdd(device, device.stream, memory, value);
  say("%s: launch %d, then %d", what, launched, quiet("cuStreamSynchronize", device.stream));
}

void sayWords(const char *what, Pointer memory) {
  int words[64] = {};
  const int code = quiet("cuMemcpyDtoH_v2", Pointer(words), memory, sizeof(words));
  say("%s: %d: %d %d", what, code, words[0], words[63]);
}

} // namespace sequences
