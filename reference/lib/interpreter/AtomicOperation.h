// SPDX-License-Identifier: Apache-2.0
// What an atomic instruction, a reduction, or an asynchronous one makes of a memory's old value.
#pragma once

#include "reference/lib/interpreter/Decode.h"

namespace rubia::reference::interpreter {

struct AtomicOperation {
  enum class Kind : uint8_t { Exchange, CompareAndSwap, Increment, Decrement, Arithmetic };
  Kind kind = Kind::Arithmetic;
  Reference onGlobal, onShared; // Arithmetic: additions of f32 flush in global memory alone
};
using Wide = unsigned __int128;

/// The new value; `c` counts for compare and swap alone. `keepsDenormals`: of f32, as everywhere
/// but in additions to global memory.
Wide changed(const AtomicOperation &operation, bool keepsDenormals, Wide old, Wide b, Wide c = 0);

/// That of the instruction that is decoded; marks it as unsupported if there is none.
AtomicOperation operationOf(Decoder &decoder);

} // namespace rubia::reference::interpreter
