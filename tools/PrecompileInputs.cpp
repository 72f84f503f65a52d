// SPDX-License-Identifier: Apache-2.0
#include "tools/PrecompileInputs.h"
#include "tools/PrecompileArchive.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <algorithm>

using namespace llvm;

namespace rubia::tools {

static constexpr unsigned kMaxArchiveDepth = 4;

void PrecompileInputs::problem(const Twine &place, const Twine &reason) {
  problemList.push_back({place.str(), reason.str()});
}

void PrecompileInputs::addPath(const std::string &path) {
  sys::fs::file_status status;
  if (std::error_code error = sys::fs::status(path, status))
    return problem(path, error.message());
  if (sys::fs::is_directory(status))
    return addDirectory(path);
  addFile(path, Asked::ByName);
}

// Links to files are followed, links to directories are not: they may lead in circles.
void PrecompileInputs::addDirectory(const std::string &path) {
  std::vector<std::string> entries;
  std::error_code error;
  for (sys::fs::directory_iterator at(path, error, /*follow_symlinks=*/false), end;
       !error && at != end; at.increment(error))
    entries.push_back(at->path());
  if (error)
    problem(path, error.message());
  llvm::sort(entries);
  for (const std::string &entry : entries) {
    sys::fs::file_status own, target;
    if (sys::fs::status(entry, own, /*follow=*/false) || sys::fs::status(entry, target))
      continue; // a dangling link
    if (sys::fs::is_directory(own))
      addDirectory(entry);
    else if (sys::fs::is_regular_file(target))
      addFile(entry, Asked::NotByName);
  }
}

void PrecompileInputs::addFile(const std::string &path, Asked asked) {
  auto buffer = fatbin::openFile(path);
  if (!buffer)
    return problem(path, toString(buffer.takeError()));
  addBuffer(std::move(*buffer), path, asked, 0);
}

void PrecompileInputs::addBuffer(std::unique_ptr<MemoryBuffer> buffer, StringRef name, Asked asked,
                                 unsigned depth) {
  ++filesSeen;
  if (startsLikeArchive(buffer->getBuffer().take_front(512)))
    return addArchive(std::move(buffer), asked, depth);
  if (asked == Asked::NotByName && !startsLikeCudaCode(buffer->getBuffer().take_front(4096), name))
    return;
  std::string place = buffer->getBufferIdentifier().str();
  Expected<SourceFile> file = sourcesOf(fatbin::readBuffer(std::move(buffer)));
  if (file)
    return addSources(std::move(*file), name);
  std::string reason = toString(file.takeError());
  // A damaged container counts wherever it is; that a program has no CUDA code does not.
  if (asked == Asked::ByName || !StringRef(reason).contains(": no CUDA code: "))
    problem(place, reason);
}

void PrecompileInputs::addArchive(std::unique_ptr<MemoryBuffer> buffer, Asked asked,
                                  unsigned depth) {
  std::string place = buffer->getBufferIdentifier().str();
  if (depth == kMaxArchiveDepth)
    return problem(place, "archives are nested more than " + Twine(kMaxArchiveDepth) + " deep");
  const size_t before = imageList.size();
  unsigned members = 0;
  Error error = readArchive(*buffer, [&](StringRef name, std::unique_ptr<MemoryBuffer> member) {
    ++members;
    addBuffer(std::move(member), name, Asked::NotByName, depth + 1);
  });
  std::string reason = toString(std::move(error));
  // What is merely compressed begins like a compressed archive.
  if (!reason.empty() && (asked == Asked::ByName || members))
    problem(place, reason);
  else if (asked == Asked::ByName && imageList.size() == before && reason.empty() && !members)
    problem(place, "no CUDA code: no fatbin, cubin or PTX in it");
}

void PrecompileInputs::addSources(SourceFile file, StringRef name) {
  kept.push_back(std::move(file));
  const SourceFile &source = kept.back();
  for (const std::string &text : source.file.problems)
    problem(source.file.name(), text);
  const unsigned told = capability ? *capability : capabilityOf(source, name, forPrograms);
  for (const Source &s : source.sources) {
    if (!s.hasPtx()) { // what nvcc writes beside kernels is no loss
      if (s.hasKernels())
        problem(s.place, s.whyNoPtx());
      else
        ++imagesWithoutKernels;
      continue;
    }
    const runtime::ModuleImage raw = runtime::ModuleImage::view(s.bytes, told);
    auto [place, isNew] = known.try_emplace({raw.digest, told}, imageList.size());
    if (isNew)
      imageList.push_back({s.place, raw, 1});
    else
      ++imageList[place->second].places;
  }
}

} // namespace rubia::tools
