// SPDX-License-Identifier: Apache-2.0
// What the linker calls a function of LLVM's that one of here is called in the place of (`--wrap`).
#pragma once

/// LLVM's own.
#define RUBIA_REAL(name) RUBIA_JOINED(__real_, name)
/// The one that is called in its place.
#define RUBIA_WRAP(name) RUBIA_JOINED(__wrap_, name)
#define RUBIA_JOINED(prefix, name) RUBIA_JOINED_AS_IS(prefix, name)
#define RUBIA_JOINED_AS_IS(prefix, name) prefix##name
