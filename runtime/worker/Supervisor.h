// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rubia::runtime {

/// Hands the requests that arrive on `socket` to compile processes until it closes; the exit
/// status.
int runSupervisor(int socket);

} // namespace rubia::runtime
