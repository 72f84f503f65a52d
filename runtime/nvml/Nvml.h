// SPDX-License-Identifier: Apache-2.0
// The state of NVML, and the frame of its functions. It counts all devices of the machine, whatever
// CUDA_VISIBLE_DEVICES says. Nothing is invented: what nobody measures is "not supported".
#pragma once

#include "runtime/nvml/Monitor.h"
#include "runtime/nvml/Types.h"

namespace rubia::runtime::nvml {

struct Device {
  const Hip *hip;
  unsigned index;
  FoundDevice found;
  const Monitor *monitor; // null: nothing is measured
};

struct State {
  std::vector<Device> devices; // handles point into it
};

/// Null while nobody has initialised NVML. What it points to stays, whoever shuts NVML down
/// meanwhile; a second call may give null.
const State *state();

/// Runs `body` for a handle.
template <class Body> Return withDevice(Device *handle, Body body) {
  const State *known = state();
  if (!known)
    return kUninitialized;
  for (const Device &device : known->devices)
    if (&device == handle)
      return body(device);
  return kInvalidArgument;
}

/// Gives a value that may not be known.
template <class To, class From> Return give(To *out, const std::optional<From> &value) {
  if (!out)
    return kInvalidArgument;
  if (!value)
    return kNotSupported;
  *out = To(*value);
  return kSuccess;
}

/// Gives text with its end; `room` counts that too.
Return giveText(char *out, unsigned room, llvm::StringRef text);

std::string uuidText(const FoundDevice &device);
/// "0000:03:00.0" with as many digits of the domain.
std::string busText(const FoundDevice &device, unsigned domainDigits);

} // namespace rubia::runtime::nvml
