// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/InputFiles.h"
#include "fatbin/File.h"
#include "tools/PrecompileArchive.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace rubia::tools {

static constexpr unsigned kMaxArchiveDepth = 4;

void InputFiles::addPath(const std::string &path) {
  sys::fs::file_status status;
  if (std::error_code error = sys::fs::status(path, status))
    return problem(path, error.message());
  if (sys::fs::is_directory(status))
    return addDirectory(path);
  addFile(path, /*isNamed=*/true);
}

void InputFiles::addBuffer(std::unique_ptr<MemoryBuffer> buffer) {
  const std::string name = buffer->getBufferIdentifier().str();
  addBuffer(std::move(buffer), name, /*isNamed=*/true, 0);
}

// Links to files are followed, links to directories are not: they may lead in circles. A file with
// several names, as libraries have, is taken once, under the first of them.
void InputFiles::addDirectory(const std::string &path) {
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
    else if (sys::fs::is_regular_file(target) && met.insert(target.getUniqueID()).second)
      addFile(entry, /*isNamed=*/false);
  }
}

void InputFiles::addFile(const std::string &path, bool isNamed) {
  auto buffer = fatbin::openFile(path);
  if (!buffer)
    return problem(path, toString(buffer.takeError()));
  addBuffer(std::move(*buffer), path, isNamed, 0);
}

void InputFiles::addBuffer(std::unique_ptr<MemoryBuffer> buffer, StringRef name, bool isNamed,
                           unsigned depth) {
  ++filesSeen;
  if (startsLikeArchive(buffer->getBuffer().take_front(512)))
    return addArchive(std::move(buffer), isNamed, depth);
  if (isNamed || startsLikeCudaCode(buffer->getBuffer().take_front(4096), name))
    take({std::move(buffer), name.str(), isNamed});
}

void InputFiles::addArchive(std::unique_ptr<MemoryBuffer> buffer, bool isNamed, unsigned depth) {
  const std::string place = buffer->getBufferIdentifier().str();
  if (depth == kMaxArchiveDepth)
    return problem(place,
                   "archives are nested more than " + std::to_string(kMaxArchiveDepth) + " deep");
  unsigned members = 0;
  Error error = readArchive(*buffer, [&](StringRef name, std::unique_ptr<MemoryBuffer> member) {
    ++members;
    addBuffer(std::move(member), name, /*isNamed=*/false, depth + 1);
  });
  const std::string reason = toString(std::move(error));
  // What is merely compressed begins like a compressed archive.
  if (!reason.empty() && (isNamed || members))
    problem(place, reason);
  else if (reason.empty() && isNamed && !members)
    problem(place, "no CUDA code: no fatbin, cubin or PTX in it");
}

} // namespace rubia::tools
