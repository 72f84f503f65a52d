// SPDX-License-Identifier: Apache-2.0
// The commands of rubia-golden about kernels: record-kernels, compare-kernels, kernels.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <CLI/CLI.hpp>
#include <memory>

namespace rubia::golden {

struct KernelCase;
struct KernelResult;

/// Runs kernels without a device: runKernelsOnReference.
using RecordedOutputs = llvm::function_ref<const std::vector<std::vector<uint8_t>> &(size_t)>;
using RunWithoutDevice = llvm::Expected<std::string> (*)(
    llvm::ArrayRef<KernelCase> kernels, llvm::function_ref<void(size_t, KernelResult &)> done,
    RecordedOutputs recorded);

/// Whether results that differ from what is recorded are right nevertheless.
class KernelJudge {
public:
  virtual ~KernelJudge() = default;
  /// Empty: right. Else what is wrong, as a line.
  virtual std::string judge(const KernelCase &kernel, llvm::ArrayRef<std::vector<uint8_t>> got,
                            llvm::ArrayRef<std::vector<uint8_t>> expected) = 0;
  /// Of all that was judged, a line.
  virtual std::string summary() const = 0;
};

/// `status` gets the exit status of the command that was chosen, when it has run. `judge`: of
/// compare-kernels --bounds; none without it. `onReference`: of compare-kernels --arch reference.
void addKernelCommands(CLI::App &app, int &status, std::shared_ptr<KernelJudge> judge = nullptr,
                       RunWithoutDevice onReference = nullptr);

} // namespace rubia::golden
