// SPDX-License-Identifier: Apache-2.0
// Launches of CUDA's first versions: a function keeps the shape and the parameters that the program
// sets one by one, for the launches that name nothing but the grid.
#include "runtime/cuda/Api.h"
#include "runtime/cuda/Module.h"
#include "runtime/cuda/graph/Capture.h"
#include <cstring>

namespace rubia::runtime::cuda {

namespace {

constexpr unsigned kMaxParameterBytes = 4096;

struct Settings {
  uint64_t function = 0; // its id: another one may have its address later
  unsigned block[3] = {1, 1, 1};
  unsigned sharedBytes = 0;
  unsigned parameterBytes = 0;
  std::vector<uint8_t> parameters = std::vector<uint8_t>(kMaxParameterBytes);
};

// What was set, by function. Leaked, as all tables of handles.
std::mutex &mutex = *new std::mutex;
std::map<Function *, Settings> &settings = *new std::map<Function *, Settings>;

Settings &settingsOf(Function *function) {
  Settings &found = settings[function];
  if (found.function != function->id) {
    found = {};
    found.function = function->id;
  }
  return found;
}

// Runs `body` with what is set of a function.
template <class Body> Result change(const TracedCall &entry, Function *function, Body body) {
  return callIn(entry, [&](Context &) -> Result {
    if (!isLive(function))
      return kInvalidHandle;
    std::lock_guard<std::mutex> lock(mutex);
    return body(settingsOf(function));
  });
}

Result setParameter(const TracedCall &entry, Function *function, int offset, const void *value,
                    unsigned bytes) {
  return change(entry, function, [&](Settings &set) {
    if (!value || offset < 0 || unsigned(offset) > kMaxParameterBytes ||
        bytes > kMaxParameterBytes - unsigned(offset))
      return kInvalidValue;
    memcpy(set.parameters.data() + offset, value, bytes);
    return kSuccess;
  });
}

Result launch(const TracedCall &entry, Function *function, int width, int height, Stream *stream) {
  return callIn(entry, [&](Context &context) -> Result {
    if (!isLive(function))
      return kInvalidHandle;
    if (width < 1 || height < 1)
      return kInvalidValue;
    // Parameters could be other ones when the graph is launched.
    if (Result result = onStream(context, stream, [](Context &, void *hipStream) {
          return isCaptured(hipStream) ? refuseCapture(hipStream) : kSuccess;
        }))
      return result;
    Settings set;
    {
      std::lock_guard<std::mutex> lock(mutex);
      set = settingsOf(function);
    }
    // What was not set is 0; a size that is too small costs nothing.
    size_t bytes = std::max<size_t>(set.parameterBytes, function->kernel.parameterBytes);
    set.parameters.resize(std::max(set.parameters.size(), bytes));
    void *extra[] = {reinterpret_cast<void *>(1), set.parameters.data(),
                     reinterpret_cast<void *>(2), &bytes, nullptr};
    return cuLaunchKernel(function, unsigned(width), unsigned(height), 1, set.block[0],
                          set.block[1], set.block[2], set.sharedBytes, stream, nullptr, extra);
  });
}

} // namespace
} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuFuncSetBlockShape(Function *function, int x, int y, int z) {
  return change(RUBIA_CALL(function, x, y, z), function, [&](Settings &set) {
    if (x < 1 || y < 1 || z < 1 || x > 1024 || y > 1024 || z > 64 ||
        uint64_t(x) * uint64_t(y) * uint64_t(z) > 1024)
      return kInvalidValue;
    set.block[0] = unsigned(x);
    set.block[1] = unsigned(y);
    set.block[2] = unsigned(z);
    return kSuccess;
  });
}
Result cuFuncSetSharedSize(Function *function, unsigned bytes) {
  return change(RUBIA_CALL(function, bytes), function, [&](Settings &set) {
    if (bytes > unsigned(Device::maxSharedPerBlock()))
      return kInvalidValue;
    set.sharedBytes = bytes;
    return kSuccess;
  });
}
Result cuParamSetSize(Function *function, unsigned bytes) {
  return change(RUBIA_CALL(function, bytes), function, [&](Settings &set) {
    if (bytes > kMaxParameterBytes)
      return kInvalidValue;
    set.parameterBytes = bytes;
    return kSuccess;
  });
}
Result cuParamSeti(Function *function, int offset, unsigned value) {
  return setParameter(RUBIA_CALL(function, offset, value), function, offset, &value, sizeof(value));
}
Result cuParamSetf(Function *function, int offset, float value) {
  return setParameter(RUBIA_CALL(function, offset, value), function, offset, &value, sizeof(value));
}
Result cuParamSetv(Function *function, int offset, void *value, unsigned bytes) {
  return setParameter(RUBIA_CALL(function, offset, value, bytes), function, offset, value, bytes);
}

Result cuLaunch(Function *function) {
  return launch(RUBIA_CALL(function), function, 1, 1, nullptr);
}
Result cuLaunchGrid(Function *function, int width, int height) {
  return launch(RUBIA_CALL(function, width, height), function, width, height, nullptr);
}
Result cuLaunchGridAsync(Function *function, int width, int height, Stream *stream) {
  return launch(RUBIA_CALL(function, width, height, stream), function, width, height, stream);
}

} // extern "C"
