// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/object/Image.h"
#include "emulator/lib/machine/Bounds.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/BinaryFormat/ELF.h"

using namespace llvm;
using namespace llvm::object;

namespace rubia::emulator {

Image::~Image() {
  if (bytes)
    consumeError(memory->free(bytes));
}

Error Image::contains(uint64_t offset, uint64_t length, const Twine &what) const {
  return fits(offset, length, size) ? Error::success()
                                    : malformed(what + " lies outside of the loaded segments");
}

void Image::addEntry(uint64_t address) {
  auto holds = [&](const CodeRange &range) {
    return address >= range.begin && address < range.end;
  };
  auto part = find_if(code, holds);
  if (part == code.end() || any_of(functions, holds) || address % 4 != 0)
    return;
  auto next = find_if(functions, [&](const CodeRange &range) { return range.begin > address; });
  const uint64_t end = next == functions.end() ? part->end : std::min(part->end, next->begin);
  functions.insert(next, {address, end, /*isOpen=*/true});
}

namespace {

constexpr uint64_t kMaxImage = uint64_t(1) << 32;
constexpr uint64_t kMaxAlignment = uint64_t(1) << 21;
constexpr uint64_t kMaxGaps = uint64_t(64) << 20; // between functions, beyond the size of the file
constexpr uint64_t kNotLoaded = ~uint64_t(0);

template <class T> void writeAt(uint8_t *bytes, T value) { std::memcpy(bytes, &value, sizeof(T)); }

bool isOffsetTableRelocation(unsigned type) {
  return type == ELF::R_AMDGPU_GOTPCREL || type == ELF::R_AMDGPU_GOTPCREL32_LO ||
         type == ELF::R_AMDGPU_GOTPCREL32_HI;
}

/// Bytes that a relocation writes.
unsigned relocatedBytes(unsigned type) {
  if (type == ELF::R_AMDGPU_REL16)
    return 2;
  return type == ELF::R_AMDGPU_ABS64 || type == ELF::R_AMDGPU_REL64 ||
                 type == ELF::R_AMDGPU_RELATIVE64
             ? 8
             : 4;
}

class Loader {
public:
  Loader(const ElfFile &elf, Memory &memory, Image &image)
      : file(elf.file()), linked(elf.linked), memory(memory), image(image) {}

  Error load();

private:
  Error allocate(uint64_t size, uint64_t alignment);
  Error copy(uint64_t offset, ArrayRef<uint8_t> contents, bool isCode);
  Error mapSegments();
  Error layOutSections();
  Error mapSections();
  Error readSymbols();
  Error addLinkedSymbol(const Elf::Sym &symbol, StringRef name, bool dynamic);
  Error addUnlinkedSymbol(const Elf::Sym &symbol, StringRef name);
  Error addFunction(uint64_t offset, uint64_t size, StringRef name);
  Error sortFunctions();
  Expected<bool> appliesToImage(const Elf::Shdr &section) const;
  Error relocate();
  Error apply(const Elf::Rela &relocation, uint64_t start, uint64_t size);
  Error write(unsigned type, uint8_t *place, uint64_t symbol, uint64_t addend, uint64_t entry);
  uint64_t base() const { return uint64_t(image.bytes); }

  const ELFFile<Elf> &file;
  const bool linked;
  Memory &memory;
  Image &image;
  Elf::ShdrRange sections;
  std::vector<uint64_t> openFunctions;     // addresses of those that have no size
  std::vector<uint64_t> relocationSymbols; // values by index
  DenseMap<uint32_t, StringRef> undefined; // by index; no error unless something refers to them
  // Not linked: the loader is the linker.
  std::vector<uint64_t> sectionOffsets; // in the image, by section
  uint64_t offsetTable = 0;             // in the image: the next free entry for R_AMDGPU_GOTPCREL*
  DenseMap<uint32_t, uint64_t> offsetTableEntries; // by symbol
};

Error Loader::allocate(uint64_t size, uint64_t alignment) {
  if (size > kMaxImage)
    return malformed("it would take " + Twine(size) + " bytes of memory");
  Expected<void *> bytes = memory.allocateZeroed(size, MemoryKind::Code, alignment);
  if (!bytes)
    return bytes.takeError();
  image.memory = &memory;
  image.bytes = static_cast<uint8_t *>(*bytes);
  image.size = size;
  return Error::success();
}

Error Loader::copy(uint64_t offset, ArrayRef<uint8_t> contents, bool isCode) {
  if (Error error = image.contains(offset, contents.size(), "what the file holds"))
    return error;
  if (contents.empty())
    return Error::success();
  std::memcpy(image.bytes + offset, contents.data(), contents.size());
  if (isCode)
    image.code.push_back({base() + offset, base() + offset + contents.size()});
  return Error::success();
}

Error Loader::mapSegments() {
  auto headers = file.program_headers();
  if (!headers)
    return headers.takeError();
  uint64_t size = 0, alignment = 4096;
  for (const auto &header : *headers)
    if (header.p_type == ELF::PT_LOAD) {
      if (!fits(header.p_vaddr, header.p_memsz, kMaxImage) || header.p_filesz > header.p_memsz)
        return malformed("a segment of " + Twine(uint64_t(header.p_memsz)) + " bytes, " +
                         Twine(uint64_t(header.p_filesz)) + " of them in the file, at " +
                         Twine(uint64_t(header.p_vaddr)));
      size = std::max<uint64_t>(size, header.p_vaddr + header.p_memsz);
      if (isPowerOf2_64(header.p_align) && header.p_align <= kMaxAlignment)
        alignment = std::max<uint64_t>(alignment, header.p_align);
    }
  if (size == 0)
    return malformed("no loadable segment");
  if (Error error = allocate(size, alignment))
    return error;
  for (const auto &header : *headers)
    if (header.p_type == ELF::PT_LOAD) {
      Expected<ArrayRef<uint8_t>> contents = file.getSegmentContents(header);
      if (!contents)
        return contents.takeError();
      if (Error error = copy(header.p_vaddr, *contents, header.p_flags & ELF::PF_X))
        return error;
    }
  return Error::success();
}

/// Gives the sections of a relocatable file their places, code first; behind them is room for a
/// global offset table.
Error Loader::layOutSections() {
  uint64_t size = 0, entries = 0, most = 4096; // alignment
  sectionOffsets.assign(sections.size(), kNotLoaded);
  for (const auto &section : sections) {
    if (section.sh_type != ELF::SHT_RELA)
      continue;
    auto relocations = file.relas(section);
    if (!relocations)
      return relocations.takeError();
    for (const auto &relocation : *relocations)
      entries += isOffsetTableRelocation(relocation.getType(false));
  }
  for (const bool isCode : {true, false})
    for (size_t i = 0; i < sections.size(); ++i) {
      const auto &section = sections[i];
      if (!(section.sh_flags & ELF::SHF_ALLOC) ||
          bool(section.sh_flags & ELF::SHF_EXECINSTR) != isCode)
        continue;
      const uint64_t alignment = std::max<uint64_t>(section.sh_addralign, 1);
      if (!isPowerOf2_64(alignment) || alignment > kMaxAlignment)
        return malformed("section " + Twine(i) + " has an alignment of " + Twine(alignment));
      most = std::max(most, alignment);
      size = alignTo(size, alignment);
      if (!fits(size, section.sh_size, kMaxImage))
        return malformed("section " + Twine(i) + " has " + Twine(uint64_t(section.sh_size)) +
                         " bytes");
      sectionOffsets[i] = size;
      size += section.sh_size;
    }
  if (size == 0)
    return malformed("no loadable section");
  offsetTable = alignTo(size, 8);
  return allocate(offsetTable + entries * 8, most);
}

Error Loader::mapSections() {
  if (Error error = layOutSections())
    return error;
  for (size_t i = 0; i < sections.size(); ++i) {
    const auto &section = sections[i];
    if (sectionOffsets[i] == kNotLoaded || section.sh_type == ELF::SHT_NOBITS)
      continue;
    Expected<ArrayRef<uint8_t>> contents = file.getSectionContents(section);
    if (!contents)
      return contents.takeError();
    if (Error error = copy(sectionOffsets[i], *contents, section.sh_flags & ELF::SHF_EXECINSTR))
      return error;
  }
  return Error::success();
}

/// Only what the file holds is decoded: there a function costs no more than its bytes.
Error Loader::addFunction(uint64_t offset, uint64_t size, StringRef name) {
  if (offset % 4 != 0)
    return malformed("the function " + name + " is not aligned to 4 bytes");
  const uint64_t address = base() + offset;
  if (size == 0) { // as assemblers leave it without .size
    openFunctions.push_back(address);
    return Error::success();
  }
  const bool isCode = any_of(image.code, [&](const CodeRange &range) {
    return address >= range.begin && fits(address - range.begin, size, range.end - range.begin);
  });
  if (!isCode)
    return malformed("the function " + name + " lies outside of the executable segments");
  image.functions.push_back({address, address + size});
  return Error::success();
}

/// In address order, each range once.
Error Loader::sortFunctions() {
  auto &functions = image.functions;
  llvm::sort(functions, [](const CodeRange &a, const CodeRange &b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  functions.erase(
      std::unique(functions.begin(), functions.end(),
                  [](const CodeRange &a, const CodeRange &b) { return b.begin < a.end; }),
      functions.end());
  // From the last one on, so that each ends where the next one begins.
  llvm::sort(openFunctions, std::greater<>());
  for (uint64_t address : openFunctions)
    image.addEntry(address);
  const uint64_t span = functions.empty() ? 0 : functions.back().end - functions.front().begin;
  if (span > file.getBufSize() + kMaxGaps)
    return malformed("its functions are spread over " + Twine(span) + " bytes");
  return Error::success();
}

/// Local functions are in .symtab only; kernels and variables in .dynsym.
Error Loader::addLinkedSymbol(const Elf::Sym &symbol, StringRef name, bool dynamic) {
  const bool defined = symbol.st_shndx != ELF::SHN_UNDEF,
             isNumber = symbol.st_shndx == ELF::SHN_ABS;
  if (symbol.getType() == ELF::STT_FUNC && defined && !isNumber)
    if (Error error = addFunction(symbol.st_value, symbol.st_size, name))
      return error;
  if (!dynamic)
    return Error::success();
  if (!defined) {
    if (!name.empty() && symbol.getBinding() != ELF::STB_WEAK)
      undefined[uint32_t(relocationSymbols.size())] = name;
    relocationSymbols.push_back(0);
    return Error::success();
  }
  if (isNumber) {
    relocationSymbols.push_back(symbol.st_value);
    return Error::success();
  }
  if (Error error = image.contains(symbol.st_value, symbol.st_size, "the symbol " + name))
    return error;
  relocationSymbols.push_back(base() + symbol.st_value);
  if (!name.empty())
    image.symbols[name] = {base() + symbol.st_value, symbol.st_size};
  return Error::success();
}

Error Loader::addUnlinkedSymbol(const Elf::Sym &symbol, StringRef name) {
  relocationSymbols.push_back(0);
  const unsigned section = symbol.st_shndx;
  if (section == ELF::SHN_ABS) {
    relocationSymbols.back() = symbol.st_value;
    return Error::success();
  }
  if (section == ELF::SHN_UNDEF) {
    if (!name.empty() && symbol.getBinding() != ELF::STB_WEAK)
      undefined[uint32_t(relocationSymbols.size() - 1)] = name;
    return Error::success();
  }
  if (section >= sectionOffsets.size())
    return createStringError("the symbol " + name + " is in no section: the file must be linked");
  if (sectionOffsets[section] == kNotLoaded)
    return Error::success();
  if (!fits(symbol.st_value, symbol.st_size, sections[section].sh_size))
    return malformed("the symbol " + name + " lies outside of its section");
  const uint64_t offset = sectionOffsets[section] + symbol.st_value;
  relocationSymbols.back() = base() + offset;
  if (!name.empty())
    image.symbols[name] = {base() + offset, symbol.st_size};
  if (symbol.getType() == ELF::STT_FUNC)
    return addFunction(offset, symbol.st_size, name);
  return Error::success();
}

Error Loader::readSymbols() {
  const unsigned relocationTable = linked ? ELF::SHT_DYNSYM : ELF::SHT_SYMTAB;
  bool found = false;
  for (const auto &section : sections) {
    const bool isRelocationTable = section.sh_type == relocationTable;
    if (!isRelocationTable && !(linked && section.sh_type == ELF::SHT_SYMTAB))
      continue;
    if (isRelocationTable && std::exchange(found, true))
      return malformed("it has two symbol tables");
    auto symbols = file.symbols(&section);
    if (!symbols)
      return symbols.takeError();
    auto names = file.getStringTableForSymtab(section);
    if (!names)
      return names.takeError();
    for (const auto &symbol : *symbols) {
      Expected<StringRef> name = symbol.getName(*names);
      if (!name)
        return name.takeError();
      if (Error error = linked ? addLinkedSymbol(symbol, *name, isRelocationTable)
                               : addUnlinkedSymbol(symbol, *name))
        return error;
    }
  }
  return sortFunctions();
}

/// Whether relocations are for what is loaded: in a relocatable file that of the section that
/// sh_info names.
Expected<bool> Loader::appliesToImage(const Elf::Shdr &section) const {
  if (linked)
    return bool(section.sh_flags & ELF::SHF_ALLOC);
  if (section.sh_info >= sectionOffsets.size())
    return malformed("relocations for section " + Twine(uint32_t(section.sh_info)) +
                     ", which there is not");
  return sectionOffsets[section.sh_info] != kNotLoaded;
}

Error Loader::relocate() {
  for (size_t i = 0; i < sections.size(); ++i) {
    const auto &section = sections[i];
    const unsigned type = section.sh_type;
    const bool isOther = type == ELF::SHT_REL || type == ELF::SHT_RELR || type == ELF::SHT_CREL ||
                         type == ELF::SHT_ANDROID_REL || type == ELF::SHT_ANDROID_RELA ||
                         type == ELF::SHT_ANDROID_RELR;
    if (type != ELF::SHT_RELA && !isOther)
      continue;
    Expected<bool> applies = appliesToImage(section);
    if (!applies)
      return applies.takeError();
    if (!*applies)
      continue;
    if (isOther)
      return createStringError("section " + Twine(i) +
                               ": relocations other than SHT_RELA are not supported (type " +
                               Twine(type) + ")");
    auto relocations = file.relas(section);
    if (!relocations)
      return relocations.takeError();
    const uint64_t start = linked ? 0 : sectionOffsets[section.sh_info],
                   size = linked ? image.size : uint64_t(sections[section.sh_info].sh_size);
    for (const auto &relocation : *relocations)
      if (Error error = apply(relocation, start, size))
        return createStringError("section " + Twine(i) + ": relocation " +
                                 Twine(&relocation - relocations->begin()) + ": " +
                                 toString(std::move(error)));
  }
  return Error::success();
}

/// In the `size` bytes from `start` on, which r_offset counts from.
Error Loader::apply(const Elf::Rela &relocation, uint64_t start, uint64_t size) {
  const unsigned type = relocation.getType(false), symbolIndex = relocation.getSymbol(false);
  if (symbolIndex >= relocationSymbols.size() && symbolIndex != 0)
    return malformed("there is no symbol " + Twine(symbolIndex));
  const uint64_t symbol = symbolIndex == 0 ? 0 : relocationSymbols[symbolIndex];
  if (type == ELF::R_AMDGPU_NONE)
    return Error::success();
  if (auto missing = undefined.find(symbolIndex); missing != undefined.end())
    return createStringError("undefined symbol " + missing->second +
                             (linked ? "" : ": the file must be linked"));
  if (!fits(relocation.r_offset, relocatedBytes(type), size))
    return malformed("it lies outside of what is loaded");
  const uint64_t addend = uint64_t(int64_t(relocation.r_addend));
  uint8_t *place = image.bytes + start + relocation.r_offset;
  uint64_t entry = 0;
  if (isOffsetTableRelocation(type)) {
    if (linked)
      return createStringError("unsupported relocation type " + Twine(type));
    uint64_t &known = offsetTableEntries[symbolIndex];
    if (!known) {
      known = base() + offsetTable;
      writeAt<uint64_t>(image.bytes + offsetTable, symbol);
      offsetTable += 8;
    }
    entry = known + addend - uint64_t(place);
  }
  return write(type, place, symbol, addend, entry);
}

/// AMDGPUUsage "Relocation Records". Calculations are modulo 2^64.
Error Loader::write(unsigned type, uint8_t *place, uint64_t symbol, uint64_t addend,
                    uint64_t entry) {
  const uint64_t value = symbol + addend, difference = value - uint64_t(place);
  const auto distance = int64_t(difference);
  auto tooFar = [] { return createStringError("the value does not fit into the relocated word"); };
  switch (type) {
  case ELF::R_AMDGPU_RELATIVE64:
    writeAt<uint64_t>(place, base() + addend);
    return Error::success();
  case ELF::R_AMDGPU_ABS64:
    writeAt<uint64_t>(place, value);
    return Error::success();
  case ELF::R_AMDGPU_REL64:
    writeAt<uint64_t>(place, difference);
    return Error::success();
  case ELF::R_AMDGPU_ABS32:
    if (!isUInt<32>(value) && !isInt<32>(int64_t(value)))
      return tooFar();
    [[fallthrough]];
  case ELF::R_AMDGPU_ABS32_LO:
    writeAt<uint32_t>(place, uint32_t(value));
    return Error::success();
  case ELF::R_AMDGPU_ABS32_HI:
    writeAt<uint32_t>(place, uint32_t(value >> 32));
    return Error::success();
  case ELF::R_AMDGPU_REL32:
    if (!isInt<32>(distance))
      return tooFar();
    [[fallthrough]];
  case ELF::R_AMDGPU_REL32_LO:
    writeAt<uint32_t>(place, uint32_t(difference));
    return Error::success();
  case ELF::R_AMDGPU_REL32_HI:
    writeAt<uint32_t>(place, uint32_t(difference >> 32));
    return Error::success();
  case ELF::R_AMDGPU_REL16: { // of a branch, in dwords from the next instruction on
    const int64_t dwords = (distance - 4) / 4;
    if (distance % 4 != 0 || !isInt<16>(dwords))
      return tooFar();
    writeAt<uint16_t>(place, uint16_t(dwords));
    return Error::success();
  }
  case ELF::R_AMDGPU_GOTPCREL:
    if (!isInt<32>(int64_t(entry)))
      return tooFar();
    [[fallthrough]];
  case ELF::R_AMDGPU_GOTPCREL32_LO:
    writeAt<uint32_t>(place, uint32_t(entry));
    return Error::success();
  case ELF::R_AMDGPU_GOTPCREL32_HI:
    writeAt<uint32_t>(place, uint32_t(entry >> 32));
    return Error::success();
  }
  return createStringError("unsupported relocation type " + Twine(type));
}

Error Loader::load() {
  auto all = file.sections();
  if (!all)
    return all.takeError();
  sections = *all;
  if (Error error = linked ? mapSegments() : mapSections())
    return error;
  if (Error error = readSymbols())
    return error;
  return relocate();
}

} // namespace

Error loadImage(const ElfFile &elf, Memory &memory, Image &image) {
  return Loader(elf, memory, image).load();
}

} // namespace rubia::emulator
