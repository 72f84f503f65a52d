// SPDX-License-Identifier: Apache-2.0
// FILE of the commands -> the PTX in it. One source is what a program would load as one module: a
// container, PTX text, or the translation units of relocatable device code. Which of a program's
// containers belong together, and what it gets of them, is decided as libcuda does it.
#pragma once

#include "fatbin/File.h"
#include "runtime/worker/Pipeline.h"
#include "tools/Commands.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace rubia::tools {

struct Source {
  std::string place; // "app", "lib.a(x.o), section .nv_fatbin, offset 0x40"
  std::vector<const fatbin::FileImage *> images;
  llvm::ArrayRef<uint8_t> bytes; // what a program would hand to the driver
  std::shared_ptr<const std::vector<uint8_t>> bundle =
      nullptr;                                   // that `bytes` are of, if it was made
  std::vector<const fatbin::FileImage *> others; // of the same module, and not taken
  std::string refused;                           // why programs cannot load it; empty: they can

  bool hasPtx() const;
  std::string whyNoPtx() const;
  /// False: it is what nvcc writes beside the kernels, and nothing is lost without it. What cannot
  /// be read counts as kernels.
  bool hasKernels() const;
};

/// How the pieces of a command's work went -> its exit status.
struct Outcome {
  unsigned worked = 0, failed = 0;
  int status() const { return !failed ? kDone : worked ? kPartlyFailed : kFailed; }
};

struct SourceFile {
  fatbin::ImageFile file;
  std::vector<Source> sources;
};

llvm::Expected<SourceFile> openSources(const std::string &path);
/// The same for a file that has been read, or the error of reading it.
llvm::Expected<SourceFile> sourcesOf(llvm::Expected<fatbin::ImageFile> file);

/// What the code in a file is told: `forPrograms`, or what NVIDIA's closed libraries are told.
/// `name` is the file's; what matters is who calls the driver, and that is no static library.
unsigned capabilityOf(const SourceFile &file, llvm::StringRef name, unsigned forPrograms);

/// The PTX of a source that a caller with this compute capability (89 for 8.9) would get.
llvm::Expected<runtime::PtxImage> parse(const Source &source, unsigned computeCapability);

/// RUBIA_COMPUTE_CAPABILITY ("8.9" or "89"), else what programs are told: 89.
llvm::Expected<unsigned> computeCapability();

} // namespace rubia::tools
