// SPDX-License-Identifier: Apache-2.0
// Starts the compile supervisor as a process that the program cannot notice.
#pragma once

#include "runtime/compiler/Protocol.h"
#include "settings/Settings.h"

namespace rubia::runtime {

/// The socket to a new supervisor; it ends when the last copy of the socket is closed. The
/// program's wait(-1) and SIGCHLD never see the process: it is a grandchild of a child that has no
/// exit signal.
llvm::Expected<FileDescriptor> spawnSupervisor(const settings::Settings &settings);

/// The worker program, beside this library or in the tree that it was installed to.
llvm::Expected<std::string> workerPath(const settings::Settings &settings = {});

} // namespace rubia::runtime
