// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP as the end of a long command, with its report.
#pragma once

#include <functional>

namespace rubia::tools {

/// From now on the first of these signals calls `report` in a thread of its own, and then ends the
/// process, as the signal would have done; a second one ends it at once. Signals that whoever
/// started the process has switched off (nohup) stay so. To be called before other threads are
/// started: they must not be interrupted.
void reportOnSignals(std::function<void(const char *signal)> report);

} // namespace rubia::tools
