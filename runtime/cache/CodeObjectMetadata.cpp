// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/CodeObjectMetadata.h"
#include "input/BoundedJson.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>
#include <elf.h>

using namespace llvm;

namespace rubia::runtime {

static Error malformed(const Twine &what) {
  return createStringError(inconvertibleErrorCode(), "malformed code object: " + what);
}

// The bytes of a section; every offset is checked against the file.
static Expected<StringRef> section(ArrayRef<uint8_t> file, StringRef wanted) {
  auto at = [&](uint64_t offset, uint64_t size) {
    return offset <= file.size() && size <= file.size() - offset;
  };
  Elf64_Ehdr header;
  if (!at(0, sizeof(header)))
    return malformed("too short");
  memcpy(&header, file.data(), sizeof(header));
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(Elf64_Shdr) ||
      header.e_shnum == 0 || !at(header.e_shoff, uint64_t(header.e_shnum) * sizeof(Elf64_Shdr)))
    return malformed("no section table");
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  memcpy(sections.data(), file.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  if (header.e_shstrndx >= sections.size())
    return malformed("no section names");
  const Elf64_Shdr &names = sections[header.e_shstrndx];
  if (!at(names.sh_offset, names.sh_size))
    return malformed("no section names");
  StringRef text(reinterpret_cast<const char *>(file.data()) + names.sh_offset, names.sh_size);
  for (const Elf64_Shdr &s : sections) {
    StringRef name = text.substr(s.sh_name);
    if (name.substr(0, name.find('\0')) != wanted)
      continue;
    if (s.sh_type == SHT_NOBITS || !at(s.sh_offset, s.sh_size))
      return malformed("section " + wanted + " is outside of the file");
    return StringRef(reinterpret_cast<const char *>(file.data()) + s.sh_offset, s.sh_size);
  }
  return malformed("no section " + wanted);
}

static bool readForm(StringRef text, abi::WarpForm &form) {
  if (text == "wave32")
    form = abi::WarpForm::Wave32;
  else if (text == "half-filled")
    form = abi::WarpForm::HalfFilled;
  else if (text == "packed")
    form = abi::WarpForm::Packed;
  else
    return false;
  return true;
}

bool CodeObjectMetadata::isForClusters() const {
  return is_contained(slots, uint32_t(abi::kClusterPoolSlot));
}

const CodeObjectMetadata::Kernel *CodeObjectMetadata::kernel(StringRef name) const {
  for (const Kernel &k : kernels)
    if (k.name == name)
      return &k;
  return nullptr;
}

static bool readNumber(const json::Object &from, StringRef name, uint64_t most, auto &to) {
  const auto value = from.getInteger(name);
  if (!value || *value < 0 || uint64_t(*value) > most)
    return false;
  to = static_cast<std::remove_reference_t<decltype(to)>>(*value);
  return true;
}

static bool readTriple(const json::Object &from, StringRef name, uint32_t (&to)[3]) {
  const json::Array *numbers = from.getArray(name);
  if (!numbers || numbers->size() != std::size(to))
    return false;
  for (auto [value, number] : zip_equal(to, *numbers)) {
    const auto read = number.getAsInteger();
    if (!read || *read < 0 || *read > UINT32_MAX)
      return false;
    value = uint32_t(*read);
  }
  return true;
}

static bool readParameters(const json::Object &from, CodeObjectMetadata::Kernel &kernel) {
  const json::Array *parameters = from.getArray("parameters");
  if (!readNumber(from, "parameterBytes", Manifest::kMaxParameterBytes, kernel.parameterBytes) ||
      !readNumber(from, "staticSharedBytes", INT64_MAX, kernel.staticSharedBytes) ||
      !readTriple(from, "requiredThreads", kernel.requiredThreads) ||
      !readTriple(from, "requiredCluster", kernel.requiredCluster) || !parameters)
    return false;
  for (const json::Value &value : *parameters) {
    const json::Object *parameter = value.getAsObject();
    Manifest::Parameter &read = kernel.parameters.emplace_back();
    if (!parameter || !readNumber(*parameter, "offset", kernel.parameterBytes, read.offset) ||
        !readNumber(*parameter, "size", kernel.parameterBytes - read.offset, read.size) ||
        !readNumber(*parameter, "alignment", UINT32_MAX, read.alignment))
      return false;
  }
  return true;
}

Manifest CodeObjectMetadata::manifest() const {
  Manifest manifest;
  manifest.unitCount = 1;
  for (const Kernel &from : kernels) {
    Manifest::Kernel &kernel = manifest.kernels.emplace_back();
    kernel.name = from.name;
    kernel.parameters = from.parameters;
    kernel.parameterBytes = from.parameterBytes;
    kernel.staticSharedBytes = from.staticSharedBytes;
    memcpy(kernel.requiredThreads, from.requiredThreads, sizeof(kernel.requiredThreads));
    memcpy(kernel.requiredCluster, from.requiredCluster, sizeof(kernel.requiredCluster));
  }
  return manifest;
}

Expected<CodeObjectMetadata> CodeObjectMetadata::read(ArrayRef<uint8_t> codeObject) {
  Expected<StringRef> text = section(codeObject, ".rubia.metadata");
  if (!text)
    return text.takeError();
  Expected<json::Value> root = input::parseBoundedJson(text->rtrim('\0'));
  if (!root)
    return root.takeError();
  const json::Object *object = root->getAsObject();
  if (!object || object->getInteger("abi") != int64_t(abi::kVersion))
    return malformed("made for another version of the ABI");
  CodeObjectMetadata result;
  result.arch = object->getString("arch").value_or("").str();
  result.fastAtomics = object->getBoolean("fastAtomics").value_or(false);
  result.dynamicShared = object->getBoolean("dynamicShared").value_or(false);
  result.functionAddresses = object->getBoolean("functionAddresses").value_or(false);
  result.namesClusters = object->getBoolean("namesClusters").value_or(false);
  result.expectsClusters = object->getBoolean("expectsClusters").value_or(false);
  result.sharedStart = uint64_t(object->getInteger("sharedStart").value_or(0));
  const json::Array *kernels = object->getArray("kernels");
  const json::Array *slots = object->getArray("slots");
  const json::Array *traps = object->getArray("traps");
  if (!kernels || !slots || !traps)
    return malformed("incomplete metadata");
  for (const json::Value &value : *kernels) {
    const json::Object *k = value.getAsObject();
    Kernel &kernel = result.kernels.emplace_back();
    if (!k || !k->getString("name") ||
        !readForm(k->getString("warpForm").value_or(""), kernel.warpForm) ||
        !readParameters(*k, kernel))
      return malformed("incomplete metadata of a kernel");
    kernel.name = k->getString("name")->str();
    kernel.warpFormReason = k->getString("warpFormReason").value_or("").str();
    kernel.exactThreads = uint32_t(k->getInteger("exactThreads").value_or(0));
    kernel.mayBeChecked = k->getBoolean("mayBeChecked").value_or(false);
    kernel.maxThreads = k->getInteger("maxThreads").value_or(abi::kMostThreads);
  }
  for (const json::Value &slot : *slots)
    result.slots.push_back(slot.getAsInteger().value_or(0));
  for (const json::Value &trap : *traps)
    result.traps.push_back(trap.getAsString().value_or("").str());
  auto readNotes = [&](StringRef list, std::vector<std::string> &texts) {
    if (const json::Array *notes = object->getArray(list))
      for (const json::Value &note : *notes)
        texts.push_back(note.getAsString().value_or("").str());
  };
  readNotes("partialWarps", result.partialWarps);
  return result;
}

} // namespace rubia::runtime
