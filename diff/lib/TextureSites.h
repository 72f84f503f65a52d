// SPDX-License-Identifier: Apache-2.0
// Instructions for textures and surfaces, and what a replay puts in front of them. Handles of
// NVIDIA's driver are small numbers: in memory nobody can tell them from others. So memory keeps
// the handles that were recorded, and each instruction looks its own up when it uses one:
//
//   h = %rd1; for each entry: if (entry.was == h) %rd1 = entry.now;
//   tex.2d.v4.f32.f32 {...}, [%rd1, {...}];
//   %rd1 = h;
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <string>

namespace rubia::capsule {

/// A variable of a module that looks something up: the number of entries and the address of the
/// first (8 bytes each). Each entry starts with what is looked up (8 bytes).
inline constexpr size_t kTableBytes = 16;
/// Entries: a handle that was recorded, and the one here.
inline constexpr const char *kHandlesVariable = "rubia_handles";
inline constexpr size_t kHandleEntryBytes = 16;

bool namesTexture(ptx::Operation op);

/// Those that hold the handles that an instruction for textures uses. One whose texture is named in
/// the module has none.
llvm::SmallVector<ptx::RegisterId, 2> handleRegisters(const ptx::Instruction &instruction);

/// PTX that looks for the entry of `key` (a register or a number) in a table. `found` is run on it,
/// with its address in %rubia_entry.
std::string searchCode(llvm::StringRef variable, size_t entryBytes, llvm::StringRef key,
                       llvm::StringRef found);

/// PTX whose instructions for textures look their handles up in kHandlesVariable.
llvm::Expected<std::string> translateHandles(llvm::StringRef ptx, llvm::StringRef kernel);

} // namespace rubia::capsule
