// SPDX-License-Identifier: Apache-2.0
// What a thread keeps for its next compilation. A process that compiles once would spend a
// twentieth of its instructions on giving it back right before it ends.
#pragma once

#include <unistd.h>

namespace rubia::codegen {

/// A value of a thread, to be `thread_local`. It ends with its thread, but the main thread's stays
/// until the process ends: its destructor must have nothing to do then but to free memory.
template <typename T> class KeptByThread {
public:
  KeptByThread() = default;
  KeptByThread(const KeptByThread &) = delete;
  ~KeptByThread() {
    if (getpid() != gettid())
      delete value;
  }
  T &operator*() { return *value; }

private:
  T *const value = new T;
};

} // namespace rubia::codegen
