// SPDX-License-Identifier: Apache-2.0
// A log of every call that the program makes of the driver API: its arguments by name, what it
// wrote behind pointers, its result. A call is a line of JSON (docs/capsule.md).
#pragma once

#include "diff/forward/Containers.h"
#include "diff/forward/Driver.h"
#include <pthread.h>

namespace rubia::forward {

/// The registers and the stack of a call (Trampolines.cpp).
struct CallFrame {
  uint64_t integers[6];
  double floats[8];
  const uint64_t *stack; // its first argument there
  uint64_t number;       // of the call
  uint64_t result;
};
static_assert(offsetof(CallFrame, stack) == 112 && offsetof(CallFrame, result) == 128);

class CallLog {
public:
  /// Of all threads together.
  uint64_t next();
  void add(const DriverFunction &function, const CallFrame &frame);
  /// Moves what was logged since the last time to `to`. False: nothing.
  bool take(Bytes &to);
  bool isLarge(); // it is time to write it down

private:
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  uint64_t calls = 0;
  Bytes lines;
};

/// Words of its arguments on the stack; of one of which the parameters are not known, as many as
/// any may have.
unsigned stackWords(const DriverFunction &function);

} // namespace rubia::forward
