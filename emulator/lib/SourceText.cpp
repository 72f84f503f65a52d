#include "emulator/lib/SourceText.h"

using namespace llvm;

namespace rubia::emulator {

StringRef SourceText::line(StringRef name, unsigned number) {
  auto [found, fresh] = files.try_emplace(name);
  File &file = found->second;
  if (fresh)
    if (auto buffer = MemoryBuffer::getFile(name)) {
      file.buffer = std::move(*buffer);
      file.buffer->getBuffer().split(file.lines, '\n');
    }
  return number >= 1 && number <= file.lines.size() ? file.lines[number - 1].trim() : "";
}

} // namespace rubia::emulator
