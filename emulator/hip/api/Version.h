// SPDX-License-Identifier: Apache-2.0
// HIP 5, 6 and 7 share most of their ABI. This library presents itself as one of them: the one in
// the name by which the program's loader found it (libamdhip64.so.6), or RUBIA_HIP_VERSION.
#pragma once

namespace rubia::emulator::hip {

/// 5, 6 or 7. 5 where nothing says otherwise.
unsigned hipMajorVersion();

/// What hipRuntimeGetVersion answers.
int hipVersionNumber();

} // namespace rubia::emulator::hip
