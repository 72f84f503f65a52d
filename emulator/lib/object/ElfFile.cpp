// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/object/ElfFile.h"
#include "emulator/CodeObjectInfo.h"
#include "emulator/lib/machine/Bounds.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace llvm::object;

namespace rubia::emulator {

Error malformed(const Twine &what) { return createStringError("malformed code object: " + what); }

static bool isElf64(ArrayRef<uint8_t> bytes) {
  return bytes.size() >= sizeof(ELF::Elf64_Ehdr) && toStringRef(bytes).starts_with(ELF::ElfMagic) &&
         bytes[ELF::EI_CLASS] == ELF::ELFCLASS64 && bytes[ELF::EI_DATA] == ELF::ELFDATA2LSB;
}

static unsigned machineOf(ArrayRef<uint8_t> bytes) { return bytes[18] | bytes[19] << 8; }

bool isCodeObject(ArrayRef<uint8_t> bytes) {
  return isElf64(bytes) && machineOf(bytes) == ELF::EM_AMDGPU;
}

namespace {

/// Adds up the parts of a file.
class Extent {
public:
  explicit Extent(ArrayRef<uint8_t> bytes) : bytes(bytes) {}

  Error add(uint64_t offset, uint64_t size, const Twine &what) {
    if (!fits(offset, size, bytes.size()))
      return malformed(what + " lies outside of the file (" + Twine(size) + " bytes at " +
                       Twine(offset) + ", the file has " + Twine(bytes.size()) + ")");
    end = std::max(end, offset + size);
    return Error::success();
  }
  /// The same for parts of a kind that does not overlap: `sum` is what they have in all.
  Error add(uint64_t offset, uint64_t size, const Twine &what, uint64_t &sum) {
    if (Error error = add(offset, size, what))
      return error;
    sum += size; // below 2^64: at most 2^32 parts of a file that is in memory
    return sum <= bytes.size() ? Error::success() : malformed(what + " overlaps others");
  }
  /// Entry i of a table that is known to lie in the file.
  template <class T> T entry(uint64_t offset, uint64_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + offset + i * sizeof(T), sizeof(T));
    return value;
  }
  uint64_t end = 0;

private:
  ArrayRef<uint8_t> bytes;
};

Error addSegments(Extent &extent, const ELF::Elf64_Ehdr &header) {
  if (header.e_phnum == 0)
    return Error::success();
  if (header.e_phentsize != sizeof(ELF::Elf64_Phdr))
    return malformed("program headers of " + Twine(header.e_phentsize) + " bytes");
  if (Error error = extent.add(header.e_phoff, uint64_t(header.e_phnum) * sizeof(ELF::Elf64_Phdr),
                               "the program header table"))
    return error;
  uint64_t loaded = 0, notes = 0, others;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto segment = extent.entry<ELF::Elf64_Phdr>(header.e_phoff, i);
    uint64_t &sum = segment.p_type == ELF::PT_LOAD   ? loaded
                    : segment.p_type == ELF::PT_NOTE ? notes
                                                     : (others = 0);
    if (Error error =
            extent.add(segment.p_offset, segment.p_filesz, "program header " + Twine(i), sum))
      return error;
  }
  return Error::success();
}

Error addSections(Extent &extent, const ELF::Elf64_Ehdr &header) {
  if (header.e_shoff == 0)
    return Error::success();
  if (header.e_shentsize != sizeof(ELF::Elf64_Shdr))
    return malformed("section headers of " + Twine(header.e_shentsize) + " bytes");
  if (Error error = extent.add(header.e_shoff, sizeof(ELF::Elf64_Shdr), "the section header table"))
    return error;
  uint64_t count = header.e_shnum;
  if (count == 0) // too many for 16 bits
    count = extent.entry<ELF::Elf64_Shdr>(header.e_shoff, 0).sh_size;
  if (count > UINT32_MAX)
    return malformed(Twine(count) + " sections");
  if (Error error =
          extent.add(header.e_shoff, count * sizeof(ELF::Elf64_Shdr), "the section header table"))
    return error;
  uint64_t sum = 0;
  for (uint64_t i = 1; i < count; ++i) {
    const auto section = extent.entry<ELF::Elf64_Shdr>(header.e_shoff, i);
    if (section.sh_type == ELF::SHT_NOBITS || section.sh_type == ELF::SHT_NULL)
      continue;
    if (Error error = extent.add(section.sh_offset, section.sh_size, "section " + Twine(i), sum))
      return error;
  }
  return Error::success();
}

/// The processor of e_flags (AMDGPUUsage "Header"); empty for numbers that stand for none, which
/// LLVM takes for impossible.
StringRef cpuOf(const ELFObjectFile<Elf> &object) {
  const unsigned number = object.getELFFile().getHeader().e_flags & ELF::EF_AMDGPU_MACH;
  switch (number) {
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X27:
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X40:
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X4B:
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X4D:
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X50:
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X56:
  case ELF::EF_AMDGPU_MACH_AMDGCN_RESERVED_0X57:
    return "";
  }
  const bool unused =
      number > ELF::EF_AMDGPU_MACH_AMDGCN_GFX1251 && number < ELF::EF_AMDGPU_MACH_AMDGCN_LAST;
  if (unused || number < ELF::EF_AMDGPU_MACH_AMDGCN_FIRST ||
      number > ELF::EF_AMDGPU_MACH_AMDGCN_LAST)
    return "";
  return object.tryGetCPUName().value_or("");
}

} // namespace

Expected<uint64_t> sizeOfCodeObject(ArrayRef<uint8_t> bytes) {
  if (!isElf64(bytes))
    return createStringError("not a 64-bit little-endian ELF file");
  if (!isCodeObject(bytes))
    return createStringError("not an AMDGPU code object: ELF machine " + Twine(machineOf(bytes)));
  Extent extent(bytes);
  const auto header = extent.entry<ELF::Elf64_Ehdr>(0, 0);
  if (Error error = extent.add(0, sizeof(header), "the ELF header"))
    return std::move(error);
  if (Error error = addSegments(extent, header))
    return std::move(error);
  if (Error error = addSections(extent, header))
    return std::move(error);
  return extent.end;
}

Expected<ElfFile> openCodeObject(ArrayRef<uint8_t> bytes) {
  if (Expected<uint64_t> size = sizeOfCodeObject(bytes); !size)
    return size.takeError();
  ElfFile result;
  MemoryBufferRef buffer(toStringRef(bytes), "code object");
  if (uint64_t(bytes.data()) % 16 != 0) { // LLVM reads ELF structures in place
    result.aligned =
        MemoryBuffer::getMemBufferCopy(buffer.getBuffer(), buffer.getBufferIdentifier());
    buffer = result.aligned->getMemBufferRef();
  }
  Expected<ELFObjectFile<Elf>> object = ELFObjectFile<Elf>::create(buffer);
  if (!object)
    return object.takeError();
  result.object = std::make_unique<ELFObjectFile<Elf>>(std::move(*object));
  const auto &header = result.file().getHeader();
  if (header.e_ident[ELF::EI_OSABI] != ELF::ELFOSABI_AMDGPU_HSA)
    return createStringError("not an HSA code object: OS ABI " +
                             Twine(unsigned(header.e_ident[ELF::EI_OSABI])));
  const unsigned version = header.e_ident[ELF::EI_ABIVERSION];
  if (version < ELF::ELFABIVERSION_AMDGPU_HSA_V4 || version > ELF::ELFABIVERSION_AMDGPU_HSA_V6)
    return createStringError("code object version is not 4, 5 or 6 (ELF ABI version " +
                             Twine(version) + ")");
  result.version = version - ELF::ELFABIVERSION_AMDGPU_HSA_V4 + 4;
  if (header.e_type != ELF::ET_DYN && header.e_type != ELF::ET_REL)
    return createStringError("neither a linked nor a relocatable file (ELF type " +
                             Twine(unsigned(header.e_type)) + ")");
  result.linked = header.e_type == ELF::ET_DYN;
  result.cpu = cpuOf(*result.object).str();
  return result;
}

} // namespace rubia::emulator
