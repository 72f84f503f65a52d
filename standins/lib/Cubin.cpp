// SPDX-License-Identifier: Apache-2.0
// The file has what others read of a cubin: symbols of kernels and variables, the layout of each
// kernel's parameters in .nv.info.KERNEL. Where code would stand there are no bytes.
#include "standins/Cubin.h"
#include "fatbin/Cubin.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace rubia::standins {

std::string Target::name() const {
  return "sm_" + std::to_string(sm) + (variant ? std::string(1, variant) : "");
}

std::optional<Target> targetNamed(StringRef name) {
  Target target;
  if (name.consume_front("compute_") || name.consume_front("lto_"))
    target.isVirtual = true;
  else if (!name.consume_front("sm_"))
    return std::nullopt;
  static constexpr struct {
    unsigned sm;
    char variant;
  } kTargets[] = {
#define PTX_TARGET(Sm, Variant, Major, Minor) {Sm, Variant},
#include "ptx-frontend/Targets.def"
  };
  if (name.consumeInteger(10, target.sm) || name.size() > 1)
    return std::nullopt;
  target.variant = name.empty() ? 0 : name.front();
  for (const auto &known : kTargets)
    if (known.sm == target.sm && known.variant == target.variant)
      return target;
  return std::nullopt;
}

namespace {

// Types of sections that are CUDA's own.
constexpr uint32_t kCudaInfo = 0x70000000;
// Of a symbol: a kernel, not a function.
constexpr uint8_t kEntry = 0x10;

using Bytes = std::vector<uint8_t>;

template <typename T> void put(Bytes &out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out.push_back(uint8_t(uint64_t(value) >> (8 * i)));
}

/// Names one behind the other, each with its NUL.
struct Strings {
  Bytes bytes = {0};
  uint32_t add(StringRef text) {
    const auto at = uint32_t(bytes.size());
    llvm::append_range(bytes, text);
    bytes.push_back(0);
    return at;
  }
};

struct Section {
  std::string name;
  uint32_t type = ELF::SHT_PROGBITS;
  uint64_t flags = 0;
  Bytes contents = {};
  uint64_t size = 0; // of one without contents in the file
  uint32_t link = 0, info = 0;
  uint64_t alignment = 1, entrySize = 0;
};

class Writer {
public:
  void addKernel(const ptx::Function &kernel);
  void addVariables(const ptx::Module &module);
  void addText(StringRef text);
  Bytes write(const Target &target, bool isRelocatable);

private:
  void addSymbol(StringRef name, uint8_t type, uint8_t other, uint64_t value, uint64_t size) {
    put(symbols, names.add(name));
    put(symbols, uint8_t(ELF::STB_GLOBAL << 4 | type));
    put(symbols, other);
    put(symbols, uint16_t(kFirst + sections.size() - 1)); // the section added last
    put(symbols, value);
    put(symbols, size);
  }

  static constexpr size_t kFirst = 4; // sections before those in `sections`
  Strings names;
  Bytes symbols = Bytes(sizeof(ELF::Elf64_Sym), 0);
  std::vector<Section> sections;
};

// The attributes of a kernel's parameters. An attribute is a format, a number, and a value of 16
// bits or the size of what follows. Of a kernel with many bytes of parameters ptxas 13.0 writes
// sizes of 32 bits.
Bytes parameterInfo(const ptx::Function &kernel) {
  constexpr uint8_t kValueOf16Bits = 3, kSized = 4, kParameter = 0x17, kParameterBytes = 0x19,
                    kLargeParameter = 0x45;
  constexpr uint64_t kMostOfSmall = 4352;
  std::vector<uint64_t> offsets;
  uint64_t end = 0;
  for (const ptx::Variable *parameter : kernel.parameters) {
    offsets.push_back(alignTo(end, std::max(parameter->alignment, 1u)));
    end = offsets.back() + parameter->sizeInBytes;
  }
  Bytes out = {kValueOf16Bits, kParameterBytes};
  put(out, uint16_t(end));
  const bool isLarge = end > kMostOfSmall;
  for (size_t i = kernel.parameters.size(); i-- > 0;) {
    out.insert(out.end(), {kSized, isLarge ? kLargeParameter : kParameter});
    put(out, uint16_t(12));
    put(out, uint32_t(0));
    put(out, uint16_t(i));
    put(out, uint16_t(offsets[i]));
    const auto bytes = uint32_t(kernel.parameters[i]->sizeInBytes);
    put(out, isLarge ? bytes : bytes << 18 | 0x1f000); // in no register
  }
  return out;
}

void Writer::addKernel(const ptx::Function &kernel) {
  sections.push_back({.name = (".nv.info." + kernel.name).str(),
                      .type = kCudaInfo,
                      .contents = parameterInfo(kernel),
                      .alignment = 4});
  sections.push_back({.name = (".text." + kernel.name).str(),
                      .flags = ELF::SHF_ALLOC | ELF::SHF_EXECINSTR,
                      .alignment = 128});
  addSymbol(kernel.name, ELF::STT_FUNC, kEntry, 0, 0);
}

void Writer::addVariables(const ptx::Module &module) {
  for (ptx::StateSpace space : {ptx::StateSpace::Global, ptx::StateSpace::Const}) {
    const bool isConst = space == ptx::StateSpace::Const;
    Section section{.name = isConst ? ".nv.constant3" : ".nv.global",
                    .type = ELF::SHT_NOBITS,
                    .flags = isConst ? ELF::SHF_ALLOC : ELF::SHF_ALLOC | ELF::SHF_WRITE};
    std::vector<std::pair<const ptx::Variable *, uint64_t>> placed;
    for (const ptx::Variable *variable : module.variables) {
      if (variable->space != space || variable->linkage == ptx::Linkage::Extern ||
          variable->linkage == ptx::Linkage::Internal)
        continue;
      const uint64_t alignment = std::max(variable->alignment, 1u);
      section.alignment = std::max(section.alignment, alignment);
      section.size = alignTo(section.size, alignment);
      placed.push_back({variable, section.size});
      section.size += variable->sizeInBytes;
    }
    if (placed.empty())
      continue;
    sections.push_back(std::move(section));
    for (const auto &[variable, offset] : placed)
      addSymbol(variable->name, ELF::STT_OBJECT, 0, offset, variable->sizeInBytes);
  }
}

void Writer::addText(StringRef text) {
  Section section{.name = fatbin::kPtxSection.str()};
  llvm::append_range(section.contents, text);
  section.contents.push_back(0);
  sections.push_back(std::move(section));
}

Bytes Writer::write(const Target &target, bool isRelocatable) {
  std::vector<Section> all(kFirst);
  all[1] = {.name = ".shstrtab", .type = ELF::SHT_STRTAB};
  all[2] = {.name = ".strtab", .type = ELF::SHT_STRTAB, .contents = std::move(names.bytes)};
  all[3] = {.name = ".symtab",
            .type = ELF::SHT_SYMTAB,
            .contents = std::move(symbols),
            .link = 2,
            .info = 1, // all but the first are global
            .alignment = 8,
            .entrySize = sizeof(ELF::Elf64_Sym)};
  llvm::append_range(all, std::move(sections));
  Strings sectionNames;
  std::vector<uint32_t> nameOf;
  nameOf.reserve(all.size());
  for (const Section &section : all)
    nameOf.push_back(section.name.empty() ? 0 : sectionNames.add(section.name));
  all[1].contents = std::move(sectionNames.bytes);

  Bytes out(sizeof(ELF::Elf64_Ehdr), 0), headers;
  for (size_t i = 0; i < all.size(); ++i) {
    const Section &section = all[i];
    out.resize(alignTo(out.size(), section.alignment), 0);
    put(headers, nameOf[i]);
    put(headers, i ? section.type : uint32_t(ELF::SHT_NULL));
    put(headers, section.flags);
    put(headers, uint64_t(0));
    put(headers, i ? uint64_t(out.size()) : 0);
    put(headers, section.type == ELF::SHT_NOBITS ? section.size : section.contents.size());
    put(headers, section.link);
    put(headers, section.info);
    put(headers, i ? section.alignment : 0);
    put(headers, section.entrySize);
    llvm::append_range(out, section.contents);
  }
  out.resize(alignTo(out.size(), 8), 0);
  const uint64_t headersAt = out.size();
  llvm::append_range(out, headers);

  // LLVM's BinaryFormat/ELF.h has the flags of ABI version 7.
  const uint32_t flags = (target.sm & ELF::EF_CUDA_SM) |
                         (target.sm << 16 & ELF::EF_CUDA_VIRTUAL_SM) | ELF::EF_CUDA_64BIT_ADDRESS |
                         ELF::EF_CUDA_TEXMODE_UNIFIED;
  Bytes header = {0x7f,
                  'E',
                  'L',
                  'F',
                  ELF::ELFCLASS64,
                  ELF::ELFDATA2LSB,
                  ELF::EV_CURRENT,
                  ELF::ELFOSABI_CUDA,
                  ELF::ELFABIVERSION_CUDA_V1};
  header.resize(ELF::EI_NIDENT, 0);
  put(header, uint16_t(isRelocatable ? ELF::ET_REL : ELF::ET_EXEC));
  put(header, uint16_t(ELF::EM_CUDA));
  put(header, uint32_t(ELF::EV_CURRENT));
  put(header, uint64_t(0)); // no entry
  put(header, uint64_t(0)); // no segments
  put(header, headersAt);
  put(header, flags);
  put(header, uint16_t(sizeof(ELF::Elf64_Ehdr)));
  put(header, uint16_t(sizeof(ELF::Elf64_Phdr)));
  put(header, uint16_t(0));
  put(header, uint16_t(sizeof(ELF::Elf64_Shdr)));
  put(header, uint16_t(all.size()));
  put(header, uint16_t(1));
  llvm::copy(header, out.begin());
  return out;
}

} // namespace

Bytes makeCubin(const ptx::Module &module, StringRef text, const Target &target,
                bool isRelocatable) {
  Writer writer;
  writer.addText(text);
  writer.addVariables(module);
  for (const ptx::Function *function : module.functions)
    if (function->isKernel && function->hasBody)
      writer.addKernel(*function);
  return writer.write(target, isRelocatable);
}

} // namespace rubia::standins
