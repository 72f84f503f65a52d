// FILE of the commands -> the PTX in it. One source is what a program would load as one module: a
// container, or PTX text.
#pragma once

#include "fatbin/File.h"
#include "runtime/worker/Pipeline.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace rubia::tools {

struct Source {
  std::string place; // "app", "lib.a(x.o), section .nv_fatbin, offset 0x40"
  std::vector<const fatbin::FileImage *> images;
  llvm::ArrayRef<uint8_t> bytes; // what a program would hand to the driver
};

struct SourceFile {
  fatbin::ImageFile file;
  std::vector<Source> sources;
};

llvm::Expected<SourceFile> openSources(const std::string &path);
// The same for a file that has been read, or the error of reading it.
llvm::Expected<SourceFile> sourcesOf(llvm::Expected<fatbin::ImageFile> file);

// The PTX of a source that a caller with this compute capability (89 for 8.9) would get.
llvm::Expected<runtime::PtxImage> parse(const Source &source, unsigned computeCapability);

// RUBIA_COMPUTE_CAPABILITY ("8.9" or "89"), else what programs are told: 89.
llvm::Expected<unsigned> computeCapability();

} // namespace rubia::tools
