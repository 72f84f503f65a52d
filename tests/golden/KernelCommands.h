// SPDX-License-Identifier: Apache-2.0
// The commands of rubia-golden about kernels: record-kernels, compare-kernels, kernels.
#pragma once

#include <CLI/CLI.hpp>

namespace rubia::golden {

/// `status` gets the exit status of the command that was chosen, when it has run.
void addKernelCommands(CLI::App &app, int &status);

} // namespace rubia::golden
