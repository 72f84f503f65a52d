// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/machine/SourceText.h"
#include "emulator/Emulator.h"
#include "input/File.h"
#include "input/Printable.h"
#include "settings/Settings.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting emulatorSources;
} // namespace rubia::settings::Id

namespace rubia::emulator {

constexpr uint64_t kMaxSourceBytes = uint64_t(64) << 20;

SourceText::SourceText() {
  const std::string list = hostSettings().text(settings::Id::emulatorSources);
  SmallVector<StringRef> names;
  StringRef(list).split(names, ':', -1, false);
  for (StringRef name : names) {
    SmallString<256> real;
    if (!sys::fs::real_path(name, real))
      folders.push_back((real + (real.ends_with("/") ? "" : "/")).str());
  }
}

// The real path of a file that may be read; links that lead out of the folders count for nothing.
std::string SourceText::find(StringRef name) const {
  auto isBelow = [](StringRef path, StringRef folder) { return path.starts_with(folder); };
  SmallString<256> real;
  if (sys::path::is_absolute(name)) {
    if (!sys::fs::real_path(name, real))
      for (const std::string &folder : folders)
        if (isBelow(real, folder))
          return real.str().str();
    return "";
  }
  for (const std::string &folder : folders)
    if (!sys::fs::real_path(folder + name, real) && isBelow(real, folder))
      return real.str().str();
  return "";
}

ArrayRef<StringRef> SourceText::lines(StringRef name) {
  auto [found, fresh] = files.try_emplace(name);
  if (fresh && !folders.empty())
    if (std::string path = find(name); !path.empty()) {
      if (auto buffer = input::readFile(path, kMaxSourceBytes)) {
        auto file = std::make_unique<File>();
        file->text = input::printable((*buffer)->getBuffer());
        StringRef(file->text).split(file->lines, '\n');
        found->second = std::move(file);
      } else {
        consumeError(buffer.takeError()); // as if it were not there
      }
    }
  return found->second ? ArrayRef<StringRef>(found->second->lines) : ArrayRef<StringRef>();
}

StringRef SourceText::line(StringRef name, unsigned number) {
  const ArrayRef<StringRef> all = lines(name);
  return number >= 1 && number <= all.size() ? all[number - 1].trim() : "";
}

} // namespace rubia::emulator
