// SPDX-License-Identifier: Apache-2.0
// When kernels ran on the device, for the timeline of a run: HIP's events around each launch.
#pragma once

#include "runtime/device/Hip.h"
#include <string>

namespace rubia::runtime {

/// Around a launch on a stream. Without a timeline it does nothing. What has not ended when the
/// program does is not told.
class DeviceSpan {
public:
  DeviceSpan(const Hip &hip, void *stream);
  DeviceSpan(const DeviceSpan &) = delete;
  DeviceSpan &operator=(const DeviceSpan &) = delete;
  /// The launch was made.
  void end(const std::string &kernel);
  ~DeviceSpan();

private:
  const Hip &hip;
  void *stream;
  void *begin = nullptr;
};

} // namespace rubia::runtime
