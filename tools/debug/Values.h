// SPDX-License-Identifier: Apache-2.0
// Values, places and memory of a launch that stands still, as people read them.
#pragma once

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <optional>
#include <string>

namespace rubia::tools {

/// The number of a string such as "0x1f".
uint64_t numberIn(const llvm::json::Object &object, llvm::StringRef key);
std::string hexadecimal(uint64_t value);
/// "(1,0,0)" of an array of three.
std::string tripleIn(const llvm::json::Object &object, llvm::StringRef key);
/// X[,Y,Z]; none: it is something else.
std::optional<llvm::json::Array> parseTriple(llvm::StringRef word);

/// What a register or a named value holds: by its type, and the bits where these say more.
std::string valueText(const llvm::json::Object &value);
/// What `text` means for a type such as f32, as that many bits; with a type of none of these sizes,
/// for `bits` bits. An error: it is no number of the type.
llvm::Expected<llvm::APInt> parseNumber(llvm::StringRef text, llvm::StringRef type, unsigned bits);

/// "kernel.cu:12" or "pc 0x1f0".
std::string sourceText(const llvm::json::Object &place);
/// "workgroup (0,0,0) thread (5,0,0), wave 0 lane 5".
std::string threadText(const llvm::json::Object &place);

/// Bytes of an element: of u8, s32, f16, b64 and the like. 0: it is no type.
unsigned sizeOfType(llvm::StringRef type);
/// `bytes` as elements of `type`, eight a line, with their addresses.
std::string memoryText(llvm::ArrayRef<uint8_t> bytes, uint64_t address, llvm::StringRef type);

} // namespace rubia::tools
