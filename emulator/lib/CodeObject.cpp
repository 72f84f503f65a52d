// Loading a code object: ELF segments into a Memory, relocations, kernel descriptors, metadata,
// decoding.
#include "emulator/lib/InitialState.h"
#include "emulator/lib/KernelMetadata.h"
#include "emulator/lib/Program.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>

using namespace llvm;
using namespace llvm::object;

namespace rubia::emulator {

/// Filled by the Loader.
struct LoadedCode {
  Memory *memory = nullptr;
  uint8_t *image = nullptr; // the mapped segments, virtual address 0 first
  uint64_t imageSize = 0;
  std::unique_ptr<Target> target;
  std::unique_ptr<Program> program;
  std::vector<Kernel> kernels;
  StringMap<Symbol> symbols;
};

namespace {

constexpr uint64_t kDescriptorSize = 64;
constexpr uint64_t kMaxImage = uint64_t(1) << 32;

template <class T> T readAt(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}
template <class T> void writeAt(uint8_t *bytes, T value) { std::memcpy(bytes, &value, sizeof(T)); }

using Elf = ELF64LE;

/// One load: the parsed file and the state that it fills.
class Loader {
public:
  Loader(const ELFObjectFile<Elf> &object, Memory &memory, LoadedCode &state)
      : object(object), file(object.getELFFile()), memory(memory), state(&state) {}

  Error load();

private:
  Error checkHeader();
  Error allocateImage(uint64_t size, uint64_t alignment);
  Error mapSegments();
  Error mapSections();
  Error readSymbols();
  Error readUnlinkedSymbols();
  Error addFunction(uint64_t offset, uint64_t size);
  void sortFunctions();
  Error relocate();
  Error readKernels();
  Error decode();
  Error inImage(uint64_t offset, uint64_t size, const Twine &what) const;

  const ELFObjectFile<Elf> &object;
  const ELFFile<Elf> &file;
  Memory &memory;
  LoadedCode *state;
  unsigned waveSize = 0;
  std::vector<CodeRange> functions;
  std::vector<uint64_t> relocationSymbols; // values by index
  std::string cpu;
  // What llvm-mc and clang -c write: the loader is the linker.
  bool unlinked = false;
  std::vector<uint64_t> sectionOffsets; // in the image, by section
  uint64_t offsetTable = 0;             // in the image: the next free entry for R_AMDGPU_GOTPCREL*
  DenseMap<uint32_t, uint64_t> offsetTableEntries; // by symbol
};

constexpr uint64_t kNotLoaded = ~uint64_t(0);

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

Error Loader::inImage(uint64_t offset, uint64_t size, const Twine &what) const {
  if (size > state->imageSize || offset > state->imageSize - size)
    return createStringError("malformed code object: " + what +
                             " lies outside of the loaded segments");
  return Error::success();
}

Error Loader::checkHeader() {
  const auto &header = file.getHeader();
  if (header.e_machine != ELF::EM_AMDGPU)
    return createStringError("not an AMDGPU code object: ELF machine " +
                             Twine(unsigned(header.e_machine)));
  if (header.e_ident[ELF::EI_OSABI] != ELF::ELFOSABI_AMDGPU_HSA)
    return createStringError("not an HSA code object: OS ABI " +
                             Twine(unsigned(header.e_ident[ELF::EI_OSABI])));
  const unsigned version = header.e_ident[ELF::EI_ABIVERSION];
  if (version < ELF::ELFABIVERSION_AMDGPU_HSA_V4 || version > ELF::ELFABIVERSION_AMDGPU_HSA_V6)
    return createStringError("code object version is not 4, 5 or 6 (ELF ABI version " +
                             Twine(version) + ")");
  if (header.e_type != ELF::ET_DYN && header.e_type != ELF::ET_REL)
    return createStringError("neither a linked nor a relocatable file (ELF type " +
                             Twine(unsigned(header.e_type)) + ")");
  unlinked = header.e_type == ELF::ET_REL;
  std::optional<StringRef> name = object.tryGetCPUName();
  if (!name)
    return createStringError("the code object names no known processor (e_flags 0x" +
                             utohexstr(header.e_flags) + ")");
  cpu = name->str();
  return Error::success();
}

Error Loader::allocateImage(uint64_t size, uint64_t alignment) {
  Expected<void *> image = memory.allocate(size, MemoryKind::Code, alignment);
  if (!image)
    return image.takeError();
  state->memory = &memory;
  state->image = static_cast<uint8_t *>(*image);
  state->imageSize = size;
  std::memset(state->image, 0, size);
  return Error::success();
}

/// Lays out the sections of a relocatable file one behind the other, and room for a global offset
/// table behind them.
Error Loader::mapSections() {
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  uint64_t size = 0, entries = 0;
  for (const auto &section : *sections) {
    sectionOffsets.push_back(kNotLoaded);
    if (section.sh_type == ELF::SHT_RELA) {
      auto relocations = file.relas(section);
      if (!relocations)
        return relocations.takeError();
      for (const auto &relocation : *relocations)
        entries += isOffsetTableRelocation(relocation.getType(false));
    }
    if (!(section.sh_flags & ELF::SHF_ALLOC))
      continue;
    if (section.sh_size > kMaxImage || section.sh_addralign > (1u << 21))
      return createStringError("malformed code object: a section is too large");
    size = alignTo(size, std::max<uint64_t>(section.sh_addralign, 1));
    sectionOffsets.back() = size;
    size += section.sh_size;
  }
  if (size == 0)
    return createStringError("malformed code object: no loadable section");
  offsetTable = alignTo(size, 8);
  if (Error error = allocateImage(offsetTable + entries * 8, 4096))
    return error;
  for (size_t i = 0; i < sectionOffsets.size(); ++i) {
    const auto &section = (*sections)[i];
    if (sectionOffsets[i] == kNotLoaded || section.sh_type == ELF::SHT_NOBITS)
      continue;
    Expected<ArrayRef<uint8_t>> contents = file.getSectionContents(section);
    if (!contents)
      return contents.takeError();
    std::memcpy(state->image + sectionOffsets[i], contents->data(), contents->size());
  }
  return Error::success();
}

Error Loader::mapSegments() {
  auto headers = file.program_headers();
  if (!headers)
    return headers.takeError();
  uint64_t size = 0, alignment = 4096;
  for (const auto &header : *headers)
    if (header.p_type == ELF::PT_LOAD) {
      if (header.p_memsz > kMaxImage || header.p_vaddr > kMaxImage ||
          header.p_filesz > header.p_memsz)
        return createStringError("malformed code object: a segment is too large");
      size = std::max<uint64_t>(size, header.p_vaddr + header.p_memsz);
      if (isPowerOf2_64(header.p_align) && header.p_align <= (1u << 21))
        alignment = std::max<uint64_t>(alignment, header.p_align);
    }
  if (size == 0)
    return createStringError("malformed code object: no loadable segment");
  if (Error error = allocateImage(size, alignment))
    return error;
  for (const auto &header : *headers)
    if (header.p_type == ELF::PT_LOAD) {
      Expected<ArrayRef<uint8_t>> contents = file.getSegmentContents(header);
      if (!contents)
        return contents.takeError();
      std::memcpy(state->image + header.p_vaddr, contents->data(), contents->size());
    }
  return Error::success();
}

Error Loader::addFunction(uint64_t offset, uint64_t size) {
  if (Error error = inImage(offset, size, "a function"))
    return error;
  const uint64_t base = uint64_t(state->image);
  if (size > 0)
    functions.push_back({base + offset, base + offset + size});
  return Error::success();
}

/// In address order, each range once.
void Loader::sortFunctions() {
  llvm::sort(functions, [](const CodeRange &a, const CodeRange &b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  functions.erase(
      std::unique(functions.begin(), functions.end(),
                  [](const CodeRange &a, const CodeRange &b) { return b.begin < a.end; }),
      functions.end());
}

Error Loader::readUnlinkedSymbols() {
  const uint64_t base = uint64_t(state->image);
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const auto &section : *sections) {
    if (section.sh_type != ELF::SHT_SYMTAB)
      continue;
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
      relocationSymbols.push_back(0);
      if (symbol.st_shndx == ELF::SHN_ABS) {
        relocationSymbols.back() = symbol.st_value;
        continue;
      }
      if (symbol.st_shndx == ELF::SHN_UNDEF && name->empty())
        continue;
      if (symbol.st_shndx >= sectionOffsets.size() || symbol.st_shndx == ELF::SHN_UNDEF)
        return createStringError("undefined symbol " + *name + ": the file must be linked");
      if (sectionOffsets[symbol.st_shndx] == kNotLoaded)
        continue;
      const uint64_t offset = sectionOffsets[symbol.st_shndx] + symbol.st_value;
      if (Error error = inImage(offset, symbol.st_size, "a symbol"))
        return error;
      relocationSymbols.back() = base + offset;
      if (!name->empty())
        state->symbols[*name] = {base + offset, symbol.st_size};
      if (symbol.getType() == ELF::STT_FUNC)
        if (Error error = addFunction(offset, symbol.st_size))
          return error;
    }
  }
  sortFunctions();
  return Error::success();
}

Error Loader::readSymbols() {
  const uint64_t base = uint64_t(state->image);
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const auto &section : *sections) {
    // Local functions are in .symtab only; kernels and variables in .dynsym.
    const bool dynamic = section.sh_type == ELF::SHT_DYNSYM;
    if (!dynamic && section.sh_type != ELF::SHT_SYMTAB)
      continue;
    auto symbols = file.symbols(&section);
    if (!symbols)
      return symbols.takeError();
    auto names = file.getStringTableForSymtab(section);
    if (!names)
      return names.takeError();
    for (const auto &symbol : *symbols) {
      const bool defined = symbol.st_shndx != ELF::SHN_UNDEF;
      if (symbol.getType() == ELF::STT_FUNC && defined)
        if (Error error = addFunction(symbol.st_value, symbol.st_size))
          return error;
      if (!dynamic)
        continue;
      relocationSymbols.push_back(defined ? base + symbol.st_value : 0);
      Expected<StringRef> name = symbol.getName(*names);
      if (!name)
        return name.takeError();
      if (name->empty())
        continue;
      if (!defined)
        return createStringError("undefined symbol " + *name);
      state->symbols[*name] = {base + symbol.st_value, symbol.st_size};
    }
  }
  sortFunctions();
  return Error::success();
}

Error Loader::relocate() {
  const uint64_t base = uint64_t(state->image);
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const auto &section : *sections) {
    if (section.sh_type != ELF::SHT_RELA)
      continue;
    // In a relocatable file offsets count from the start of the section that sh_info names.
    if (unlinked ? section.sh_info >= sectionOffsets.size() ||
                       sectionOffsets[section.sh_info] == kNotLoaded
                 : !(section.sh_flags & ELF::SHF_ALLOC))
      continue;
    const uint64_t start = unlinked ? sectionOffsets[section.sh_info] : 0;
    auto relocations = file.relas(section);
    if (!relocations)
      return relocations.takeError();
    for (const auto &relocation : *relocations) {
      const unsigned type = relocation.getType(false), symbolIndex = relocation.getSymbol(false);
      const uint64_t offset = start + relocation.r_offset,
                     addend = uint64_t(int64_t(relocation.r_addend));
      if (symbolIndex >= relocationSymbols.size())
        return createStringError("malformed code object: relocation against symbol " +
                                 Twine(symbolIndex));
      const uint64_t symbol = relocationSymbols[symbolIndex];
      if (Error error = inImage(offset, relocatedBytes(type), "a relocated word"))
        return error;
      uint8_t *place = state->image + offset;
      uint64_t entry = 0;
      if (unlinked && isOffsetTableRelocation(type)) {
        uint64_t &known = offsetTableEntries[symbolIndex];
        if (!known) {
          known = base + offsetTable;
          writeAt<uint64_t>(state->image + offsetTable, symbol);
          offsetTable += 8;
        }
        entry = known + addend - uint64_t(place);
      }
      switch (type) {
      case ELF::R_AMDGPU_NONE:
        break;
      case ELF::R_AMDGPU_RELATIVE64:
        writeAt<uint64_t>(place, base + addend);
        break;
      case ELF::R_AMDGPU_ABS64:
        writeAt<uint64_t>(place, symbol + addend);
        break;
      case ELF::R_AMDGPU_REL64:
        writeAt<uint64_t>(place, symbol + addend - uint64_t(place));
        break;
      case ELF::R_AMDGPU_ABS32:
      case ELF::R_AMDGPU_ABS32_LO:
        writeAt<uint32_t>(place, uint32_t(symbol + addend));
        break;
      case ELF::R_AMDGPU_ABS32_HI:
        writeAt<uint32_t>(place, uint32_t((symbol + addend) >> 32));
        break;
      case ELF::R_AMDGPU_REL32:
      case ELF::R_AMDGPU_REL32_LO:
        writeAt<uint32_t>(place, uint32_t(symbol + addend - uint64_t(place)));
        break;
      case ELF::R_AMDGPU_REL32_HI:
        writeAt<uint32_t>(place, uint32_t((symbol + addend - uint64_t(place)) >> 32));
        break;
      case ELF::R_AMDGPU_REL16: // of a branch, in dwords
        writeAt<uint16_t>(place, uint16_t((symbol + addend - uint64_t(place) - 4) / 4));
        break;
      case ELF::R_AMDGPU_GOTPCREL:
      case ELF::R_AMDGPU_GOTPCREL32_LO:
      case ELF::R_AMDGPU_GOTPCREL32_HI:
        if (!unlinked)
          return createStringError("unsupported relocation type " + Twine(type));
        writeAt<uint32_t>(place,
                          uint32_t(type == ELF::R_AMDGPU_GOTPCREL32_HI ? entry >> 32 : entry));
        break;
      default:
        return createStringError("unsupported relocation type " + Twine(type));
      }
    }
  }
  return Error::success();
}

Error Loader::readKernels() {
  Expected<StringMap<KernelMetadata>> metadata = readKernelMetadata(file);
  if (!metadata)
    return metadata.takeError();
  const uint64_t base = uint64_t(state->image);
  for (auto &entry : state->symbols) {
    StringRef name = entry.getKey();
    if (!name.consume_back(".kd"))
      continue;
    const uint64_t offset = entry.second.address - base;
    if (Error error = inImage(offset, kDescriptorSize, "a kernel descriptor"))
      return error;
    const uint8_t *descriptor = state->image + offset;
    Kernel kernel;
    kernel.name = name.str();
    kernel.descriptorAddress = entry.second.address;
    kernel.ldsBytes = readAt<uint32_t>(descriptor);
    kernel.scratchBytes = readAt<uint32_t>(descriptor + 4);
    kernel.kernargSize = readAt<uint32_t>(descriptor + 8);
    kernel.entryAddress = entry.second.address + readAt<uint64_t>(descriptor + 16);
    kernel.resource3 = readAt<uint32_t>(descriptor + 44);
    kernel.resource1 = readAt<uint32_t>(descriptor + 48);
    kernel.resource2 = readAt<uint32_t>(descriptor + 52);
    kernel.properties = readAt<uint16_t>(descriptor + 56);
    kernel.kernargPreload = readAt<uint16_t>(descriptor + 58);
    kernel.dynamicStack = kernel.properties >> 11 & 1;
    kernel.waveSize = kernel.properties >> 10 & 1 ? 32 : 64;
    if (waveSize != 0 && waveSize != kernel.waveSize)
      return createStringError("kernels of different wave sizes in one code object");
    waveSize = kernel.waveSize;
    auto found = metadata->find(name);
    if (found == metadata->end())
      return createStringError("kernel " + name + " has no metadata");
    found->second.apply(kernel);
    state->kernels.push_back(std::move(kernel));
  }
  llvm::sort(state->kernels, [](const Kernel &a, const Kernel &b) { return a.name < b.name; });
  if (waveSize == 0)
    waveSize = 32;
  return Error::success();
}

/// Whether results that the manuals only bound are to differ from the correctly rounded ones.
static Expected<bool> perturbsApproximations() {
  const char *value = std::getenv("RUBIA_EMULATOR_TRANS");
  StringRef word = value ? value : "exact";
  if (word == "worst")
    return true;
  if (word == "exact" || word.empty())
    return false;
  return createStringError("RUBIA_EMULATOR_TRANS is neither exact nor worst: " + word);
}

Error Loader::decode() {
  Expected<bool> perturb = perturbsApproximations();
  if (!perturb)
    return perturb.takeError();
  Expected<std::unique_ptr<Target>> target = Target::create(cpu, waveSize);
  if (!target)
    return target.takeError();
  state->target = std::move(*target);
  std::vector<Unsupported> unsupported;
  state->program =
      decodeProgram(*state->target, {state->image, state->imageSize}, uint64_t(state->image),
                    functions, waveSize, unsupported, *perturb);
  if (!unsupported.empty()) {
    std::string message = "the code object contains instructions that the emulator cannot execute:";
    for (const Unsupported &one : unsupported)
      message += "\n  " + utohexstr(one.pc, true, 6) + ": " +
                 (one.text.empty() ? "" : one.text + ": ") + one.reason;
    return createStringError(message);
  }
  for (Kernel &kernel : state->kernels) {
    kernel.program = state->program.get();
    if (!state->program->map.find(entryOf(kernel)))
      return createStringError("malformed code object: kernel " + kernel.name +
                               " has no code at its entry");
  }
  return Error::success();
}

Error Loader::load() {
  if (Error error = checkHeader())
    return error;
  if (Error error = unlinked ? mapSections() : mapSegments())
    return error;
  if (Error error = unlinked ? readUnlinkedSymbols() : readSymbols())
    return error;
  if (Error error = relocate())
    return error;
  if (Error error = readKernels())
    return error;
  return decode();
}

} // namespace

struct CodeObject::State : LoadedCode {};

CodeObject::CodeObject() : state(std::make_unique<State>()) {}

CodeObject::~CodeObject() {
  if (state->image)
    consumeError(state->memory->free(state->image));
}

Expected<std::unique_ptr<CodeObject>> CodeObject::load(ArrayRef<uint8_t> elf, Memory &memory) {
  MemoryBufferRef buffer(toStringRef(elf), "code object");
  // LLVM reads ELF structures in place and wants them aligned.
  std::unique_ptr<MemoryBuffer> copy;
  if (uint64_t(elf.data()) % 16 != 0) {
    copy = MemoryBuffer::getMemBufferCopy(buffer.getBuffer(), buffer.getBufferIdentifier());
    buffer = copy->getMemBufferRef();
  }
  if (elf.size() < 64 || elf[0] != 0x7f || elf[1] != 'E' || elf[2] != 'L' || elf[3] != 'F' ||
      elf[4] != 2 || elf[5] != 1)
    return createStringError("not a 64-bit little-endian ELF file");
  Expected<ELFObjectFile<ELF64LE>> object = ELFObjectFile<ELF64LE>::create(buffer);
  if (!object)
    return object.takeError();
  std::unique_ptr<CodeObject> result(new CodeObject());
  Loader loader(*object, memory, *result->state);
  if (Error error = loader.load())
    return std::move(error);
  return result;
}

StringRef CodeObject::target() const { return state->target->cpu(); }
ArrayRef<Kernel> CodeObject::kernels() const { return state->kernels; }

const Kernel *CodeObject::kernel(StringRef name) const {
  for (const Kernel &kernel : state->kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

std::optional<Symbol> CodeObject::symbol(StringRef name) const {
  auto found = state->symbols.find(name);
  return found == state->symbols.end() ? std::nullopt : std::optional(found->second);
}

} // namespace rubia::emulator
