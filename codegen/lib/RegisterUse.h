// SPDX-License-Identifier: Apache-2.0
// How many registers functions use, for kernels that call them from another object.
#pragma once

#include <memory>

namespace llvm {
class AsmPrinter;
class AsmPrinterHandler;
} // namespace llvm

namespace rubia::codegen {

/// The most that a function uses of each kind.
struct RegisterUse {
  unsigned vgprs = 0, agprs = 0, sgprs = 0;
  void join(const RegisterUse &other);
};

/// Counts the registers of all functions that are printed into what `use` points to at that time,
/// if anything. `use` outlives the handler.
std::unique_ptr<llvm::AsmPrinterHandler> makeRegisterCount(RegisterUse *const &use);

} // namespace rubia::codegen
