// SPDX-License-Identifier: Apache-2.0
// Which containers of a linked ELF file its code registers together.

#pragma once

#include "fatbin/File.h"
#include "llvm/Object/ELFObjectFile.h"

namespace rubia::fatbin {

/// The module of relocatable device code in `object`, with the containers that were found in it
/// (`images`, of member `member`); `base` is the offset of the object in the file. nullopt: there
/// is none, or it cannot be told which containers belong together. An error if the file is damaged.
llvm::Expected<std::optional<LinkedModule>>
readLinkedModule(const llvm::object::ELF64LEFile &object, uint64_t base,
                 llvm::ArrayRef<FileImage> images);

} // namespace rubia::fatbin
