// SPDX-License-Identifier: Apache-2.0
// Containers in the bytes of a file that LLVM's Object library would be needed to read.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace rubia::fatbin {

/// The containers in an object file or an archive, in order, as far as their sizes lie within it.
/// Members of archives lie at even places, so all of these are looked at.
std::vector<llvm::ArrayRef<uint8_t>> embeddedContainers(llvm::ArrayRef<uint8_t> bytes);

} // namespace rubia::fatbin
