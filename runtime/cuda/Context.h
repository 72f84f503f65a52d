// SPDX-License-Identifier: Apache-2.0
// Making and ending contexts.
#pragma once

#include "runtime/cuda/Driver.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rubia::runtime::cuda {

// CUctx_flags. Schedules exclude each other.
inline constexpr unsigned kScheduleFlags = 7, kMapHost = 8, kResizeToMax = 0x10, kSyncMemops = 0x80,
                          kContextFlags = 0xff;
inline bool isSchedule(unsigned flags) {
  const unsigned schedule = flags & kScheduleFlags;
  return !(schedule & (schedule - 1));
}

Result createContext(Context **out, unsigned flags, int ordinal); // and pushes it
Result destroyContext(Context *context);
Result retainPrimary(Context **out, int ordinal);
Result releasePrimary(int ordinal);
Result resetPrimary(int ordinal);

/// What a program calls the context of a green context. Calls in it are calls in the primary
/// context, which has all that there is; none but the handle is its own.
Context *makeGreenHandle(Context &primary);
void endGreenHandle(Context *handle);
/// The context that a program means by a handle. Null: it is none.
Context *contextNamed(Context *handle);
/// The handle of currentContext().
Context *currentHandle();

/// Nobody adds or ends a context meanwhile.
void forEachContext(llvm::function_ref<void(Context *)> visit);

/// Runs `body` with the device of `owner` as HIP's current one, and goes back to `current`.
Result runIn(Context &owner, Context &current, llvm::function_ref<Result()> body);

} // namespace rubia::runtime::cuda
