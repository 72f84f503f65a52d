// SPDX-License-Identifier: Apache-2.0
// The options of cuModuleLoadDataEx, cuLibraryLoadData and cuLinkCreate. What they give back and
// CU_JIT_MAX_REGISTERS mean something to us; the others (optimisation levels, targets) are about
// NVIDIA's code.
#pragma once

#include "runtime/cuda/Types.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cstring>
#include <optional>

namespace rubia::runtime::cuda {

struct JitOptions {
  unsigned count = 0;
  const int *options = nullptr;
  void **values = nullptr;

  /// What an H100's driver takes: options that there are, with values that they have, and logs with
  /// a buffer and its size, or neither.
  bool areValid() {
    if (count && (!options || !values))
      return false;
    for (unsigned i = 0; i < count; ++i)
      if (!isValid(options[i], reinterpret_cast<uintptr_t>(values[i])))
        return false;
    return true;
  }

  /// CU_JIT_MAX_REGISTERS; 0: not given.
  unsigned registerLimit() {
    void **value = find(kJitMaxRegisters);
    return value ? unsigned(reinterpret_cast<uintptr_t>(*value)) : 0;
  }

  void writeInfo(llvm::StringRef text) { write(text, ""); }
  /// Of text that is no PTX, an H100's driver counts the NUL of a log that is cut.
  void writeError(llvm::StringRef text, Result why) {
    write("", text, /*countsEnd=*/why == kInvalidPtx);
  }

  /// CU_JIT_WALL_TIME: a float, in the value itself.
  void writeTime(float milliseconds) {
    if (void **value = find(kJitWallTime))
      memcpy(value, &milliseconds, sizeof(milliseconds));
  }

  /// Who writes several times keeps how large the logs are: the values then hold what was written.
  void keepCapacities() {
    infoCapacity = capacityOf(kJitInfoLogBufferSizeBytes);
    errorCapacity = capacityOf(kJitErrorLogBufferSizeBytes);
  }

  std::optional<size_t> infoCapacity = std::nullopt, errorCapacity = std::nullopt;

private:
  bool isValid(int option, uintptr_t value) {
    switch (option) {
    case kJitMaxRegisters:
      return unsigned(value) != 0;
    case kJitCacheMode:
      return unsigned(value) < 3;
    case kJitInfoLogBuffer:
      return value && find(kJitInfoLogBufferSizeBytes);
    case kJitInfoLogBufferSizeBytes:
      return find(kJitInfoLogBuffer);
    case kJitErrorLogBuffer:
      return value && find(kJitErrorLogBufferSizeBytes);
    case kJitErrorLogBufferSizeBytes:
      return find(kJitErrorLogBuffer);
    default: // values that are hints, or about NVIDIA's code
      return option >= 0 && option < kJitOptionCount;
    }
  }

  void **find(int option) {
    for (unsigned i = 0; options && values && i < count; ++i)
      if (options[i] == option)
        return &values[i];
    return nullptr;
  }

  size_t capacityOf(int sizeOption) {
    void **size = find(sizeOption);
    return size ? unsigned(reinterpret_cast<uintptr_t>(*size)) : 0;
  }

  void write(llvm::StringRef information, llvm::StringRef error, bool countsEnd = false) {
    write(kJitInfoLogBuffer, kJitInfoLogBufferSizeBytes, infoCapacity, information, false);
    write(kJitErrorLogBuffer, kJitErrorLogBufferSizeBytes, errorCapacity, error, countsEnd);
  }

  /// The size option holds the buffer's size, and afterwards what was written, in the pointer
  /// itself without the NUL. Nothing is written to a buffer of no bytes.
  void write(int bufferOption, int sizeOption, std::optional<size_t> kept, llvm::StringRef text,
             bool countsEnd) {
    void **buffer = find(bufferOption), **size = find(sizeOption);
    if (!buffer || !size || !*buffer)
      return;
    const size_t capacity = kept.value_or(capacityOf(sizeOption));
    if (!capacity)
      return;
    size_t n = std::min(text.size(), capacity - 1);
    memcpy(*buffer, text.data(), n);
    static_cast<char *>(*buffer)[n] = 0;
    *size = reinterpret_cast<void *>(n && n < text.size() && countsEnd ? capacity : n);
  }
};

} // namespace rubia::runtime::cuda
