// SPDX-License-Identifier: Apache-2.0
#include "standins/lib/Units.h"
#include "fatbin/Container.h"
#include "fatbin/Embedded.h"
#include "ptx-frontend/RegisterLimit.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rubia::standins {

static Error readImage(ArrayRef<uint8_t> bytes, StringRef name, unsigned capability, bool isLibrary,
                       std::vector<ptx::LinkInput> &units) {
  Expected<std::vector<fatbin::Image>> images = fatbin::readImages(bytes);
  if (!images)
    return images.takeError();
  const fatbin::Image *chosen = fatbin::selectPtx(*images, capability);
  if (!chosen)
    return createStringError(inconvertibleErrorCode(), fatbin::describe(*images));
  Expected<std::string> text = fatbin::payload(*chosen);
  if (!text)
    return text.takeError();
  units.push_back({name.str(),
                   ptx::limitRegisters(std::move(*text), ptx::registerLimitOf(chosen->options)),
                   isLibrary});
  return Error::success();
}

Error readUnits(StringRef bytes, StringRef name, unsigned capability,
                std::vector<ptx::LinkInput> &units) {
  const bool isLibrary = bytes.starts_with("!<arch>\n");
  const ArrayRef<uint8_t> raw = arrayRefFromStringRef(bytes);
  constexpr size_t kMachine = 18;
  constexpr uint8_t kCuda = 190;
  const bool isOfTheHost = bytes.size() > kMachine &&
                           bytes.starts_with("\x7f"
                                             "ELF") &&
                           uint8_t(bytes[kMachine]) != kCuda;
  if (!isLibrary && !isOfTheHost)
    return readImage(raw, name, capability, false, units);
  for (ArrayRef<uint8_t> container : fatbin::embeddedContainers(raw)) {
    Expected<std::vector<fatbin::Image>> images = fatbin::readImages(container);
    if (images && images->empty()) // what nvcc writes beside the kernels
      continue;
    consumeError(images.takeError()); // readImage() tells
    if (Error error = readImage(container, name, capability, isLibrary, units))
      return error;
  }
  return Error::success();
}

} // namespace rubia::standins
