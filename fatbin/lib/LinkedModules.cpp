// SPDX-License-Identifier: Apache-2.0
// Programs register device code by wrappers, which stand back to back in .nvFatBinSegment. With
// -rdc=true the device linker adds one of version 2. It points to the container that was linked,
// and to a list of translation units, which start-up code fills: so the list cannot be read from
// the file. Its members are the containers of __nv_relfatbin. With several such wrappers in one
// file nobody can tell which containers belong to which.

#include "fatbin/lib/LinkedModules.h"
#include "fatbin/lib/Layout.h"
#include <map>

using namespace llvm;
using object::ELF64LE;
using object::ELF64LEFile;

namespace rubia::fatbin {

// Addresses that the dynamic loader writes, by where it does: R_X86_64_RELATIVE and its kin have no
// symbol. What is in no table stands in the file itself.
static Expected<std::map<uint64_t, uint64_t>> relativeAddresses(const ELF64LEFile &object) {
  std::map<uint64_t, uint64_t> addresses;
  auto sections = object.sections();
  if (!sections)
    return sections.takeError();
  for (const ELF64LE::Shdr &section : *sections) {
    if (section.sh_type != ELF::SHT_RELA || !(section.sh_flags & ELF::SHF_ALLOC))
      continue;
    auto relocations = object.relas(section);
    if (!relocations)
      return relocations.takeError();
    for (const ELF64LE::Rela &relocation : *relocations)
      if (relocation.getSymbol(false) == 0)
        addresses[relocation.r_offset] = relocation.r_addend;
  }
  return addresses;
}

static std::optional<uint64_t> fileOffsetOf(ArrayRef<ELF64LE::Shdr> sections, uint64_t address) {
  for (const ELF64LE::Shdr &section : sections)
    if (section.sh_type != ELF::SHT_NOBITS && section.sh_flags & ELF::SHF_ALLOC &&
        address >= section.sh_addr && address - section.sh_addr < section.sh_size)
      return section.sh_offset + (address - section.sh_addr);
  return std::nullopt;
}

// Where the containers of the wrappers of version 2 lie in the object; 0: not known.
static Expected<std::vector<uint64_t>> linkedContainers(const ELF64LEFile &object,
                                                        ArrayRef<ELF64LE::Shdr> sections) {
  std::vector<uint64_t> result;
  for (const ELF64LE::Shdr &section : sections) {
    Expected<StringRef> name = object.getSectionName(section);
    if (!name)
      return name.takeError();
    if (*name != ".nvFatBinSegment" || section.sh_type == ELF::SHT_NOBITS)
      continue;
    Expected<ArrayRef<uint8_t>> bytes = object.getSectionContents(section);
    if (!bytes)
      return bytes.takeError();
    Expected<std::map<uint64_t, uint64_t>> relocated = relativeAddresses(object);
    if (!relocated)
      return relocated.takeError();
    for (uint64_t at = 0; fits(at, wrapper::kSize, bytes->size()); at += wrapper::kSize) {
      if (readAt<uint32_t>(*bytes, at) != wrapper::kMagic)
        break;
      if (readAt<uint32_t>(*bytes, at + wrapper::kVersion) != 2)
        continue;
      auto written = relocated->find(section.sh_addr + at + wrapper::kData);
      const uint64_t address = written == relocated->end()
                                   ? readAt<uint64_t>(*bytes, at + wrapper::kData)
                                   : written->second;
      result.push_back(fileOffsetOf(sections, address).value_or(0));
    }
  }
  return result;
}

Expected<std::optional<LinkedModule>> readLinkedModule(const ELF64LEFile &object, uint64_t base,
                                                       ArrayRef<FileImage> images) {
  if (object.getHeader().e_type != ELF::ET_EXEC && object.getHeader().e_type != ELF::ET_DYN)
    return std::nullopt; // not linked yet
  auto sections = object.sections();
  if (!sections)
    return sections.takeError();
  Expected<std::vector<uint64_t>> linked = linkedContainers(object, *sections);
  if (!linked)
    return linked.takeError();
  if (linked->size() != 1)
    return std::nullopt;
  LinkedModule module;
  for (const FileImage &image : images) {
    if (image.container == base + linked->front())
      module.linked = image.container;
    else if (image.section == "__nv_relfatbin" &&
             (module.units.empty() || module.units.back() != image.container))
      module.units.push_back(image.container);
    module.member = image.member;
  }
  return module;
}

// STT_FUNC symbols that cubins mark as entries. The bit is that of cuda-gdb's elf_st_other.
Expected<size_t> kernelCount(ArrayRef<uint8_t> cubin) {
  constexpr uint8_t kEntry = 0x10;
  Expected<ELF64LEFile> file = ELF64LEFile::create(asText(cubin));
  if (!file)
    return file.takeError();
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  size_t kernels = 0;
  for (const ELF64LE::Shdr &section : *sections) {
    if (section.sh_type != ELF::SHT_SYMTAB)
      continue;
    auto symbols = file->symbols(&section);
    if (!symbols)
      return symbols.takeError();
    for (const ELF64LE::Sym &symbol : *symbols)
      kernels +=
          symbol.getType() == ELF::STT_FUNC && symbol.isDefined() && symbol.st_other & kEntry;
  }
  return kernels;
}

} // namespace rubia::fatbin
