// SPDX-License-Identifier: Apache-2.0
#include "tools/PrecompileInputs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace rubia::tools {

void PrecompileInputs::problem(const Twine &place, const Twine &reason) {
  problemList.push_back({place.str(), reason.str()});
}

void PrecompileInputs::addFile(InputFile input) {
  const std::string place = input.buffer->getBufferIdentifier().str();
  Expected<SourceFile> file = sourcesOf(fatbin::readBuffer(std::move(input.buffer)));
  if (file)
    return addSources(std::move(*file), input.name);
  std::string reason = toString(file.takeError());
  // A damaged container counts wherever it is; that a program has no CUDA code does not.
  if (input.isNamed || !StringRef(reason).contains(": no CUDA code: "))
    problem(place, reason);
}

void PrecompileInputs::addRecord(const std::string &path) {
  Expected<KernelRecord> record = readKernelRecord(path);
  if (!record)
    return problem(path, toString(record.takeError()));
  for (KernelRecord::Image &recorded : record->images) {
    auto [place, isNew] = known.try_emplace(
        {recorded.image.digest, recorded.image.computeCapability}, imageList.size());
    if (isNew)
      imageList.push_back({path + ": image " + toHex(recorded.image.digest, true),
                           std::move(recorded.image), 1, /*isWhole=*/false});
    append_range(imageList[place->second].recorded, std::move(recorded.kernels));
  }
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
