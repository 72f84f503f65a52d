// SPDX-License-Identifier: Apache-2.0
// How many registers functions use, for kernels that call them from another object.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace llvm {
class AsmPrinter;
class AsmPrinterHandler;
} // namespace llvm

namespace rubia::codegen {

/// The most that a function uses of each kind.
struct RegisterUse {
  unsigned vgprs = 0, agprs = 0, sgprs = 0;
  /// If wanted, of the only function that is no kernel: the registers that it leaves changed, and
  /// whether these are all; the bytes of its stack, and whether these have a size and a place of
  /// their own; the alignment of its code.
  bool wantsFunction = false, knowsWritten = false, hasPlainStack = false;
  std::vector<unsigned> written;
  uint64_t stackBytes = 0, alignment = 1;
  void join(const RegisterUse &other);
};

/// Counts the registers of all functions that are printed into what `use` points to at that time,
/// if anything. `use` outlives the handler.
std::unique_ptr<llvm::AsmPrinterHandler> makeRegisterCount(RegisterUse *const &use);

} // namespace rubia::codegen
