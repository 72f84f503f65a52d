// SPDX-License-Identifier: Apache-2.0
// What the emulator has of the host.
#pragma once

namespace rubia::emulator {

/// How many processors this process may use, at least 1: as many workgroups can run at one time.
unsigned hostProcessors();

} // namespace rubia::emulator
