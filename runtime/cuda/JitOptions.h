// SPDX-License-Identifier: Apache-2.0
// The options of cuModuleLoadDataEx and cuLibraryLoadData. Only what they give back means something
// to us: what the others ask for (register limits, optimisation levels, targets) is about NVIDIA's
// code.
#pragma once

#include "runtime/cuda/Types.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cstring>

namespace rubia::runtime::cuda {

struct JitOptions {
  unsigned count = 0;
  const int *options = nullptr;
  void **values = nullptr;

  void writeInfo(llvm::StringRef text) {
    write(kJitInfoLogBuffer, kJitInfoLogBufferSizeBytes, text);
    write(kJitErrorLogBuffer, kJitErrorLogBufferSizeBytes, "");
  }
  void writeError(llvm::StringRef text) {
    write(kJitErrorLogBuffer, kJitErrorLogBufferSizeBytes, text);
    write(kJitInfoLogBuffer, kJitInfoLogBufferSizeBytes, "");
  }

  /// CU_JIT_WALL_TIME: a float, in the value itself.
  void writeTime(float milliseconds) {
    if (void **value = find(kJitWallTime))
      memcpy(value, &milliseconds, sizeof(milliseconds));
  }

private:
  void **find(int option) {
    for (unsigned i = 0; options && values && i < count; ++i)
      if (options[i] == option)
        return &values[i];
    return nullptr;
  }

  /// The size option holds the buffer's size, and afterwards what was written, in the pointer
  /// itself.
  void write(int bufferOption, int sizeOption, llvm::StringRef text) {
    void **buffer = find(bufferOption), **size = find(sizeOption);
    if (!buffer || !size || !*buffer)
      return;
    size_t capacity = unsigned(reinterpret_cast<uintptr_t>(*size));
    if (!capacity)
      return;
    size_t n = std::min(text.size(), capacity - 1);
    memcpy(*buffer, text.data(), n);
    static_cast<char *>(*buffer)[n] = 0;
    *size = reinterpret_cast<void *>(n);
  }
};

} // namespace rubia::runtime::cuda
