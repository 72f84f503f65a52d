// SPDX-License-Identifier: Apache-2.0
// PATHs of `rubia precompile` -> the images that programs would load, each once. Directories are
// walked and archives are opened (inspect/InputFiles.h); files without CUDA code are passed over.
#pragma once

#include "runtime/compiler/Compiler.h"
#include "tools/Sources.h"
#include "tools/inspect/InputFiles.h"
#include "tools/record/KernelRecord.h"
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rubia::tools {

struct PrecompileImage {
  std::string place; // where it was found first
  runtime::ModuleImage raw;
  unsigned places = 1;
  bool isWhole = true; // all of its kernels are wanted, for the code that the user has chosen
  /// Kernels of a record, each for the code that the program had.
  std::vector<RecordedKernels> recorded = {};
};

/// Something that was asked for and could not be read.
struct InputProblem {
  std::string place, reason;
};

class PrecompileInputs {
public:
  /// `capability`: of all images. Else what a program (RUBIA_COMPUTE_CAPABILITY), or one of
  /// NVIDIA's closed libraries, would be told. Both are parts of the cache key.
  PrecompileInputs(unsigned forPrograms, std::optional<unsigned> capability)
      : forPrograms(forPrograms), capability(capability) {}
  PrecompileInputs(const PrecompileInputs &) = delete;

  /// A path that the user named: anything wrong with it is a problem, also that it holds nothing.
  void addPath(const std::string &path) { walk.addPath(path); }

  /// What `rubia run --record-kernels` has written.
  void addRecord(const std::string &path);

  llvm::ArrayRef<PrecompileImage> images() const { return imageList; }
  llvm::ArrayRef<InputProblem> problems() const { return problemList; }
  unsigned files() const { return walk.seen(); } // archive members included
  bool anyCode() const { return !imageList.empty() || imagesWithoutKernels; }

private:
  void addFile(InputFile file);
  void addSources(SourceFile file, llvm::StringRef name);
  void problem(const llvm::Twine &place, const llvm::Twine &reason);

  unsigned forPrograms;
  std::optional<unsigned> capability;
  std::deque<SourceFile> kept; // what the images point into
  std::map<std::pair<runtime::Digest, unsigned>, size_t> known;
  std::vector<PrecompileImage> imageList;
  std::vector<InputProblem> problemList;
  unsigned imagesWithoutKernels = 0;
  InputFiles walk{
      [this](InputFile file) { addFile(std::move(file)); },
      [this](const std::string &place, const std::string &reason) { problem(place, reason); }};
};

} // namespace rubia::tools
