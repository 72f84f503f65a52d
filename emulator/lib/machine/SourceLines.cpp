// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/machine/SourceLines.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ObjectFile.h"

using namespace llvm;

namespace rubia::emulator {

SourceLines::SourceLines(ArrayRef<uint8_t> elf) : bytes(elf.begin(), elf.end()) {}
SourceLines::~SourceLines() = default;

std::string SourceLines::at(uint64_t pc) const {
  uint64_t back = 0;
  const std::vector<SourceFrame> found = framesNear(pc, back);
  std::string text;
  for (const SourceFrame &frame : found) {
    if (!text.empty())
      text += ", inlined at ";
    text += frame.file + ":" + std::to_string(frame.line);
    if (&frame != &found.back() && !frame.function.empty())
      text += " in " + frame.function;
  }
  return back && !text.empty() ? "near " + text : text;
}

std::vector<SourceFrame> SourceLines::frames(uint64_t pc) const {
  uint64_t back = 0;
  return framesNear(pc, back);
}

/// Under the lock. False: the file cannot be read.
bool SourceLines::open() const {
  if (file)
    return true;
  StringRef text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  auto opened = object::ObjectFile::createObjectFile(MemoryBufferRef(text, "code object"));
  if (!opened) { // it has been loaded, so this is about sections that loading does not need
    consumeError(opened.takeError());
    return false;
  }
  file = std::move(*opened);
  auto ignore = [](Error error) { consumeError(std::move(error)); }; // damaged: no lines
  context = DWARFContext::create(*file, DWARFContext::ProcessDebugRelocations::Ignore, nullptr, "",
                                 ignore, ignore);
  return true;
}

void SourceLines::inspect(function_ref<void(DWARFContext &)> use) const {
  std::lock_guard lock(mutex);
  if (open())
    use(*context);
}

std::vector<SourceFrame> SourceLines::framesNear(uint64_t pc, uint64_t &back) const {
  std::lock_guard lock(mutex);
  if (!open())
    return {};
  constexpr uint64_t kNear = 256; // bytes
  for (back = 0; back <= std::min(pc, kNear); back += 4)
    if (std::vector<SourceFrame> found = framesAt(pc - back); !found.empty())
      return found;
  return {};
}

std::vector<SourceFrame> SourceLines::framesAt(uint64_t pc) const {
  const DIInliningInfo inlining =
      context->getInliningInfoForAddress({pc, object::SectionedAddress::UndefSection},
                                         {DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath,
                                          DILineInfoSpecifier::FunctionNameKind::ShortName});
  std::vector<SourceFrame> found;
  for (uint32_t i = 0; i < inlining.getNumberOfFrames(); ++i) {
    const DILineInfo &frame = inlining.getFrame(i);
    if (!frame || frame.Line == 0)
      continue;
    const bool named = frame.FunctionName != DILineInfo::BadString;
    found.push_back({frame.FileName, named ? frame.FunctionName : "", frame.Line});
  }
  return found;
}

} // namespace rubia::emulator
