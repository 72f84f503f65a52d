// SPDX-License-Identifier: Apache-2.0
// Where in a frame a spill lies.
#pragma once

#include "codegen/lib/Disassembler.h"
#include <optional>

namespace rubia::codegen {

struct ScratchAddress {
  std::optional<unsigned> base; ///< a scalar register
  int64_t offset = 0;

  auto operator<=>(const ScratchAddress &) const = default;
};

/// Of an access to scratch memory; none if a vector register is part of the address.
std::optional<ScratchAddress> scratchAddressOf(const Disassembler &disassembler,
                                               const llvm::MCInst &inst);

} // namespace rubia::codegen
