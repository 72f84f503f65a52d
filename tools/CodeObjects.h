// SPDX-License-Identifier: Apache-2.0
// FILE of the commands -> the AMDGPU code objects in it: an ELF file (.co, .hsaco), or an offload
// bundle of clang (compressed or not) with several.
#pragma once

#include "emulator/CodeObjectInfo.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace rubia::tools {

struct CodeObjectImage {
  std::string place; // "a.co", "bundle.hipfb, hipv4-amdgcn-amd-amdhsa--gfx1100"
  llvm::ArrayRef<uint8_t> bytes;
  emulator::CodeObjectInfo info;
};

struct CodeObjectFile {
  std::string description; // "AMDGPU code object", "offload bundle with 2 code objects"
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> buffers; // what the images point into
  std::vector<CodeObjectImage> images;
};

/// Whether the file begins like one; a file that cannot be read does not.
bool holdsCodeObjects(const std::string &path);

bool beginsLikeCodeObject(llvm::StringRef bytes);

/// Errors: as describeCodeObject(), a broken bundle, a bundle without device code.
llvm::Expected<CodeObjectFile> openCodeObjects(const std::string &path);
/// The same for a file that has been read; the buffer's identifier is its name.
llvm::Expected<CodeObjectFile> readCodeObjects(std::unique_ptr<llvm::MemoryBuffer> buffer);

/// The image for a processor ("gfx1100"); the error names those that there are.
llvm::Expected<const CodeObjectImage *> selectImage(const CodeObjectFile &file,
                                                    llvm::StringRef arch);

/// What the metadata of one of Rubia's code objects say that people should know: loops that may
/// need independent thread scheduling, and what may be executed by parts of a warp
/// (docs/synchronization.md). Nothing for the code objects of others.
std::vector<std::string> notesOf(llvm::ArrayRef<uint8_t> codeObject);

} // namespace rubia::tools
