#include "emulator/lib/SourceLines.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ObjectFile.h"

using namespace llvm;

namespace rubia::emulator {

SourceLines::SourceLines(ArrayRef<uint8_t> elf) : bytes(elf.begin(), elf.end()) {}
SourceLines::~SourceLines() = default;

static std::string placeOf(const DILineInfo &frame) {
  if (!frame || frame.Line == 0)
    return "";
  return frame.FileName + ":" + std::to_string(frame.Line);
}

std::string SourceLines::at(uint64_t pc) const {
  std::lock_guard lock(mutex);
  if (!file) {
    StringRef text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    auto opened = object::ObjectFile::createObjectFile(MemoryBufferRef(text, "code object"));
    if (!opened) { // it has been loaded, so this is about sections that loading does not need
      consumeError(opened.takeError());
      return "";
    }
    file = std::move(*opened);
    auto ignore = [](Error error) { consumeError(std::move(error)); }; // damaged: no lines
    context = DWARFContext::create(*file, DWARFContext::ProcessDebugRelocations::Ignore, nullptr,
                                   "", ignore, ignore);
  }
  constexpr uint64_t kNear = 256; // bytes
  for (uint64_t back = 0; back <= std::min(pc, kNear); back += 4)
    if (std::string place = exactlyAt(pc - back); !place.empty())
      return back ? "near " + place : place;
  return "";
}

std::string SourceLines::exactlyAt(uint64_t pc) const {
  const DIInliningInfo frames =
      context->getInliningInfoForAddress({pc, object::SectionedAddress::UndefSection},
                                         {DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath,
                                          DILineInfoSpecifier::FunctionNameKind::ShortName});
  std::string text;
  for (uint32_t i = 0; i < frames.getNumberOfFrames(); ++i) {
    const DILineInfo &frame = frames.getFrame(i);
    std::string place = placeOf(frame);
    if (place.empty())
      continue;
    if (!text.empty())
      text += ", inlined at ";
    text += place;
    if (i + 1 < frames.getNumberOfFrames() && frame.FunctionName != DILineInfo::BadString)
      text += " in " + frame.FunctionName;
  }
  return text;
}

} // namespace rubia::emulator
