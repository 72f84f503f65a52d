// SPDX-License-Identifier: Apache-2.0
// PATHs of `rubia precompile` -> the images that programs would load, each once. Directories are
// walked in the order of their names, archives are opened, whatever is in them; files without CUDA
// code are passed over.
#pragma once

#include "runtime/compiler/Compiler.h"
#include "tools/Sources.h"
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class MemoryBuffer;
}

namespace rubia::tools {

struct PrecompileImage {
  std::string place; // where it was found first
  runtime::ModuleImage raw;
  unsigned places = 1;
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

  /// A path that the user named: anything wrong with it is a problem, also that it holds nothing.
  void addPath(const std::string &path);

  llvm::ArrayRef<PrecompileImage> images() const { return imageList; }
  llvm::ArrayRef<InputProblem> problems() const { return problemList; }
  unsigned files() const { return filesSeen; } // archive members included
  bool anyCode() const { return !imageList.empty() || imagesWithoutKernels; }

private:
  /// What to do with a file depends on whether it was named or only met.
  enum class Asked { ByName, NotByName };

  void addDirectory(const std::string &path);
  void addFile(const std::string &path, Asked asked);
  /// `name` is what capability depends on, `place` what people read.
  void addBuffer(std::unique_ptr<llvm::MemoryBuffer> buffer, llvm::StringRef name, Asked asked,
                 unsigned depth);
  void addArchive(std::unique_ptr<llvm::MemoryBuffer> buffer, Asked asked, unsigned depth);
  void addSources(SourceFile file, llvm::StringRef name);
  void problem(const llvm::Twine &place, const llvm::Twine &reason);

  unsigned forPrograms;
  std::optional<unsigned> capability;
  std::deque<SourceFile> kept; // what the images point into
  std::map<std::pair<runtime::Digest, unsigned>, size_t> known;
  std::vector<PrecompileImage> imageList;
  std::vector<InputProblem> problemList;
  unsigned filesSeen = 0, imagesWithoutKernels = 0;
};

} // namespace rubia::tools
