// SPDX-License-Identifier: Apache-2.0
// Cubins that hold PTX in the place of machine code: what the stand-ins for NVIDIA's tools make
// (docs/standins.md). readImages() and readContainer() give an image of PTX for them.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace rubia::fatbin {

/// The section with the text, which ends with a NUL.
inline constexpr llvm::StringLiteral kPtxSection = ".rubia.ptx";

/// The text in a cubin of known size, without its NUL; nullopt: it has none.
std::optional<llvm::ArrayRef<uint8_t>> ptxInCubin(llvm::ArrayRef<uint8_t> cubin);

} // namespace rubia::fatbin
